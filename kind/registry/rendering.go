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

// RenderingAnnotation is on an object that people write, as it is committed; its value is its
// Rendering. By it a controller of another build, whose Expand returns something else, can tell
// that from an object that was not rendered again.
const RenderingAnnotation = "gatehouse.example.com/rendering"

// Rendering identifies what an object is rendered to by the code of its kind.
type Rendering struct {
	// Spec is the digest of the spec with its defaults, and Objects that of what it is rendered to
	// as far as the status depends on it.
	Spec, Objects string
}

// String returns the rendering as the annotation has it; empty for a zero one.
func (r Rendering) String() string {
	if r == (Rendering{}) {
		return ""
	}
	return "spec=" + r.Spec + ",objects=" + r.Objects
}

// RenderingOf returns the rendering that an object carries; zero where it carries none.
func RenderingOf(object metav1.Object) Rendering {
	spec, objects, _ := strings.Cut(object.GetAnnotations()[RenderingAnnotation], ",")
	return Rendering{strings.TrimPrefix(spec, "spec="), strings.TrimPrefix(objects, "objects=")}
}

// observed identifies those of the objects that Expand returned that a status depends on.
func (e *entry) observed(objects []*unstructured.Unstructured) (observed []Child) {
	for _, o := range objects {
		if gk := o.GroupVersionKind().GroupKind(); e.Observes(gk) != nil {
			observed = append(observed, Child{gk, o.GetName(), o.GetAnnotations()[kind.DigestAnnotation]})
		}
	}
	return observed
}

// rendering returns the Rendering of an object that is rendered to others.
func (e *entry) rendering(owner kind.Object, observed []Child) (Rendering, error) {
	spec := reflect.Indirect(reflect.ValueOf(owner)).FieldByName("Spec")
	if e.HasDigest() || len(observed) == 0 || !spec.IsValid() {
		return Rendering{}, nil
	}
	content, err := json.Marshal(spec.Interface())
	if err != nil {
		return Rendering{}, titled(e.GVK().Kind+" "+owner.GetName(), err)
	}
	return Rendering{shortDigest(json.RawMessage(content)), ObjectsDigest(observed)}, nil
}

// Child identifies an object that is rendered from another.
type Child struct {
	schema.GroupKind

	// Name is that before HashName.
	Name string

	// Digest is the value of DigestAnnotation.
	Digest string
}

// ObjectsDigest returns Rendering.Objects for what an object is rendered to, in any order.
func ObjectsDigest(children []Child) string {
	return shortDigest(slices.SortedFunc(slices.Values(children), func(a, b Child) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Digest, b.Digest))
	}))
}

// shortDigest returns enough of a digest that no two are alike by chance.
func shortDigest(data any) string { return strings.TrimPrefix(kind.DigestOf(data), "sha256:")[:16] }
