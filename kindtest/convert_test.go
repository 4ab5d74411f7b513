package kindtest

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/test/testkind"
)

// fleets returns version v1 of Fleets, which is converted, and v2, which is rendered.
func fleets(convert func(*testkind.Fleet) (kind.Object, error)) (old, rendered kind.Kind) {
	v1 := testkind.Definition()
	v2 := testkind.Definition()
	head, version, _ := strings.Cut(string(v1.CRD), "  versions:\n")
	other := strings.NewReplacer("name: v1\n", "name: v2\n", "storage: true", "storage: false").Replace(version)
	v1.CRD = []byte(head + "  versions:\n" + version + other)
	v2.CRD = v1.CRD
	v1.Convert = convert
	v1.Expand = nil
	v1.Children = nil
	v2.GVK.Version = "v2"
	v2.AddToScheme = func(s *runtime.Scheme) error {
		group := schema.GroupVersion{Group: v2.GVK.Group, Version: "v2"}
		s.AddKnownTypes(group, &testkind.Fleet{}, &testkind.FleetList{})
		metav1.AddToGroupVersion(s, group)
		return nil
	}
	return kind.Define(v1), kind.Define(v2)
}

func TestConvertReportsForgottenFields(t *testing.T) {
	v1, v2 := fleets(func(old *testkind.Fleet) (kind.Object, error) {
		return &testkind.Fleet{Spec: testkind.Spec{Message: old.Spec.Message, Pods: old.Spec.Pods}}, nil
	})
	for spec, want := range map[string][]string{
		"{message: hello}":                       nil,
		"{message: hello, pods: 2, loud: false}": nil,
		"{message: hello, frontImage: 'nginx:1.29', loud: true}": {
			"spec.frontImage: Convert forgets it: the conversion back from testing.example.com/v2 does not restore it",
			"spec.loud: Convert forgets it: the conversion back from testing.example.com/v2 does not restore it",
		},
	} {
		old := Object[testkind.Fleet](t, v1, "{apiVersion: testing.example.com/v1, kind: Fleet, metadata: {name: f, namespace: shop}, spec: "+spec+"}", v2)
		got := failures(func(r testing.TB) {
			converted := Convert(r, v1, old, func(converted *testkind.Fleet) *testkind.Fleet { return converted.DeepCopy() }, v2)
			if converted.APIVersion != "testing.example.com/v2" || converted.Spec.Message != "hello" {
				t.Errorf("%s: %+v", spec, converted)
			}
		})
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", spec, got, want)
		}
	}
}
