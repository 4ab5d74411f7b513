package kinds

import (
	"fmt"
	"maps"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
)

var atKind = Kind{
	GVK:       cnatv1alpha1.SchemeGroupVersion.WithKind(cnatv1alpha1.KindAt),
	Label:     AtLabel,
	TimeField: "spec.schedule",
	Immutable: true,
	expand:    typed(At),
}

// nobody is the user and group that a command runs as: the numeric IDs that
// Linux distributions give to "nobody".
const nobody = 65534

// AtPodAnnotations are for the tools that sync the Pod of an At. It cannot be given
// its gate back, so it must not be applied again: Flux creates it once. The At speaks
// for its health, so Argo CD leaves it out of that of the Application.
var AtPodAnnotations = map[string]string{
	"argocd.argoproj.io/ignore-healthcheck": "true",
	"kustomize.toolkit.fluxcd.io/ssa":       "IfNotPresent",
}

// Schedule is the instant at which an At is due, in UTC. It takes what the
// CustomResourceDefinition takes.
func Schedule(spec cnatv1alpha1.AtSpec) (time.Time, error) {
	due, err := time.Parse(time.RFC3339, spec.Schedule)
	switch {
	case err != nil || !scheduleSyntax.MatchString(spec.Schedule):
		return time.Time{}, fmt.Errorf("spec.schedule: %q is not an RFC 3339 time: write it like 2026-01-31T09:00:00Z", spec.Schedule)
	case due.Before(firstSchedule) || !due.Before(endOfSchedules):
		return time.Time{}, fmt.Errorf("spec.schedule: %q must be from 0001-01-01T00:00:01Z to 9999-12-31T23:59:59Z", spec.Schedule)
	}
	return due.UTC(), nil
}

// scheduleSyntax is that of the CustomResourceDefinition. Go reads more, like T9:00:00
// and 09:00:00,5.
var scheduleSyntax = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// A status has times in whole seconds and years of four digits, in UTC; the zero time is
// none there.
var (
	firstSchedule  = time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)
	endOfSchedules = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
)

// AtDigest is the digest of what a defaulted spec would run, and when. It leaves
// out what only the controller acts on and may change while a Pod waits: suspend
// and startingDeadlineSeconds.
func AtDigest(spec cnatv1alpha1.AtSpec) string {
	spec.Env = canonicalEnv(spec.Env)
	spec.EnvFrom = canonicalEnvFrom(spec.EnvFrom)
	spec.Resources = canonicalResources(spec.Resources)
	return spelledAtDigest(spec)
}

// AtDigests are the digests that a run or a Pod of a defaulted spec may have: AtDigest,
// and the one that earlier versions gave the spec, which differed with the spelling of
// a value. What is on record under that must not run again.
func AtDigests(spec cnatv1alpha1.AtSpec) []string {
	return []string{AtDigest(spec), spelledAtDigest(spec)}
}

func spelledAtDigest(spec cnatv1alpha1.AtSpec) string {
	if due, err := time.Parse(time.RFC3339, spec.Schedule); err == nil {
		spec.Schedule = due.UTC().Format(time.RFC3339Nano)
	}
	spec.Suspend = false
	spec.StartingDeadlineSeconds = nil
	return digest(spec)
}

// At is the Pod of a defaulted At. Its name is that of the At until HashName
// completes it.
func At(at *cnatv1alpha1.At) []Object {
	meta := withDigest(objectMeta(at.ObjectMeta, "at", AtLabel), AtDigest(at.Spec))
	maps.Copy(meta.Annotations, AtPodAnnotations)
	meta.Labels[excludeFromBackup] = "true"

	return []Object{&corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: meta,
		Spec: corev1.PodSpec{
			SchedulingGates:              []corev1.PodSchedulingGate{{Name: ScheduleGate}},
			RestartPolicy:                at.Spec.RestartPolicy,
			ActiveDeadlineSeconds:        at.Spec.ActiveDeadlineSeconds,
			ServiceAccountName:           at.Spec.ServiceAccountName,
			AutomountServiceAccountToken: ptr.To(at.Spec.ServiceAccountName != ""),
			EnableServiceLinks:           ptr.To(false),
			SecurityContext:              podSecurity(nobody),
			Containers: []corev1.Container{{
				Name:            CommandContainer,
				Image:           at.Spec.Image,
				Command:         []string{"sh", "-c", literal(at.Spec.Command)},
				Env:             at.Spec.Env,
				EnvFrom:         at.Spec.EnvFrom,
				Resources:       at.Spec.Resources,
				SecurityContext: containerSecurity(),
				// The end of the log of a command that failed shows in its status.
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			}},
		},
	}}
}
