package render

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/test/testkind"
)

// fleets returns the version v1 of Fleets, which is converted, and v2, which is rendered.
func fleets(t *testing.T, convert func(*testkind.Fleet) (kind.Object, error)) *registry.Kinds {
	t.Helper()
	v1, v2 := testkind.Definition(), testkind.Definition()
	head, version, _ := strings.Cut(string(v1.CRD), "  versions:\n")
	other := strings.NewReplacer("name: v1\n", "name: v2\n", "storage: true", "storage: false").Replace(version)
	v1.CRD = []byte(head + "  versions:\n" + version + other)
	v2.CRD = v1.CRD
	v1.Convert, v1.Expand, v1.Children = convert, nil, nil
	v2.GVK.Version = "v2"
	v2.AddToScheme = func(s *runtime.Scheme) error {
		group := schema.GroupVersion{Group: v2.GVK.Group, Version: "v2"}
		s.AddKnownTypes(group, &testkind.Fleet{}, &testkind.FleetList{})
		metav1.AddToGroupVersion(s, group)
		return nil
	}
	kinds, err := registry.New(kind.Define(v1), kind.Define(v2))
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

// A field that is lost with an old version is warned of where it is written, and the rest is rendered.
func TestForgottenFields(t *testing.T) {
	root := write(t, `
-- environments/prod/kustomization.yaml --
resources: [fleets.yaml]
-- environments/prod/fleets.yaml --
apiVersion: testing.example.com/v1
kind: Fleet
metadata: {name: f, namespace: shop}
spec:
  message: hello
  frontImage: nginx:1.29
  loud: true
---
apiVersion: testing.example.com/v1
kind: Fleet
metadata: {name: g, namespace: shop}
spec:
  message: hello
  loud: false
---
apiVersion: testing.example.com/v2
kind: Fleet
metadata: {name: h, namespace: shop}
spec:
  message: hello
  loud: true
`)
	repository, err := Open(root, fleets(t, func(old *testkind.Fleet) (kind.Object, error) {
		return &testkind.Fleet{Spec: testkind.Spec{Message: old.Spec.Message, Pods: old.Spec.Pods}}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	rendering, problems := Render(repository, "prod", func(string) {})
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	want := []string{
		"environments/prod/fleets.yaml:6: warning: Fleet shop/f: spec.frontImage: is lost: what it is converted to, testing.example.com/v2, does not depend on it",
		"environments/prod/fleets.yaml:7: warning: Fleet shop/f: spec.loud: is lost: what it is converted to, testing.example.com/v2, does not depend on it",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if rendering == nil {
		t.Error("nothing is rendered")
	}
}
