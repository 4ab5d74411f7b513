package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// KindAt is the kind of an At.
const KindAt = "At"

// At runs one command once, at one time. It is rendered to a Pod that waits
// behind a scheduling gate; the controller removes the gate when the Pod is due.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="argocd.argoproj.io/sync-wave=-1"
// +kubebuilder:resource:shortName=cnat,categories=gatehouse
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`,description="When the command is due"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the Ready condition"
// +kubebuilder:printcolumn:name="Exit",type=integer,JSONPath=`.status.run.exitCode`,description="Exit code of the command"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Pod",type=string,priority=1,JSONPath=`.status.run.podName`
// +kubebuilder:printcolumn:name="Suspended",type=boolean,priority=1,JSONPath=`.spec.suspend`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="must be at most 52 characters, so that the name of its Pod fits"
type At struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the command and when it runs.
	// +required
	Spec AtSpec `json:"spec,omitzero"`

	// status is the last status that the controller observed. Before that,
	// observedGeneration is -1, so that no tool takes the object for reconciled.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status AtStatus `json:"status,omitzero"`
}

// AtSpec is a command and when it runs.
type AtSpec struct {
	// CEL has no timestamps before year 1 or after year 9999. The rule for the first and the last year
	// therefore compares times in two other years.

	// schedule is when the command is due: an RFC 3339 time with any offset, like
	// 2026-01-31T09:00:00Z or 2026-01-31T10:00:00+01:00. The command never starts
	// before it. The name of a time zone may follow, as in RFC 9557:
	// 2026-01-31T10:00:00+01:00[Europe/Berlin]. The offset decides when the command is
	// due, and must be the offset of the zone at that time. Z leaves the local offset
	// open and goes with any zone.
	// +required
	// +kubebuilder:example="2027-01-04T06:00:00+01:00"
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])(\[.*)?$`
	// +kubebuilder:validation:XValidation:rule="!format.datetime().validate(self.split('[')[0]).hasValue()",message="must be an RFC 3339 time, like 2026-01-31T09:00:00Z or 2026-01-31T10:00:00+01:00"
	// +kubebuilder:validation:XValidation:rule="[timestamp('2' + self.substring(1).split('[')[0])].all(due, (self >= '0002' || due >= timestamp('2001-01-01T00:00:01Z')) && (self < '9999' || due < timestamp('3000-01-01T00:00:00Z')))",message="must be from 0001-01-01T00:00:01Z to 9999-12-31T23:59:59Z"
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[^\[]+(\[[A-Z][A-Za-z0-9_+-]*(/[A-Z][A-Za-z0-9_+-]*)*\])?$') && !self.endsWith('[Local]')`,message="must have nothing after the offset but the name of a time zone, spelled like [Europe/Berlin]"
	// +kubebuilder:validation:XValidation:rule=`!self.endsWith(']') || [timestamp(self.split('[')[0])].all(due, [self.split('[')[1].replace(']', '')].all(zone, self.matches(r'(Z|-00:00)\[') ? due.getDate(zone) > 0 : due.getDate(zone) == int(self.substring(8, 10)) && due.getHours(zone) == int(self.substring(11, 13)) && due.getMinutes(zone) == int(self.substring(14, 16)) && due.getSeconds(zone) == int(self.substring(17, 19))))`,message="must have the offset of its time zone at that time"
	Schedule string `json:"schedule,omitempty"`

	// command is run by `sh -c`, which gets it byte for byte: Kubernetes expands
	// nothing in it.
	// +required
	// +kubebuilder:example="echo done"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	Command string `json:"command,omitempty"`

	// image is the container image that the command runs in. It must have `sh`.
	// +optional
	// +kubebuilder:default="busybox:1.37"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// startingDeadlineSeconds is how many seconds after the schedule the command
	// may still start. Later it does not run at all. If unset, it is the default of
	// the environment; without such a default there is no deadline.
	// +optional
	// +kubebuilder:example=3600
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3153600000
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`

	// activeDeadlineSeconds is how many seconds the command may run, restarts
	// included, before it is killed.
	// +optional
	// +kubebuilder:example=600
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`

	// restartPolicy decides whether a command that exits non-zero runs again:
	// OnFailure or Never.
	// +optional
	// +kubebuilder:default=OnFailure
	// +kubebuilder:validation:Enum=OnFailure;Never
	RestartPolicy corev1.RestartPolicy `json:"restartPolicy,omitempty"`

	// suspend keeps the gate closed while it is true. An At that is resumed after
	// its schedule runs at once, unless its starting deadline has passed. It has no
	// effect on a command that has started.
	// +optional
	// +kubebuilder:example=true
	Suspend bool `json:"suspend,omitempty"`

	// env are environment variables of the command.
	// +optional
	// +listType=map
	// +listMapKey=name
	Env []corev1.EnvVar `json:"env,omitempty"`

	// envFrom are ConfigMaps and Secrets whose keys become environment variables.
	// +optional
	// +listType=atomic
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// resources are the compute resources of the container.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// serviceAccountName is the ServiceAccount that the command runs as. Its token
	// is mounted only if this is set.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// AtPhase is a phase in the life of an At.
//
// +kubebuilder:validation:Enum=PENDING;RUNNING;DONE
type AtPhase string

const (
	// AtPending is the phase of an At that has not started.
	AtPending AtPhase = "PENDING"
	// AtRunning is the phase of an At whose start is on record.
	AtRunning AtPhase = "RUNNING"
	// AtDone is the phase of an At that will not run again, with success or without.
	AtDone AtPhase = "DONE"
)

// AtStatus is the last status that the controller observed.
type AtStatus struct {
	// observedGeneration is the metadata.generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase is PENDING before the command starts, RUNNING as soon as its start is on
	// record, and DONE afterwards, with success or without. If hundreds of Ats are due
	// at once, a start is on record up to ten seconds before the schedule.
	// +optional
	Phase AtPhase `json:"phase,omitempty"`

	// conditions are Ready and, if they apply, Reconciling, Stalled, Armed, Complete,
	// Failed and Suspended.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// run is the one run of this spec.
	// +optional
	Run *AtRun `json:"run,omitempty"`

	// ran lists the earlier specs of this At whose command started, or may have
	// started: the newest first, at most 32, each as DIGEST@SCHEDULE. A spec that a
	// revert brings back does not run again.
	// +optional
	// +listType=atomic
	Ran []string `json:"ran,omitempty"`

	// forgottenTime is the latest schedule of earlier specs that are no longer in the
	// list ran. No spec that is due by then runs, as it may have run.
	// +optional
	ForgottenTime *metav1.Time `json:"forgottenTime,omitempty"`
}

// AtRun is the one run of a spec.
type AtRun struct {
	// digest is the digest of the spec of this run.
	// +required
	Digest string `json:"digest,omitempty"`

	// podName is the name of the Pod that was armed for this run.
	// +optional
	PodName string `json:"podName,omitempty"`

	// podUID is the UID of the Pod that was armed for this run.
	// +optional
	PodUID types.UID `json:"podUID,omitempty"`

	// scheduledTime is when the run is due.
	// +optional
	ScheduledTime *metav1.Time `json:"scheduledTime,omitempty"`

	// openedTime is the recorded start: the time at which the gate opens. It is
	// written before the gate opens. Only the Pod of podUID is opened, and only
	// while this is set.
	// +optional
	OpenedTime *metav1.Time `json:"openedTime,omitempty"`

	// finishedTime is when the command ended.
	// +optional
	FinishedTime *metav1.Time `json:"finishedTime,omitempty"`

	// exitCode is the exit code of the command.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
}

// AtList is a list of Ats.
//
// +kubebuilder:object:root=true
type AtList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []At `json:"items"`
}
