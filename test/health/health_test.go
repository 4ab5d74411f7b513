package health

import (
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), o); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return o
}

// The tests of the controller check every status that it writes. This test checks other statuses.
func TestHealthOfOtherStatuses(t *testing.T) {
	const at = `{apiVersion: cnat.programming-kubernetes.info/v1alpha1, kind: At, metadata: {name: a, generation: 2}, `
	const memcached = `{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: a, generation: 2}, `
	const fleet = `{apiVersion: testing.example.com/v1, kind: Fleet, metadata: {name: a, generation: 2}, `
	const ready, stalled = `conditions: [{type: Ready, status: "True", reason: Armed, message: a}]`, `conditions: [{type: Ready, status: "False", reason: X, message: a}, {type: Stalled, status: "True", reason: X, message: a}]`
	const notReady = `conditions: [{type: Ready, status: "False", reason: X, message: a}, {type: Reconciling, status: "True", reason: X, message: a}]`
	for text, want := range map[string]string{
		at + `status: {observedGeneration: -1}}`:                                 Progressing,
		at + `status: {observedGeneration: 2}}`:                                  Progressing,
		at + `status: {observedGeneration: 2, ` + ready + `}}`:                   Healthy,
		at + `status: {observedGeneration: 1, ` + ready + `}}`:                   Progressing,
		at + `status: {observedGeneration: 2, phase: PENDING, conditions: []}}`:  Progressing,
		at + `status: {observedGeneration: 2, phase: RUNNING}}`:                  Healthy,
		at + `status: {observedGeneration: 1, phase: DONE, ` + stalled + `}}`:    Progressing,
		at + `status: {observedGeneration: 2, phase: DONE, ` + stalled + `}}`:    Healthy,
		at + `status: {observedGeneration: 2, phase: PENDING, ` + stalled + `}}`: Degraded,
		memcached + `status: {observedGeneration: -1}}`:                          Progressing,
		memcached + `status: {observedGeneration: 1, ` + ready + `}}`:            Progressing,
		memcached + `status: {observedGeneration: 2, ` + stalled + `}}`:          Degraded,
		fleet + `status: {observedGeneration: -1}}`:                              Progressing,
		fleet + `status: {observedGeneration: 1, ` + ready + `}}`:                Progressing,
		fleet + `status: {observedGeneration: 2, ` + ready + `}}`:                Healthy,
		fleet + `status: {observedGeneration: 2, ` + stalled + `}}`:              Degraded,
		fleet + `status: {observedGeneration: 2, ` + notReady + `}}`:             Progressing,
	} {
		if got, err := ArgoCD(parse(t, text)); got != want {
			t.Errorf("Argo CD: %s: %s, %v, want %s", text, got, err, want)
		}
		if strings.HasPrefix(text, fleet) {
			if err := Check(parse(t, text)); err != nil {
				t.Error(err)
			}
		}
		got, err := Flux(parse(t, text))
		if argoHealth[got] != want {
			t.Errorf("Flux: %s: %s, %v, want %s", text, got, err, want)
		}
	}
	const bare = `status: {observedGeneration: 2, conditions: [{}, {type: Ready}]}}`
	for _, text := range []string{at + `spec: {}}`, memcached + `spec: {}}`, fleet + `spec: {}}`, at + bare, memcached + bare, fleet + bare} { // no API server has such a status
		if got, err := ArgoCD(parse(t, text)); got != Progressing {
			t.Errorf("Argo CD: %s: %s, %v", text, got, err)
		}
	}
}

// The health of an At or Fleet speaks for its Pods; the failure of any other Pod shows.
func TestHealthOfPods(t *testing.T) {
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: a, generation: 1}, spec: {restartPolicy: Always}, `
	const ofAt = `{apiVersion: v1, kind: Pod, metadata: {name: a, generation: 1, labels: {cnat.programming-kubernetes.info/at: a}}, spec: {restartPolicy: Never}, `
	const job = `{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {a: b}}, spec: {restartPolicy: OnFailure}, `
	const stays = `{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {argocd.argoproj.io/ignore-restart-policy: "true", `
	const ready = `spec: {restartPolicy: Never}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`
	const waiting = `containerStatuses: [{name: a, state: {waiting: {reason: `
	const ofFleet = `{apiVersion: v1, kind: Pod, metadata: {name: a, generation: 1, labels: {testing.example.com/fleet: a}}, spec: {restartPolicy: Never}, `
	for _, test := range []struct {
		pod, argo string
		flux      status.Status
	}{
		{ofAt + `status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]}}`, Healthy, "Current"},
		{ofAt + `status: {phase: Running}}`, Healthy, "Current"},
		{ofAt + `status: {phase: Failed, message: Evicted}}`, Healthy, "Current"},
		{ofAt + `status: {phase: Succeeded}}`, Healthy, "Current"},
		{ofFleet + `status: {phase: Running}}`, Healthy, "Current"},
		{ofFleet + `status: {phase: Failed}}`, Healthy, "Current"},
		{pod + `status: {phase: Pending}}`, Progressing, "InProgress"},
		{pod + `status: {phase: Pending, ` + waiting + `ErrImagePull, message: no}}}]}}`, Degraded, "InProgress"},
		{pod + `status: {phase: Pending, ` + waiting + `ImagePullBackOff}}}]}}`, Degraded, "InProgress"},
		{pod + `status: {phase: Pending, ` + waiting + `CreateContainerConfigError}}}]}}`, Degraded, "InProgress"},
		{pod + `status: {phase: Pending, ` + waiting + `ContainerCreating}}}]}}`, Progressing, "InProgress"},
		{pod + `status: {phase: Running, ` + waiting + `CrashLoopBackOff}}}]}}`, Degraded, "Failed"},
		{pod + `status: {phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: a, state: {running: {}}}]}}`, Healthy, "Current"},
		{pod + `status: {phase: Running, conditions: [{type: Ready, status: "False"}], containerStatuses: [{name: a}]}}`, Progressing, "InProgress"},
		{pod + `status: {phase: Running, containerStatuses: [{name: a, lastState: {terminated: {exitCode: 1}}}]}}`, Degraded, "InProgress"},
		{pod + `status: {phase: Failed, containerStatuses: [{name: a, state: {terminated: {exitCode: 1}}}]}}`, Degraded, "Failed"},
		{pod + `status: {phase: Unknown}}`, "Unknown", "InProgress"},
		{job + `status: {phase: Running}}`, Progressing, "InProgress"},
		{stays + `argocd.argoproj.io/hook: Skip}}, ` + ready, Healthy, "Current"},
		{stays + `argocd.argoproj.io/hook: PreSync}}, ` + ready, Progressing, "Current"},
		{stays + `helm.sh/hook: crd-install}}, ` + ready, Healthy, "Current"},
		{stays + `helm.sh/hook: pre-install}}, ` + ready, Progressing, "Current"},
		{job + `status: {phase: Pending, ` + waiting + `ErrImagePull}}}]}}`, Progressing, "InProgress"},
		{job + `status: {phase: Succeeded}}`, Healthy, "Current"},
		{job + `status: {phase: Failed}}`, Degraded, "Failed"},
	} {
		if got, err := ArgoCD(parse(t, test.pod)); got != test.argo {
			t.Errorf("Argo CD: %s: %s, %v, want %s", test.pod, got, err, test.argo)
		}
		if got, err := Flux(parse(t, test.pod)); err != nil || got != test.flux {
			t.Errorf("Flux: %s: %s, %v, want %s", test.pod, got, err, test.flux)
		}
	}
}
