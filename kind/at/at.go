// Package at is the kind At: what it is rendered to, and what its controller and its Pod
// know each other by.
package at

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/apis/crds"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/canonical"
	"example.com/gatehouse/kind/pod"
)

// Kind is the kind At.
var Kind = kind.Define(kind.Definition[cnatv1alpha1.At, cnatv1alpha1.AtStatus]{
	GVK:          cnatv1alpha1.SchemeGroupVersion.WithKind(cnatv1alpha1.KindAt),
	AddToScheme:  cnatv1alpha1.AddToScheme,
	CRD:          crds.At,
	Fields:       fields,
	Children:     []kind.Child{{GVK: corev1.SchemeGroupVersion.WithKind("Pod"), Immutable: true}},
	Expand:       expand,
	Review:       review,
	ReviewCRD:    reviewCRD,
	Digest:       func(at *cnatv1alpha1.At) string { return Digest(at.Spec) },
	Gate:         Gate,
	TimeField:    "spec.schedule",
	KeepDefaults: []string{"spec.startingDeadlineSeconds"},
	Page:         page,
	Warnings:     warnings,
	// The result of a command is not the health of a delivery.
	HealthyPhases: []string{string(cnatv1alpha1.AtRunning), string(cnatv1alpha1.AtDone)},
	InitPatches:   initPatches,
})

const (
	// Gate is the scheduling gate that a rendered Pod waits behind. The controller removes
	// it, and nothing else, when the Pod is due.
	Gate = "cnat.programming-kubernetes.info/schedule"

	// Label is on the Pod that was rendered from an At; its value is the name of the At.
	Label = "cnat.programming-kubernetes.info/at"

	// CommandContainer is the container of an At's Pod that runs its command.
	CommandContainer = "command"
)

// fields are those of an At that name an image or another object, as those of a Deployment do.
var fields = kind.Fields{
	Images: []string{"spec.image"},
	References: []kind.Reference{
		{Field: "spec.env.valueFrom.configMapKeyRef.name", To: corev1.SchemeGroupVersion.WithKind("ConfigMap")},
		{Field: "spec.envFrom.configMapRef.name", To: corev1.SchemeGroupVersion.WithKind("ConfigMap")},
		{Field: "spec.env.valueFrom.secretKeyRef.name", To: corev1.SchemeGroupVersion.WithKind("Secret")},
		{Field: "spec.envFrom.secretRef.name", To: corev1.SchemeGroupVersion.WithKind("Secret")},
		{Field: "spec.serviceAccountName", To: corev1.SchemeGroupVersion.WithKind("ServiceAccount")},
	},
}

// nobody is the user and group that a command runs as: the numeric IDs that
// Linux distributions give to "nobody".
const nobody = 65534

// podAnnotations are for the tools that sync the Pod of an At. It cannot be given
// its gate back, so it must not be applied again: Flux creates it once. The At speaks
// for its health, so Argo CD leaves it out of that of the Application.
var podAnnotations = map[string]string{
	"argocd.argoproj.io/ignore-healthcheck": "true",
	"kustomize.toolkit.fluxcd.io/ssa":       "IfNotPresent",
}

// Schedule returns the instant at which an At is due, in UTC. It takes what the
// CustomResourceDefinition takes, and does not look up a time zone.
func Schedule(spec cnatv1alpha1.AtSpec) (time.Time, error) {
	due, _, err := kind.ParseTime(spec.Schedule)
	switch {
	case err != nil:
		return time.Time{}, fmt.Errorf("spec.schedule: %q %w", spec.Schedule, err)
	case due.Before(firstSchedule) || !due.Before(endOfSchedules):
		return time.Time{}, fmt.Errorf("spec.schedule: %q must be from 0001-01-01T00:00:01Z to 9999-12-31T23:59:59Z", spec.Schedule)
	}
	return due.UTC(), nil
}

// A status has times in whole seconds and years of four digits, in UTC; the zero time is
// none there.
var (
	firstSchedule  = time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)
	endOfSchedules = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Digest returns the digest of what a defaulted spec would run, and when. It leaves
// out what only the controller acts on and may change while a Pod waits: suspend
// and startingDeadlineSeconds. Of the schedule it has the instant: another offset or
// time zone for the same instant is the same run.
func Digest(spec cnatv1alpha1.AtSpec) string {
	spec.Env = canonical.Env(spec.Env)
	spec.EnvFrom = canonical.EnvFrom(spec.EnvFrom)
	spec.Resources = canonical.Resources(spec.Resources)
	return spelledDigest(spec)
}

// Digests returns the digests that a run or a Pod of a defaulted spec may have: Digest,
// and the one that earlier versions gave the spec, which differed with the spelling of
// a value. What is on record under that must not run again.
func Digests(spec cnatv1alpha1.AtSpec) []string {
	return []string{Digest(spec), spelledDigest(spec)}
}

func spelledDigest(spec cnatv1alpha1.AtSpec) string {
	if due, _, err := kind.ParseTime(spec.Schedule); err == nil {
		spec.Schedule = due.UTC().Format(time.RFC3339Nano)
	}
	spec.Suspend = false
	spec.StartingDeadlineSeconds = nil
	return kind.DigestOf(spec)
}

// expand returns the Pod of a defaulted At.
func expand(at *cnatv1alpha1.At) ([]kind.Object, error) {
	return []kind.Object{&corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Annotations: maps.Clone(podAnnotations),
			Labels:      map[string]string{kind.ExcludeFromBackup: "true"},
		},
		Spec: corev1.PodSpec{
			SchedulingGates:              []corev1.PodSchedulingGate{{Name: Gate}},
			RestartPolicy:                at.Spec.RestartPolicy,
			ActiveDeadlineSeconds:        at.Spec.ActiveDeadlineSeconds,
			ServiceAccountName:           at.Spec.ServiceAccountName,
			AutomountServiceAccountToken: ptr.To(at.Spec.ServiceAccountName != ""),
			EnableServiceLinks:           ptr.To(false),
			SecurityContext:              pod.Security(nobody),
			Containers: []corev1.Container{{
				Name:            CommandContainer,
				Image:           at.Spec.Image,
				Command:         []string{"sh", "-c", pod.Literal(at.Spec.Command)},
				Env:             at.Spec.Env,
				EnvFrom:         at.Spec.EnvFrom,
				Resources:       at.Spec.Resources,
				SecurityContext: pod.ContainerSecurity(),
				// The end of the log of a command that failed shows in its status.
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			}},
		},
	}}, nil
}
