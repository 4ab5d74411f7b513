// Package world is an environment before and after a change, as the rooms of a review read it: objects with
// their owners, Pod templates, the uses of ConfigMaps, refused updates, and objects that stay. Each index is
// computed once. The tests of the rooms prove it.
package world

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict"
	"example.com/gatehouse/render/verdict/podsecurity"
)

// World is an environment before and after a change.
type World struct {
	compare.EnvironmentDiff
	Before, After Side
	Refused       map[manifest.ID]kind.Effect // changes that the API server refuses
	Gone          map[string]bool             // removed Namespaces
	parameters    map[string]sets.Set[string] // names of parameters of admission policies, by kind
	checks        *verdict.Checker
	Uses          func() (before, after uses) // of ConfigMaps and Secrets
	Mentions      func() Mentions
	pods          map[*unstructured.Unstructured][]podsecurity.Template
	fields        map[[2]*unstructured.Unstructured][]compare.FieldChange // by the objects before and after
}

// Side is an environment before a change, or after it.
type Side struct {
	Objects     []*unstructured.Unstructured
	Autoscalers map[pod.Workload]*unstructured.Unstructured  // by target
	Owners      map[manifest.ID]*unstructured.Unstructured   // source objects
	Tokenless   map[manifest.ID]bool                         // ServiceAccounts that mount no token by default
	again       map[manifest.ID][]*unstructured.Unstructured // renderings of source objects alone
}

// New returns the world of a change.
func New(e compare.EnvironmentDiff) *World {
	w := &World{EnvironmentDiff: e, Gone: map[string]bool{},
		pods:   map[*unstructured.Unstructured][]podsecurity.Template{},
		fields: map[[2]*unstructured.Unstructured][]compare.FieldChange{}}
	before, after := e.Sides()
	for _, c := range e.Changes {
		if c.After == nil && KeptBy(c) == nil && KindOf(c.Before) == "Namespace" {
			w.Gone[c.Before.GetName()] = true
		}
	}
	w.Before, w.After = newSide(e.Kinds, before), newSide(e.Kinds, after)
	w.Uses = sync.OnceValues(func() (before, after uses) { return w.usesOf(w.Before), w.usesOf(w.After) })
	w.Mentions = sync.OnceValue(w.mentions)
	if w.checks = e.Checker; w.checks == nil {
		w.checks, _ = verdict.New(nil, e.Kinds, 0, nil) // nothing is left to judge
	}
	w.parameters = parametersOf(slices.Concat(before, after))
	w.Refused = w.refusals()
	return w
}

// FieldsOf returns the changed fields of an object. Callers may change the list.
func (w *World) FieldsOf(c compare.Change) []compare.FieldChange {
	key := [2]*unstructured.Unstructured{c.Before, c.After}
	known, ok := w.fields[key]
	if !ok {
		known = c.Fields()
		w.fields[key] = known
	}
	return slices.Clone(known)
}

// Keeps reports whether the API server keeps a removed field of an object, such as an allocated address.
func (w *World) Keeps(c compare.Change, removed compare.FieldChange) bool {
	if c.Action() != compare.Changed || removed.After != nil {
		return false
	}
	updated := w.checks.Updated(manifest.Object{Unstructured: c.Before}, manifest.Object{Unstructured: c.After})
	if updated == nil {
		return false
	}
	changes := compare.Change{Before: c.Before, After: updated}.Fields()
	return !slices.ContainsFunc(changes, func(f compare.FieldChange) bool {
		return f.IsIn(removed.Path) || removed.IsIn(f.Path)
	})
}

func newSide(kinds *registry.Kinds, objects []*unstructured.Unstructured) Side {
	s := Side{objects, map[pod.Workload]*unstructured.Unstructured{}, map[manifest.ID]*unstructured.Unstructured{},
		map[manifest.ID]bool{}, map[manifest.ID][]*unstructured.Unstructured{}}
	for _, o := range objects {
		if a, ok := pod.ReadAutoscaler(o); ok {
			s.Autoscalers[a.Target] = o
		}
		if kinds.Find(o.GroupVersionKind()) != nil {
			s.Owners[IDOf(o)] = o
		}
		if mounts, isSet, _ := unstructured.NestedBool(o.Object, "automountServiceAccountToken"); isSet && !mounts &&
			KindOf(o) == "ServiceAccount" {
			s.Tokenless[manifest.Object{Unstructured: o}.IDInNamespace()] = true
		}
	}
	return s
}

// IsCovered reports whether the effect on the source object describes the effect on a rendered object.
func (w *World) IsCovered(o *unstructured.Unstructured) bool {
	k := w.Kinds.RenderedFrom(o)
	if k == nil {
		return false
	}
	owner, _ := compare.OwnerOf(w.Kinds, o)
	was, is := w.Before.Owners[owner] != nil, w.After.Owners[owner] != nil
	switch {
	case k.Review != nil:
		return was || is
	case was && is:
		return w.Kinds.IsImmutable(o)
	case is:
		return manifest.MakesPods(o)
	}
	return was
}

// Reported returns the object to report an effect for: the source object of an immutable object such as a
// Pod, and otherwise the object itself.
func (w *World) Reported(o *unstructured.Unstructured) manifest.ID {
	if owner, ok := compare.OwnerOf(w.Kinds, o); ok && w.After.Owners[owner] != nil && w.Kinds.IsImmutable(o) {
		return owner
	}
	return IDOf(o)
}

// SourceKind returns the kind of a source object, or nil for any other object.
func (w *World) SourceKind(o manifest.ID) *kind.Kind {
	return w.Kinds.FindRendered(schema.GroupKind{Group: o.Group, Kind: o.Kind})
}

// IDOf returns the ID of an object.
func IDOf(o *unstructured.Unstructured) manifest.ID { return manifest.Object{Unstructured: o}.ID() }

// KindOf returns the kind and group of an object: "Deployment.apps".
func KindOf(o *unstructured.Unstructured) string { return o.GroupVersionKind().GroupKind().String() }

// NamespaceOf returns the namespace of an object in the cluster.
func NamespaceOf(o *unstructured.Unstructured) string {
	return manifest.Object{Unstructured: o}.NamespaceOrDefault()
}

// Text returns a field, or nothing if it is no text.
func Text(o *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}
