package warn

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/test/testkind"
)

func TestUnprotectedGatesOfGatedKindsAreReported(t *testing.T) {
	const controller = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: gatehouse-controller, namespace: gatehouse-system}
spec: {template: {spec: {containers: [{name: controller, image: "gatehouse-controller:v1"}]}}}
`
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(controller), &u.Object); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		kinds []kind.Kind
		want  []string
	}{
		{"with a gate", gatehouse.Kinds, []string{"no ValidatingAdmissionPolicy gatehouse-gates", "has no registry"}},
		{"without", []kind.Kind{testkind.Kind}, nil},
	} {
		kinds, err := registry.New(test.kinds...)
		if err != nil {
			t.Fatal(err)
		}
		got := Input{Kinds: kinds, Objects: []manifest.Object{{Unstructured: u, Written: u}}}.Warnings()
		if len(got) != len(test.want) {
			t.Fatalf("%s: %v", test.name, got)
		}
		for i, want := range test.want {
			if !strings.Contains(got[i].Message, want) {
				t.Errorf("%s: %s, want %s", test.name, got[i], want)
			}
		}
	}
}
