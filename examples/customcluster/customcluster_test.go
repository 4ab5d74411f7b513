package customcluster

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/customcluster/apis/v1alpha1"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/kindtest"
)

func cluster(count int32, message string) *v1alpha1.Customcluster {
	return &v1alpha1.Customcluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "hello", Name: "hello"},
		Spec:       v1alpha1.CustomclusterSpec{Count: &count, Message: message},
	}
}

// A kind is a function: what it makes of a spec is known without a cluster.
func TestExpand(t *testing.T) {
	for _, c := range []struct {
		count         int32
		message, want string
	}{
		{0, "hello", ""},
		{3, "hello", "hello"},
		{1, "costs $(PRICE), or 5$", "costs $$(PRICE), or 5$$"}, // Kubernetes would expand it
	} {
		objects, err := expand(cluster(c.count, c.message))
		if err != nil || len(objects) != int(c.count) {
			t.Fatalf("%d: %v, %v", c.count, objects, err)
		}
		for i, o := range objects {
			env := o.(*corev1.Pod).Spec.Containers[0].Env
			if want := (corev1.EnvVar{Name: "MESSAGE", Value: c.want}); len(env) != 1 || env[0] != want || o.GetName() != fmt.Sprintf("hello-%d", i) {
				t.Errorf("%s has %v, want %v", o.GetName(), env, want)
			}
		}
	}
}

// The Go type is that of the CustomResourceDefinition, and expanding is repeatable.
func TestKind(t *testing.T) {
	kindtest.Check(t, Kind, cluster(3, "hello"))
}

// open opens this repository, with other content of the file of the Customcluster.
func open(t *testing.T, spec string) *render.Repository {
	t.Helper()
	kinds, err := registry.New(append(gatehouse.Kinds, Kind)...)
	if err != nil {
		t.Fatal(err)
	}
	repository, err := render.Open(".", kinds)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(repository.Close)
	return repository.With(map[string][]byte{"/environments/dev/hello.yaml": []byte(
		"{apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Customcluster, metadata: {name: hello, namespace: hello}, spec: " + spec + "}\n")})
}

// podNames are the names of the Pods that a spec is rendered to.
func podNames(t *testing.T, spec string) (names []string) {
	t.Helper()
	rendering, problems := render.Render(open(t, spec), "dev", func(string) {})
	if rendering == nil {
		t.Fatal(problems)
	}
	for _, o := range rendering.Objects {
		if o.GetKind() == "Pod" {
			names = append(names, o.GetName())
		}
	}
	return names
}

// A changed message replaces all Pods, a changed count adds or removes some.
func TestChanges(t *testing.T) {
	two, three, other := podNames(t, "{count: 2, message: hello}"), podNames(t, "{count: 3, message: hello}"), podNames(t, "{count: 3, message: hi}")
	if len(two) != 2 || len(three) != 3 || !slices.Equal(two, three[:2]) {
		t.Errorf("two Pods are %q, three are %q", two, three)
	}
	if slices.ContainsFunc(other, func(name string) bool { return slices.Contains(three, name) }) || len(other) != 3 {
		t.Errorf("with another message %q are %q", three, other)
	}
	if one := podNames(t, "{message: hello}"); !slices.Equal(one, two[:1]) {
		t.Errorf("by default there are %q", one)
	}
}

// What the API server refuses, rendering refuses.
func TestRefused(t *testing.T) {
	for spec, want := range map[string]string{
		"{count: 101, message: hello}": "environments/dev/hello.yaml:1: Customcluster hello/hello: spec.count: Invalid value: 101: should be less than or equal to 100",
		"{count: -1, message: hello}":  "environments/dev/hello.yaml:1: Customcluster hello/hello: spec.count: Invalid value: -1: should be greater than or equal to 0",
		"{count: 1}":                   "environments/dev/hello.yaml:1: Customcluster hello/hello: spec.message: Required value",
	} {
		rendering, problems := render.Render(open(t, spec), "dev", func(string) {})
		if rendering != nil || len(problems) == 0 || problems[0].String() != want {
			t.Errorf("%s: %v", spec, problems)
		}
	}
}

func TestStatus(t *testing.T) {
	pod := func(phase corev1.PodPhase, deleted *metav1.Time) kind.Object {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: deleted}, Status: corev1.PodStatus{Phase: phase}}
	}
	seen := kind.Observation{Children: []kind.Object{
		pod(corev1.PodRunning, nil), pod(corev1.PodRunning, nil), pod(corev1.PodRunning, &metav1.Time{}),
		pod(corev1.PodPending, nil), pod(corev1.PodFailed, nil), pod(corev1.PodSucceeded, nil),
	}}
	for name, c := range map[string]struct {
		notReady []kind.NotReady
		message  string
	}{
		"all ready": {nil, "new"},
		"one not":   {[]kind.NotReady{{Kind: "Pod", Name: "hello-1", Reason: "Missing"}}, "old"},
	} {
		t.Run(name, func(t *testing.T) {
			object := cluster(2, "new")
			object.Status.Message = "old"
			seen.Status = kind.Status{ObservedGeneration: 7, NotReady: c.notReady}
			got := Kind.Decide(object, seen).Status.(v1alpha1.CustomclusterStatus)
			if *got.Count != 2 || got.Message != c.message || got.ObservedGeneration != 7 {
				t.Errorf("%+v", got)
			}
		})
	}
}
