package review

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
)

// world is an environment before and after a change.
type world struct {
	diff.Environment
	before, after side
	refused       map[manifest.ID]kind.Effect // the changes that the API server refuses
	removed       map[string]int              // how many objects of each Namespace are removed
	gone          map[string]bool             // the Namespaces that are removed
}

// side is an environment before a change, or after it.
type side struct {
	objects     []*unstructured.Unstructured
	autoscalers map[pod.Workload]*unstructured.Unstructured // by what they scale
	owners      map[manifest.ID]*unstructured.Unstructured  // of kinds that people write
	tokenless   map[manifest.ID]bool                        // the ServiceAccounts that mount their token only where Pods ask for it
}

func newWorld(e diff.Environment) *world {
	w := &world{Environment: e, removed: map[string]int{}, gone: map[string]bool{}}
	before, after := slices.Clone(e.Unchanged), slices.Clone(e.Unchanged)
	for _, c := range e.Changes {
		if c.Before != nil {
			before = append(before, c.Before)
		}
		if c.After != nil {
			after = append(after, c.After)
		}
		if c.Action() == diff.Removed {
			w.removed[c.Before.GetNamespace()]++
			if kindOf(c.Before) == "Namespace" && keptBy(c.Before) == "" {
				w.gone[c.Before.GetName()] = true
			}
		}
	}
	w.before, w.after = newSide(e.Kinds, before), newSide(e.Kinds, after)
	w.refused = w.refusals()
	return w
}

func newSide(kinds *registry.Kinds, objects []*unstructured.Unstructured) side {
	s := side{objects, map[pod.Workload]*unstructured.Unstructured{}, map[manifest.ID]*unstructured.Unstructured{}, map[manifest.ID]bool{}}
	for _, o := range objects {
		if a, ok := pod.ReadAutoscaler(o); ok {
			s.autoscalers[a.Target] = o
		}
		if kinds.Find(o.GroupVersionKind()) != nil {
			s.owners[idOf(o)] = o
		}
		if mounts, isSet, _ := unstructured.NestedBool(o.Object, "automountServiceAccountToken"); isSet && !mounts && kindOf(o) == "ServiceAccount" {
			s.tokenless[manifest.Object{Unstructured: o}.IDInNamespace()] = true
		}
	}
	return s
}

// isCovered reports whether the effect on what an object was rendered from says what becomes of
// the object.
func (w *world) isCovered(o *unstructured.Unstructured) bool {
	k := w.Kinds.RenderedFrom(o)
	if k == nil {
		return false
	}
	owner, _ := diff.OwnerOf(w.Kinds, o)
	was, is := w.before.owners[owner] != nil, w.after.owners[owner] != nil
	switch {
	case k.HasReview():
		return was || is
	case was && is:
		return w.Kinds.IsImmutable(o)
	case is:
		return manifest.MakesPods(o)
	}
	return was
}

func idOf(o *unstructured.Unstructured) manifest.ID { return manifest.Object{Unstructured: o}.ID() }

// kindOf returns the kind and group of an object: "Deployment.apps".
func kindOf(o *unstructured.Unstructured) string { return o.GroupVersionKind().GroupKind().String() }

// namespaceOf returns the namespace that an object will be in.
func namespaceOf(o *unstructured.Unstructured) string {
	return manifest.Object{Unstructured: o}.NamespaceOrDefault()
}

func text(o *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}

// list joins sentences, the first of many.
func list(sentences []kind.Sentence) kind.Sentence {
	const most = 4
	parts := make([]string, 0, most)
	for _, s := range sentences[:min(len(sentences), most)] {
		parts = append(parts, string(s))
	}
	joined := kind.Sentence(strings.Join(parts, ", "))
	if more := len(sentences) - most; more > 0 {
		joined += kind.Say(" and %d more", more)
	}
	return joined
}

// quoteAll lists values, the first of many.
func quoteAll(values []string) kind.Sentence {
	sentences := make([]kind.Sentence, len(values))
	for i, value := range values {
		sentences[i] = kind.Say("%s", value)
	}
	return list(sentences)
}

// without returns the values that others lack, each once.
func without(values, others []string) (left []string) {
	for _, v := range values {
		if !slices.Contains(others, v) && !slices.Contains(left, v) {
			left = append(left, v)
		}
	}
	return left
}
