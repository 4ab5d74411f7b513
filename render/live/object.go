package live

import (
	"bytes"
	"encoding/json"
	"maps"

	ssautils "github.com/fluxcd/pkg/ssa/utils"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render/apply"
	"example.com/gatehouse/render/diff"
	"example.com/gatehouse/render/object"
)

// The domains of what Flux and Argo CD note on objects.
const (
	fluxDomain = "kustomize.toolkit.fluxcd.io"
	argoDomain = "argocd.argoproj.io"
)

func idOf(o *unstructured.Unstructured) object.ID {
	return object.Object{Unstructured: o}.IDInNamespace()
}

// definedKinds are the kinds that the definitions among objects define.
func definedKinds(manifests []diff.Manifest) map[schema.GroupKind]bool {
	kinds := map[schema.GroupKind]bool{}
	for _, m := range manifests {
		if ssautils.IsCRD(m.Unstructured) {
			kinds[apply.KindOfCRD(m.Unstructured)] = true
		}
	}
	return kinds
}

var (
	// serverMetadata are the fields of metadata that the API server keeps.
	serverMetadata = []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"}
	// toolMetadata is what tools note on each object that they apply.
	toolMetadata = map[string][]string{
		"labels":      {fluxDomain + "/name", fluxDomain + "/namespace", argoDomain + "/instance"},
		"annotations": {argoDomain + "/tracking-id", argoDomain + "/installation-id", corev1.LastAppliedConfigAnnotation},
	}
)

// withoutServerFields is an object of a cluster without what the API server and controllers
// keep on it.
func withoutServerFields(o *unstructured.Unstructured) *unstructured.Unstructured {
	o = o.DeepCopy()
	delete(o.Object, "status")
	for _, field := range serverMetadata {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	return o
}

// cleaned is an object of a cluster without what is no difference from git: what the API
// server keeps, and what tools note.
func cleaned(o *unstructured.Unstructured) *unstructured.Unstructured {
	o = withoutServerFields(o)
	metadata, _ := o.Object["metadata"].(map[string]any)
	for field, keys := range toolMetadata {
		values, _ := metadata[field].(map[string]any)
		for _, key := range keys {
			delete(values, key)
		}
		if len(values) == 0 {
			delete(metadata, field)
		}
	}
	return o
}

// overlaid is what comes of an object when one in git is applied to it, as far as can be told
// without the API server: lists are replaced.
func overlaid(live, wanted *unstructured.Unstructured) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: merged(live.Object, wanted.DeepCopy().Object)}
}

func merged(old, with map[string]any) map[string]any {
	both := maps.Clone(old)
	for key, value := range with {
		was, isMapping := both[key].(map[string]any)
		is, staysMapping := value.(map[string]any)
		if isMapping && staysMapping {
			value = merged(was, is)
		}
		both[key] = value
	}
	return both
}

// sameJSON says whether two values are written alike.
func sameJSON(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}
