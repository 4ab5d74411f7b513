package registry_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/kind/registry/testdata/everything"
)

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func untyped(apiVersion, kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetName(name)
	return u
}

func TestExpandReportsEveryMistake(t *testing.T) {
	var nilMap map[string]string
	type object = *everything.Everything
	for name, c := range map[string]struct {
		expand func(object) ([]kind.Object, error)
		want   []string // without the name of the object
	}{
		"an error":  {func(object) ([]kind.Object, error) { return nil, errors.New("no") }, []string{`no`}},
		"panic":     {func(object) ([]kind.Object, error) { panic("no") }, []string{`Expand panics: no`}},
		"a nil map": {func(object) ([]kind.Object, error) { nilMap["a"] = "b"; return nil, nil }, []string{`Expand panics: assignment to entry in nil map`}},
		"untyped": {
			func(object) ([]kind.Object, error) {
				u := untyped("v1", "ConfigMap", "a")
				u.Object["data"] = func() {}
				return []kind.Object{u}, nil
			},
			[]string{`object 1 of 1: write *unstructured.Unstructured: json: unsupported type: func()`},
		},
		"nil": {
			func(object) ([]kind.Object, error) {
				return []kind.Object{nil, configMap("a"), (*corev1.ConfigMap)(nil), (*unstructured.Unstructured)(nil)}, nil
			},
			[]string{`object 1 of 4: it is nil: leave it out`, `object 3 of 4: it is nil: leave it out`, `object 4 of 4: it is nil: leave it out`},
		},
		"no kind": {
			func(object) ([]kind.Object, error) {
				return []kind.Object{&everything.Everything{}, untyped("", "ConfigMap", "a"), untyped("v1", "", "a")}, nil
			},
			[]string{
				`object 1 of 3: *everything.Everything has no apiVersion and kind: set its TypeMeta`,
				`object 2 of 3: *unstructured.Unstructured has no apiVersion and kind: set its TypeMeta`,
				`object 3 of 3: *unstructured.Unstructured has no apiVersion and kind: set its TypeMeta`,
			},
		},
		"other kinds": {
			func(o object) ([]kind.Object, error) {
				return []kind.Object{
					&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, untyped("apps/v1", "Deployment", ""),
					untyped("test.example.com/v1", "Everything", ""), o, untyped("cnat.programming-kubernetes.info/v1alpha1", "At", "a"),
				}, nil
			},
			[]string{
				`Pod a: Children has no v1 Pod: add it there`,
				`Deployment web: Children has no apps/v1 Deployment: add it there`,
				`Everything web: Everything is a source kind, and nothing expands it here: have Expand return its children`,
				`Everything web: Everything is a source kind, and nothing expands it here: have Expand return its children`,
				`At a: At is a source kind, and nothing expands it here: have Expand return its children`,
				`Everything web: Expand returns two objects of this kind and name: give each a name of its own`,
			},
		},
		"one name": {
			func(object) ([]kind.Object, error) {
				same := configMap("a")
				return []kind.Object{configMap("web"), same, configMap(""), same, same}, nil
			},
			[]string{
				`ConfigMap web: Expand returns two objects of this kind and name: give each a name of its own`,
				`ConfigMap a: Expand returns two objects of this kind and name: give each a name of its own`,
			},
		},
		"metadata": {
			func(object) ([]kind.Object, error) {
				now := metav1.Unix(0, 0)
				a := configMap("a")
				b := configMap("b")
				a.Namespace = "other"
				b.Namespace = "team"
				a.GenerateName = "a-"
				a.UID = "1"
				a.ResourceVersion = "1"
				a.Finalizers = []string{"a/b"}
				a.OwnerReferences = []metav1.OwnerReference{{}}
				a.ManagedFields = []metav1.ManagedFieldsEntry{{}}
				a.CreationTimestamp = now
				a.DeletionTimestamp = &now
				a.Generation = 1
				b.Labels = map[string]string{at.Label: "a"}
				return []kind.Object{a, b}, nil
			},
			[]string{
				`ConfigMap a: its namespace is "other", not the namespace of its source object: have Expand leave it empty`,
				`ConfigMap a: Expand sets metadata.creationTimestamp, which does not belong in a manifest: have it leave that empty`,
				`ConfigMap a: Expand sets metadata.deletionTimestamp, which does not belong in a manifest: have it leave that empty`,
				`ConfigMap a: Expand sets metadata.finalizers, which does not belong in a manifest: have it leave that empty`,
				`ConfigMap a: Expand sets metadata.generateName, which does not belong in a manifest: have it leave that empty`,
				`ConfigMap a: Expand sets metadata.generation, which does not belong in a manifest: have it leave that empty`,
				`ConfigMap a: Expand sets metadata.managedFields, which does not belong in a manifest: have it leave that empty`,
				`ConfigMap a: Expand sets metadata.ownerReferences, which does not belong in a manifest: have it leave that empty`,
				`ConfigMap a: Expand sets metadata.resourceVersion, which does not belong in a manifest: have it leave that empty`,
				`ConfigMap a: Expand sets metadata.uid, which does not belong in a manifest: have it leave that empty`,
				`ConfigMap b: its label cnat.programming-kubernetes.info/at belongs to another kind, At: leave it out`,
			},
		},
		"metadata of other types": {
			func(object) ([]kind.Object, error) {
				u := untyped("v1", "ConfigMap", "a")
				u.Object["metadata"].(map[string]any)["labels"] = map[string]any{"a": 1}
				u.Object["metadata"].(map[string]any)["annotations"] = "b"
				return []kind.Object{u}, nil
			},
			[]string{`object 1 of 1: its metadata.labels are not a mapping of strings to strings: correct Expand`},
		},
		"half a character": {
			func(object) ([]kind.Object, error) {
				a := configMap("a")
				a.Data = map[string]string{"greeting": "Grüße"[:3]}
				return []kind.Object{a}, nil
			},
			[]string{`object 1 of 1: *v1.ConfigMap "a" has text that is not UTF-8: cut texts between characters`},
		},
		"a gate": {
			func(object) ([]kind.Object, error) {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
				pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/own"}, {Name: at.Kind.Gate()}}
				return []kind.Object{pod}, nil
			},
			[]string{
				`Pod a: Children has no v1 Pod: add it there`,
				`Pod a: its scheduling gate cnat.programming-kubernetes.info/schedule belongs to another kind, At: leave it out`,
			},
		},
		"a changed argument": {
			func(o object) ([]kind.Object, error) {
				o.Spec.Map["a"] += "c"
				o.Labels = nil
				return nil, errors.New("no")
			},
			[]string{`no`},
		},
		"too many": {
			func(object) ([]kind.Object, error) { return make([]kind.Object, 1001), nil },
			[]string{`Expand returns 1001 objects: have it return at most 1000`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := valid()
			d.Expand = c.expand
			d.Children = []kind.Child{
				{GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Immutable: true},
				{GVK: corev1.SchemeGroupVersion.WithKind("Secret"), Unobserved: true},
			}
			owner := newEverything(t, "web")
			before := owner.DeepCopy()
			checkExpandErrors(t, d, owner, c.want)
			if fmt.Sprint(owner.Object) != fmt.Sprint(before.Object) {
				t.Errorf("it is %v now, and was %v", owner.Object, before.Object)
			}
		})
	}
}

