package pod

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(content); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return o
}

func TestReadFindsPodAtItsPath(t *testing.T) {
	const spec = `spec: {hostNetwork: true, containers: [{name: a, image: a:1}, {name: b, image: b:1}]}`
	for text, path := range map[string][]string{
		`{apiVersion: v1, kind: Pod, ` + spec + `}`:                                                      nil,
		`{apiVersion: apps/v1, kind: Deployment, spec: {template: {` + spec + `}}}`:                      {"spec", "template"},
		`{apiVersion: batch/v1, kind: CronJob, spec: {jobTemplate: {spec: {template: {` + spec + `}}}}}`: {"spec", "jobTemplate", "spec", "template"},
	} {
		pod := Read(object(t, text), path...)
		if !pod.Spec.HostNetwork || Container(pod, "b").Image != "b:1" {
			t.Errorf("%s: %+v", text, pod.Spec)
		}
		if none := Container(pod, "c"); none.Name != "" {
			t.Errorf("%s: container c is %+v", text, none)
		}
	}
	if pod := Read(object(t, `{apiVersion: v1, kind: ConfigMap}`), "spec", "template"); len(pod.Spec.Containers) > 0 {
		t.Errorf("a ConfigMap has the Pod %+v", pod)
	}
}

func TestRequestsAreWhatTheSchedulerCounts(t *testing.T) {
	for text, want := range map[string]string{
		`{containers: [{name: a}]}`: "0",
		`{containers: [{name: a, resources: {requests: {cpu: 1}}}, {name: b, resources: {requests: {cpu: 2}}}]}`: "3",

		// A limit without a request is the request.
		`{containers: [{name: a, resources: {limits: {cpu: 2}}}]}`:                        "2",
		`{containers: [{name: a, resources: {limits: {cpu: 2}, requests: {cpu: 1}}}]}`:    "1",
		`{containers: [{name: a, resources: {limits: {cpu: 2}, requests: {memory: 1}}}]}`: "2",

		// Init containers run one after the other before the containers, sidecars beside them.
		`{containers: [{name: a, resources: {requests: {cpu: 1}}}], initContainers: [{name: i, resources: {requests: {cpu: 3}}}, {name: j, resources: {limits: {cpu: 2}}}]}`: "3",
		`{containers: [{name: a, resources: {requests: {cpu: 1}}}], initContainers: [{name: s, restartPolicy: Always, resources: {limits: {cpu: 2}}}]}`:                      "3",

		`{overhead: {cpu: 500m}, containers: [{name: a, resources: {requests: {cpu: 1}}}]}`: "1500m",

		// The whole Pod: its own requests, else those of its containers, else its limits.
		`{resources: {limits: {cpu: 8}, requests: {cpu: 5}}, containers: [{name: a, resources: {requests: {cpu: 1}}}]}`: "5",
		`{resources: {limits: {cpu: 8}}, containers: [{name: a, resources: {requests: {cpu: 1}}}]}`:                     "1",
		`{resources: {limits: {cpu: 8}}, containers: [{name: a}]}`:                                                      "8",
	} {
		requests := Requests(&corev1.Pod{Spec: *specOf(t, text)})
		if got := requests.Cpu().String(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestAutoscalersNameTheirWorkloadAndBounds(t *testing.T) {
	deployment := Workload{"apps", "Deployment", "default", "web"}
	for text, want := range map[string]Autoscaler{
		`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`:                                                   {deployment, 1, 9},
		`{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {namespace: shop}, spec: {minReplicas: 3, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1beta1, kind: StatefulSet, name: db}}}`: {Workload{"apps", "StatefulSet", "shop", "db"}, 3, 9},
		`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: v1, kind: ReplicationController, name: old}}}`:                                             {Workload{"", "ReplicationController", "default", "old"}, 1, 2},

		// KEDA scales a Deployment unless the object says another kind, to nothing and up to 100.
		`{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, spec: {scaleTargetRef: {name: web}}}`:                                         {deployment, 0, 100},
		`{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, spec: {minReplicaCount: 2, maxReplicaCount: 5, scaleTargetRef: {name: web}}}`: {deployment, 2, 5},
	} {
		if got, ok := ReadAutoscaler(object(t, text)); !ok || got != want {
			t.Errorf("%s: %t %+v, want %+v", text, ok, got, want)
		}
	}
	for _, text := range []string{
		`{apiVersion: apps/v1, kind: Deployment}`,
		`{apiVersion: keda.sh/v1alpha1, kind: ScaledJob}`,
		`{apiVersion: a.example/v1, kind: HorizontalPodAutoscaler}`,
	} {
		if got, ok := ReadAutoscaler(object(t, text)); ok {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestWorkloadWithoutNamespaceIsInDefault(t *testing.T) {
	for text, want := range map[string]Workload{
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}`:                   {"apps", "Deployment", "default", "web"},
		`{apiVersion: v1, kind: ReplicationController, metadata: {namespace: a, name: b}}`: {"", "ReplicationController", "a", "b"},
	} {
		if got := WorkloadOf(object(t, text)); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func TestNumberHasDefault(t *testing.T) {
	for text, want := range map[string]int64{
		`{kind: A, spec: {replicas: 3}}`:   3,
		`{kind: A, spec: {replicas: 3.5}}`: 3,
		`{kind: A, spec: {replicas: 0}}`:   0,
		`{kind: A, spec: {replicas: "3"}}`: 7,
		`{kind: A, spec: {}}`:              7,
		`{kind: A, spec: none}`:            7,
	} {
		if got := Number(object(t, text), 7, "spec", "replicas"); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
