package compare

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict"
	"example.com/gatehouse/render/verdict/podsecurity"
	"example.com/gatehouse/render/verdict/policy"
)

// index has what the objects of a comparison have to do with each other. What only a review needs is made at its first
// use.
type index struct {
	before, after Side
	gone          map[string]bool             // removed Namespaces
	parameters    map[string]sets.Set[string] // names of parameters of admission policies, by kind
	refused       func() map[manifest.ID]field.ErrorList
	uses          func() (before, after Uses)
	mentions      func() Mentions
}

// Side has the objects of an environment before a change, or after it.
type Side struct {
	Objects     []*unstructured.Unstructured
	Autoscalers map[pod.Workload]*unstructured.Unstructured  // by target
	Owners      map[manifest.ID]*unstructured.Unstructured   // source objects
	Tokenless   map[manifest.ID]bool                         // ServiceAccounts that mount no token by default
	again       map[manifest.ID][]*unstructured.Unstructured // renderings of source objects alone
	templates   map[manifest.ID]templates
}

// templates are the Pod templates of an object.
type templates struct {
	of  *unstructured.Unstructured
	all []podsecurity.Template
}

// Manifests returns the objects as they are in git.
func (s *Side) Manifests() []manifest.Object {
	objects := make([]manifest.Object, len(s.Objects))
	for i, o := range s.Objects {
		objects[i] = manifest.Object{Unstructured: o, Written: o}
	}
	return objects
}

// With makes the comparison of objects of an environment with what else is known of it.
func (d Differences) With(facts Facts) *Comparison {
	if render.IsFolder(facts.Name) { // another tool builds it: what render writes itself is proven
		d.addUnprovenCharts()
	}
	both := &Comparison{Differences: d, Facts: facts}
	before := slices.Clone(d.Unchanged)
	after := slices.Clone(d.Unchanged)
	both.gone = map[string]bool{}
	for _, c := range d.Changes {
		if c.Before != nil {
			before = append(before, c.Before)
		}
		if c.After != nil {
			after = append(after, c.After)
		}
		if c.After == nil && KeptBy(c) == nil && KindOf(c.Before) == "Namespace" {
			both.gone[c.Before.GetName()] = true
		}
	}
	both.before = newSide(d.Kinds, before)
	both.after = newSide(d.Kinds, after)
	both.parameters = parametersOf(slices.Concat(before, after))
	both.refused = sync.OnceValue(both.refusals)
	both.uses = sync.OnceValues(func() (before, after Uses) {
		return both.usesOf(&both.before), both.usesOf(&both.after)
	})
	both.mentions = sync.OnceValue(both.findMentions)
	for i := range d.Changes {
		d.Changes[i].fields = d.Changes[i].Fields()
	}
	return both
}

func (both *Comparison) checker() *verdict.Checker {
	if both.Checker == nil {
		alone, _ := verdict.New(nil, both.Kinds, 0, nil) // nothing is left to judge
		return alone
	}
	return both.Checker
}

// Before returns the objects before the change, the unchanged ones first.
func (both *Comparison) Before() *Side { return &both.before }

// After returns the objects after the change, the unchanged ones first.
func (both *Comparison) After() *Side { return &both.after }

// IsGone reports whether a Namespace is removed.
func (both *Comparison) IsGone(namespace string) bool { return both.gone[namespace] }

// Uses returns the uses of ConfigMaps and Secrets.
func (both *Comparison) Uses() (before, after Uses) { return both.uses() }

// Mentions returns the words and the names in the objects before and after the change.
func (both *Comparison) Mentions() Mentions { return both.mentions() }

// Refused returns the API server's reasons to refuse the change of an object; without any it may change.
func (both *Comparison) Refused(o *unstructured.Unstructured) field.ErrorList {
	return both.refused()[IDOf(o)]
}

