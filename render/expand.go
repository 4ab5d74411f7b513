package render

import (
	"bytes"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifests"
)

// expand returns what valid, defaulted objects are rendered to. Each has the
// origin of the object that it was rendered from.
func expand(objects []object) ([]object, error) {
	var expanded []object
	for _, o := range objects {
		manifests, err := manifests.Expand(o.Unstructured)
		if err != nil {
			return nil, err
		}
		for _, u := range manifests {
			expanded = append(expanded, object{u, o.origin})
		}
	}
	return expanded, nil
}

// overrideFolder is the folder of a build in which rendered objects meet the
// component that overrides them. It is nowhere on disk.
const overrideFolder = "/.gatehouse"

// override has kustomize build rendered objects with the component in the folder
// dir.
func override(t *tree, dir string, rendered []object) ([]object, error) {
	var resources bytes.Buffer
	for _, o := range rendered {
		content, err := marshal(o.Unstructured)
		if err != nil {
			return nil, err
		}
		resources.WriteString("---\n")
		resources.Write(content)
	}
	kustomization, err := yaml.Marshal(types.Kustomization{
		Resources:  []string{"rendered.yaml"},
		Components: []string{path.Join("..", dir)},
	})
	if err != nil {
		return nil, err
	}
	file := path.Join(overrideFolder, "kustomization.yaml")
	t.with(path.Join(overrideFolder, "rendered.yaml"), resources.Bytes())
	t.with(file, kustomization)
	overridden, err := build(t, overrideFolder, file)
	if err != nil {
		return nil, err
	}
	return withOrigins(overridden, rendered), nil
}

// withOrigins gives overridden objects the origin of the rendered ones that they
// were.
func withOrigins(overridden, rendered []object) []object {
	origins := map[string]string{}
	for _, o := range rendered {
		origins[o.id()] = o.origin
	}
	for i, o := range overridden {
		if origin, ok := origins[o.id()]; ok {
			overridden[i].origin = origin
		}
	}
	return overridden
}

// isGated says whether an object is a Pod that waits for its schedule.
func isGated(u *unstructured.Unstructured) bool {
	if u.GetKind() != "Pod" || u.GetAPIVersion() != corev1.SchemeGroupVersion.String() {
		return false
	}
	gates, _, _ := unstructured.NestedSlice(u.Object, "spec", "schedulingGates")
	return slices.ContainsFunc(gates, func(gate any) bool {
		g, _ := gate.(map[string]any)
		return g["name"] == manifests.ScheduleGate
	})
}

// seal gives the Pods of Ats their final names.
func seal(objects []object) error {
	for _, o := range objects {
		if o.GetLabels()[manifests.AtLabel] != "" && isGated(o.Unstructured) {
			if err := manifests.SealPod(o.Unstructured); err != nil {
				return err
			}
		}
	}
	return nil
}