func newEverything(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	owner := untyped("test.example.com/v1", "Everything", name)
	owner.SetNamespace("team")
	if err := unstructured.SetNestedField(owner.Object, "b", "spec", "map", "a"); err != nil {
		t.Fatal(err)
	}
	return owner
}

func checkExpandErrors(t *testing.T, d definition, owner *unstructured.Unstructured, want []string) {
	t.Helper()
	kinds, err := registry.New(kind.Define(d), at.Kind)
	if err != nil {
		t.Fatal(err)
	}
	_, err = kinds.Expand(owner)
	if err == nil {
		t.Fatal("no error")
	}
	prefix := "Everything " + owner.GetName() + ": "
	got := err.Error()
	all := prefix + strings.Join(want, "\n"+prefix)
	if got != all {
		t.Errorf("got:\n%s\nwant:\n%s", got, all)
	}
}

// Rendered objects have the name of their source object as a label.
func TestExpandRefusesLongNames(t *testing.T) {
	d := valid()
	d.Expand = func(*everything.Everything) ([]kind.Object, error) { return []kind.Object{configMap("a")}, nil }
	checkExpandErrors(t, d, newEverything(t, strings.Repeat("a", 64)), []string{
		`metadata.name has 64 characters, and as the label test.example.com/everything of rendered objects it may have 63: shorten it`,
	})
}

