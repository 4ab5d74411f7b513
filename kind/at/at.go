// Package at defines the kind At, and the names that its Pod and its controller share.
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
	Warnings:     warnings,
	// The result of a command is not the health of a delivery.
	HealthyPhases: []string{string(cnatv1alpha1.AtRunning), string(cnatv1alpha1.AtDone)},
	InitPatches:   initPatches,
})

const (
	// Gate is the scheduling gate of a rendered Pod. The controller removes it, and nothing
	// else, when the Pod is due.
	Gate = "cnat.programming-kubernetes.info/schedule"

	// Label is on the rendered Pod. Its value is the name of the At.
	Label = "cnat.programming-kubernetes.info/at"

	// CommandContainer is the container that runs the command.
	CommandContainer = "command"
)

// fields are the fields that name an image or another object.
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

// unprivileged is the user and group of a command: the usual ID without any rights.
const unprivileged = 65534

// podAnnotations are for the tools that sync the Pod. A second apply would fail, as the API server adds
// no gates: Flux creates the Pod once. Argo CD ignores the health of the Pod in favor of the At's.
var podAnnotations = map[string]string{
	"argocd.argoproj.io/ignore-healthcheck": "true",
	"kustomize.toolkit.fluxcd.io/ssa":       "IfNotPresent",
}

// Schedule returns the instant at which an At is due, in UTC. It accepts the same texts as the
// CustomResourceDefinition, but does not look up the time zone.
func Schedule(spec cnatv1alpha1.AtSpec) (time.Time, error) {
	due, _, err := kind.ParseTime(spec.Schedule)
	switch {
	case err != nil:
		return time.Time{}, fmt.Errorf("spec.schedule: %q %w", spec.Schedule, err)
	case due.Before(firstSchedule) || !due.Before(endOfSchedules):
		return time.Time{}, fmt.Errorf("spec.schedule: %q must be from 0001-01-01T00:00:01Z to 9999-12-31T23:59:59Z",
			spec.Schedule)
	}
	return due.UTC(), nil
}

// Times in a status have whole seconds and years of four digits, in UTC. The zero time means no time.
var (
	firstSchedule  = time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)
	endOfSchedules = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Digest returns the digest of the run of a defaulted spec. It leaves out the fields that may change
// while a Pod waits, suspend and startingDeadlineSeconds. The schedule counts as an instant: the same
// instant with another offset or time zone is the same run.
func Digest(spec cnatv1alpha1.AtSpec) string {
	spec.Env = canonical.Env(spec.Env)
	spec.EnvFrom = canonical.EnvFrom(spec.EnvFrom)
	spec.Resources = canonical.Resources(spec.Resources)
	return spelledDigest(spec)
}

// Digests returns the digests that a run or a Pod of a defaulted spec may have: Digest, and the digest
// of earlier versions, which depended on the spelling of values. A recorded start with either must not
// run again.
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
			SecurityContext:              pod.Security(unprivileged),
			Containers: []corev1.Container{{
				Name:            CommandContainer,
				Image:           at.Spec.Image,
				Command:         command(at.Spec),
				Env:             at.Spec.Env,
				EnvFrom:         at.Spec.EnvFrom,
				Resources:       at.Spec.Resources,
				SecurityContext: pod.ContainerSecurity(),
				// The status of the At has the end of the log of a failed command.
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			}},
		},
	}}, nil
}

func command(spec cnatv1alpha1.AtSpec) []string {
	return []string{"sh", "-c", pod.Literal(spec.Command)}
}
