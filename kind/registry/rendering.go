package registry

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind"
)

// RenderingAnnotation is on the committed source object. Its value is its Rendering. It tells a
// controller of another build whether its own Expand differs, or the object was not rendered again.
const RenderingAnnotation = "gatehouse.example.com/rendering"

// Rendering identifies a source object and the rendered objects that its status depends on.
type Rendering struct {
	// Spec is the digest of the defaulted spec, and Objects the digest of the rendered objects.
	Spec, Objects string
}

// String returns the value of the annotation; empty for the zero Rendering.
func (r Rendering) String() string {
	if r == (Rendering{}) {
		return ""
	}
	return "spec=" + r.Spec + ",objects=" + r.Objects
}

// RenderingOf returns the Rendering in the annotation of an object, or the zero Rendering.
func RenderingOf(object metav1.Object) Rendering {
	spec, objects, _ := strings.Cut(object.GetAnnotations()[RenderingAnnotation], ",")
	return Rendering{strings.TrimPrefix(spec, "spec="), strings.TrimPrefix(objects, "objects=")}
}

// observed identifies the rendered objects that the status depends on.
func (e *entry) observed(objects []*unstructured.Unstructured) (observed []Child) {
	for _, o := range objects {
		if gk := o.GroupVersionKind().GroupKind(); e.Observes(gk) != nil {
			observed = append(observed, Child{gk, o.GetName(), o.GetAnnotations()[kind.DigestAnnotation]})
		}
	}
	return observed
}

// rendering returns the Rendering of an object. It is zero for a kind with a Digest, and if the status
// depends on no rendered object.
func (e *entry) rendering(owner kind.Object, observed []Child) (Rendering, error) {
	spec := reflect.Indirect(reflect.ValueOf(owner)).FieldByName("Spec")
	if e.Digest != nil || len(observed) == 0 || !spec.IsValid() {
		return Rendering{}, nil
	}
	content, err := json.Marshal(spec.Interface())
	if err != nil {
		return Rendering{}, prefixed(e.GVK().Kind+" "+owner.GetName(), err)
	}
	return Rendering{shortDigest(json.RawMessage(content)), ObjectsDigest(observed)}, nil
}

// Child identifies a rendered object.
type Child struct {
	schema.GroupKind

	// Name is the name before HashName.
	Name string

	// Digest is the value of DigestAnnotation.
	Digest string
}

// ObjectsDigest returns Rendering.Objects for rendered objects in any order.
func ObjectsDigest(children []Child) string {
	return shortDigest(slices.SortedFunc(slices.Values(children), func(a, b Child) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Digest, b.Digest))
	}))
}

// shortDigest returns enough of a digest to rule out a collision by chance.
func shortDigest(data any) string { return strings.TrimPrefix(kind.DigestOf(data), "sha256:")[:16] }