func TestExpandRefusesInvalidDigests(t *testing.T) {
	d := valid()
	d.Expand = func(*everything.Everything) ([]kind.Object, error) { return []kind.Object{configMap("a")}, nil }
	d.Digest = func(*everything.Everything) string { return "sha256:1" }
	checkExpandErrors(t, d, newEverything(t, "web"), []string{
		`Digest returns "sha256:1", not sha256: and 64 hexadecimal digits: have it return the result of kind.DigestOf`,
	})
	d.Digest = func(*everything.Everything) string { panic("no") }
	checkExpandErrors(t, d, newEverything(t, "web"), []string{`Digest panics: no`})
}

// Expand sets the apiVersion and kind, and drops empty fields that Go structs always write.
func TestExpandCompletesObjects(t *testing.T) {
	shared := untyped("v1", "Secret", "shared")
	shared.Object["data"] = map[string]any{"count": 1}
	d := valid()
	d.Children = append(d.Children, kind.Child{GVK: corev1.SchemeGroupVersion.WithKind("Secret"), Unobserved: true}, kind.Child{GVK: corev1.SchemeGroupVersion.WithKind("Pod"), Immutable: true})
	d.Expand = func(*everything.Everything) ([]kind.Object, error) {
		return []kind.Object{&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}, shared}, nil
	}
	kinds, err := registry.New(kind.Define(d))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		objects, err := kinds.Expand(newEverything(t, "web"))
		if err != nil {
			t.Fatal(err)
		}
		pod := objects.Objects[0]
		if got := pod.GetAPIVersion() + " " + pod.GetKind() + " " + pod.GetNamespace() + " " + pod.GetName(); got != "v1 Pod team web" {
			t.Error(got)
		}
		if _, ok := pod.Object["status"]; ok || len(pod.GetAnnotations()[kind.DigestAnnotation]) != len("sha256:")+64 {
			t.Errorf("%v", pod.Object)
		}
		if labels := objects.Objects[1].GetLabels(); labels["test.example.com/everything"] != "web" || labels[kind.ManagedByLabel] != kind.ManagedBy {
			t.Errorf("labels %v", labels)
		}
		if len(shared.GetLabels()) > 0 || shared.GetNamespace() != "" {
			t.Errorf("the object that Expand returned is now %v", shared.Object)
		}
	}
}

// The error of a function that panics has its name.
func TestPanicsAreErrors(t *testing.T) {
	d := valid()
	d.Warnings = func(kind.View[everything.Everything]) []kind.Warning { panic("no") }
	d.ReviewCRD = func(kind.Change[unstructured.Unstructured]) []kind.Effect { panic("no") }
	kinds, err := registry.New(kind.Define(d))
	if err != nil {
		t.Fatal(err)
	}
	view := kinds.Views(kind.Environment{All: []*unstructured.Unstructured{newEverything(t, "web")}}, nil)[0]
	_, ofWarnings := view.Warnings()
	_, ofCRD := registry.ReviewCRD(&kinds.All[0], nil, nil)
	if got := fmt.Sprint(ofWarnings, "; ", ofCRD); got != "Warnings of Everything panics: no; its ReviewCRD panics: no" {
		t.Error(got)
	}
}