// refusals returns the changes that the API server refuses, such as changes of immutable fields.
func (both *Comparison) refusals() map[manifest.ID]field.ErrorList {
	refused := map[manifest.ID]field.ErrorList{}
	for _, c := range slices.Concat(both.Changes, both.Definitions) {
		if c.Action() != Changed || LeftBy(c) != nil || delivery.RunsAgain(c.Before) {
			continue
		}
		if errs := both.checker().Update(manifest.Object{Unstructured: c.Before},
			manifest.Object{Unstructured: c.After}); len(errs) > 0 {
			refused[IDOf(c.After)] = errs
		}
	}
	return refused
}

// Unapplied returns the refusals of an object by server-side apply that a change brings.
func (both *Comparison) Unapplied(c Change) field.ErrorList {
	if c.After == nil || c.Before != nil &&
		len(both.checker().ApplyErrors(manifest.Object{Unstructured: c.Before})) > 0 {
		return nil
	}
	return both.checker().ApplyErrors(manifest.Object{Unstructured: c.After})
}

// Keeps reports whether the API server keeps a removed field of an object, such as an allocated address.
func (both *Comparison) Keeps(c Change, removed FieldChange) bool {
	if c.Action() != Changed || removed.After != nil {
		return false
	}
	was := manifest.Object{Unstructured: c.Before}
	is := manifest.Object{Unstructured: c.After}
	updated := both.checker().Updated(was, is)
	if updated == nil {
		return false
	}
	changes := Change{Before: c.Before, After: updated}.Fields()
	return !slices.ContainsFunc(changes, func(f FieldChange) bool {
		return f.IsIn(removed.Path) || removed.IsIn(f.Path)
	})
}

func newSide(kinds *registry.Kinds, objects []*unstructured.Unstructured) Side {
	s := Side{objects, map[pod.Workload]*unstructured.Unstructured{}, map[manifest.ID]*unstructured.Unstructured{},
		map[manifest.ID]bool{}, map[manifest.ID][]*unstructured.Unstructured{}, map[manifest.ID]templates{}}
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
func (both *Comparison) IsCovered(o *unstructured.Unstructured) bool {
	k := both.Kinds.RenderedFrom(o)
	if k == nil {
		return false
	}
	owner, _ := OwnerOf(both.Kinds, o)
	was := both.Before().Owners[owner] != nil
	is := both.After().Owners[owner] != nil
	switch {
	case k.Review != nil:
		return was || is
	case was && is:
		return both.Kinds.IsImmutable(o)
	case is:
		return manifest.MakesPods(o)
	}
	return was
}

// Reported returns the object to report an effect for: the source object of an immutable object such as a
// Pod, and otherwise the object itself.
func (both *Comparison) Reported(o *unstructured.Unstructured) manifest.ID {
	if owner, ok := OwnerOf(both.Kinds, o); ok && both.After().Owners[owner] != nil && both.Kinds.IsImmutable(o) {
		return owner
	}
	return IDOf(o)
}

// SourceKind returns the kind of a source object, or nil for any other object.
func (both *Comparison) SourceKind(o manifest.ID) *kind.Kind {
	return both.Kinds.FindRendered(schema.GroupKind{Group: o.Group, Kind: o.Kind})
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

// Mutations returns the changes of the objects of a side by the MutatingAdmissionPolicies among them, by object.
func (both *Comparison) Mutations(s *Side) map[manifest.ID]policy.Mutation {
	isPolicy := func(o *unstructured.Unstructured) bool { return o.GetKind() == "MutatingAdmissionPolicy" }
	if !slices.ContainsFunc(s.Objects, isPolicy) {
		return nil
	}
	objects := s.Manifests()
	checker := *both.checker()
	checker.RuntimeConfig = "admissionregistration.k8s.io/v1beta1" // or else there were no such policies in git
	all, _ := checker.Mutations(objects)
	mutations := map[manifest.ID]policy.Mutation{}
	for i, m := range all {
		mutations[objects[i].ID()] = m
	}
	return mutations
}
