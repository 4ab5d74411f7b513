package review

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verdict"
	"example.com/gatehouse/render/verdict/podsecurity"
)

// world is an environment before and after a change.
type world struct {
	diff.EnvironmentDiff
	before, after side
	refused       map[manifest.ID]kind.Effect // changes that the API server refuses
	removed       map[string]int              // the number of removed objects in each Namespace
	gone          map[string]bool             // removed Namespaces
	parameters    map[string]sets.Set[string] // names of parameters of admission policies, by kind
	checks        *verdict.Checker            // of the changed kinds
	uses          func() (before, after uses) // of ConfigMaps and Secrets
	pods          map[*unstructured.Unstructured][]podsecurity.Template
	fields        map[[2]*unstructured.Unstructured][]diff.FieldChange // by the objects before and after
}

// side is an environment before a change, or after it.
type side struct {
	objects     []*unstructured.Unstructured
	autoscalers map[pod.Workload]*unstructured.Unstructured  // by target
	owners      map[manifest.ID]*unstructured.Unstructured   // source objects
	tokenless   map[manifest.ID]bool                         // ServiceAccounts that mount no token by default
	again       map[manifest.ID][]*unstructured.Unstructured // renderings of source objects alone
}

func newWorld(e diff.EnvironmentDiff) *world {
	w := &world{EnvironmentDiff: e, removed: map[string]int{}, gone: map[string]bool{}, pods: map[*unstructured.Unstructured][]podsecurity.Template{}, fields: map[[2]*unstructured.Unstructured][]diff.FieldChange{}}
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
	w.uses = sync.OnceValues(func() (before, after uses) { return w.usesOf(w.before), w.usesOf(w.after) })
	w.checks = w.checker()
	w.parameters = parametersOf(slices.Concat(before, after))
	w.refused = w.refusals()
	return w
}

// fieldsOf returns the changed fields of an object. Callers may change the list.
func (w *world) fieldsOf(c diff.Change) []diff.FieldChange {
	key := [2]*unstructured.Unstructured{c.Before, c.After}
	known, ok := w.fields[key]
	if !ok {
		known = c.Fields()
		w.fields[key] = known
	}
	return slices.Clone(known)
}

func newSide(kinds *registry.Kinds, objects []*unstructured.Unstructured) side {
	s := side{objects, map[pod.Workload]*unstructured.Unstructured{}, map[manifest.ID]*unstructured.Unstructured{}, map[manifest.ID]bool{}, map[manifest.ID][]*unstructured.Unstructured{}}
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

// isCovered reports whether the effect on the source object describes the effect on a rendered object.
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

// namespaceOf returns the namespace of an object in the cluster.
func namespaceOf(o *unstructured.Unstructured) string {
	return manifest.Object{Unstructured: o}.NamespaceOrDefault()
}

func text(o *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}

// maxListed is the number of sentences in a list.
const maxListed = 4

// list joins the first few sentences, and counts the others.
func list(sentences []kind.Sentence) kind.Sentence {
	parts := make([]string, 0, maxListed)
	for _, s := range sentences[:min(len(sentences), maxListed)] {
		parts = append(parts, string(s))
	}
	joined := kind.Sentence(strings.Join(parts, ", "))
	if more := len(sentences) - maxListed; more > 0 {
		joined += kind.Say(" and %d more", more)
	}
	return joined
}

// quoteAll lists the first few values, and counts the others.
func quoteAll(values []string) kind.Sentence {
	sentences := make([]kind.Sentence, len(values))
	for i, value := range values {
		sentences[i] = kind.Say("%s", value)
	}
	return list(sentences)
}
