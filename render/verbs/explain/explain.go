// Package explain tells for objects of an environment their source file, the kustomizations that change
// them, and their rendered objects.
package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// Explanation is the history of one object.
type Explanation struct {
	Reference
	// RenderedFrom is the source object of a rendered object, and nil for a source object.
	RenderedFrom *Reference `json:"renderedFrom,omitempty"`
	// DeliveredBy is the object whose tool brings the object, such as a Kustomization of Flux, and nil for an object of
	// the environment itself.
	DeliveredBy *Origin `json:"deliveredBy,omitempty"`
	// Origin is the position of the source object.
	Origin *Origin `json:"origin,omitempty"`
	// Values are the values that users set and the template of a chart reads for the object, with their positions.
	Values []string `json:"values,omitempty"`
	// IsTraced reports whether the kustomizations that change the object are known.
	IsTraced bool `json:"isTraced"`
	// IsRemoved reports whether a patch removes the source object.
	IsRemoved bool `json:"isRemoved,omitempty"`
	// History is the change from the source object to the built object.
	History
	// Overrides is the change from the rendered object to the overridden object.
	Overrides History `json:"overrides,omitzero"`
	// Mutations is the change by MutatingAdmissionPolicies when the object is created. No file has it.
	Mutations History `json:"mutations,omitzero"`
	// Unevaluated lists the policies that may change the object too, each with the reason of the doubt.
	Unevaluated []string `json:"unevaluated,omitempty"`
	// RenderedTo lists the rendered objects of a source object.
	RenderedTo []Reference `json:"renderedTo,omitempty"`
}

// Reference names an object of an environment.
type Reference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// File is the rendered file, relative to the root. It is empty for an object that is removed or written nowhere.
	File string `json:"file,omitempty"`
}

// String returns the kind, namespace and name.
func (r Reference) String() string {
	return manifest.ID{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}.String()
}

// Origin is the position of a source object.
type Origin struct {
	Place
	// Object is its kind and name in the source file, and for a delivery with its namespace.
	Object string `json:"object"`
}

// Place is a line of a file, relative to the root.
type Place struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

func placeOf(p manifest.Problem) Place { return Place{p.File, p.Line} }

// String returns the place as a compiler writes it.
func (p Place) String() string { return manifest.Problem{File: p.File, Line: p.Line}.Position() }

// History is the change of an object between two stages.
type History struct {
	// Changes lists the entries of kustomizations that set fields of the object, in the order of application.
	// It is empty if the object stays the same.
	Changes []Change `json:"changes"`
	// Diff is a unified diff of the object as YAML, with masked values of Secrets. It is empty for a
	// generated object.
	Diff string `json:"diff,omitempty"`
}

// Change is an entry of a kustomization that sets fields of an object.
type Change struct {
	Place
	// Entry is as patches[0], or a MutatingAdmissionPolicy. It is empty if no single entry explains the change.
	Entry string `json:"entry,omitempty"`
	// Loads is the file that the entry loads.
	Loads string `json:"loads,omitempty"`
	// Fields are the fields that no later entry sets.
	Fields []string `json:"fields,omitempty"`
}

// String returns the change on one line.
func (c Change) String() string {
	const most = 5
	text := c.Place.String()
	if c.Entry != "" {
		text += ": " + c.Entry
	}
	if c.Loads != "" {
		text += " (" + c.Loads + ")"
	}
	if len(c.Fields) > 0 {
		text += "  " + manifest.FirstOf(most, c.Fields)
	}
	return text
}

// explainer explains the objects of an environment, or those that a delivery of the environment brings.
type explainer struct {
	*render.Delivery
	environment *render.Environment
	Objects     []manifest.Object // see Environment.Objects
	mutations   map[manifest.ID]render.Mutation
	// isBrief is true if explanations name kustomizations and no entries, as these take too long to find.
	isBrief bool
}

// maxTraced bounds the product of explained objects and all objects: above it, explain looks for no entries.
const maxTraced = 20_000

func (e explainer) explain(p manifest.Object) Explanation {
	x := Explanation{Reference: referenceOf(p), History: History{Changes: []Change{}}, Overrides: e.overrides(p)}
	x.mutate(e, p)
	if e.Parent != nil {
		x.DeliveredBy = e.originOf(e.Object())
	}
	sourceObject := p
	if p.IsRendered() {
		sourceObject = p.Source()
		owner := e.findReference(sourceObject)
		x.RenderedFrom = &owner
	}
	if buildPath := e.pathOf(sourceObject); buildPath != nil {
		x.trace(e, *buildPath, sourceObject.Unstructured)
	} else {
		x.Origin = e.originOf(sourceObject)
		x.IsTraced = p.Written == nil
	}
	for _, other := range e.Objects {
		if !p.IsRendered() && other.IsRendered() && other.Written == p.Unstructured {
			x.RenderedTo = append(x.RenderedTo, referenceOf(other))
		}
	}
	return x
}

// originOf returns the position of an object, or the template of an object of a chart.
func (e explainer) originOf(o manifest.Object) *Origin {
	place := placeOf(e.environment.Locate(o))
	if _, isFolder := o.Delivery.(*release.Installed); isFolder {
		place = Place{File: o.Origin}
	}
	return &Origin{Place: place, Object: o.String()}
}

// pathOf returns the build path of a source object. It returns nil if overrides or a chart add the object, or a patch
// renames it.
func (e explainer) pathOf(o manifest.Object) *kustomize.Path {
	if o.Written == nil || e.Paths() == nil {
		return nil
	}
	return e.Paths().Find(o)
}

func (e explainer) explainRemoved(buildPath kustomize.Path) Explanation {
	d := buildPath.Document
	x := Explanation{Reference: Reference{APIVersion: d.APIVersion, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name},
		IsRemoved: true}
	x.trace(e, buildPath, nil)
	return x
}

// trace adds the origin of an object and its changes up to the built object.
func (x *Explanation) trace(e explainer, buildPath kustomize.Path, built *unstructured.Unstructured) {
	origin := manifest.Problem{}
	origin.File, origin.Line = buildPath.Document.Position()
	place := placeOf(e.environment.LocateProblem(e.Blame(origin)))
	x.Origin = &Origin{Place: place, Object: buildPath.Document.String()}
	x.IsTraced = true
	x.Values = e.Sources().Settings(buildPath.Document)
	var o manifest.Object
	if !buildPath.IsGenerated {
		o, _ = manifest.FromYAML(kyaml.CopyYNode(buildPath.Document.Node()))
	}
	x.Changes = e.changes(buildPath, o, built)
	if built != nil && o.Unstructured != nil {
		change := compare.Change{Before: alignItems(o.Unstructured, built), After: built, BeforeFile: place.File,
			AfterFile: cmp.Or(e.findReference(manifest.Object{Unstructured: built}).File, place.File)}
		if x.Diff = change.Unified(); x.Diff == "" { // perhaps only the order of a list changes
			change.Before = o.Unstructured
			x.Diff = change.Unified()
		}
	}
}

// changes returns the entries that change the source object of a build path, and the field of its delivery that does.
func (e explainer) changes(buildPath kustomize.Path, o manifest.Object, built *unstructured.Unstructured) []Change {
	if !e.isBrief {
		if steps, ok := kustomize.Trace(e.Paths(), buildPath, o.Unstructured); ok {
			before := o.Unstructured
			if len(steps) > 0 {
				before = steps[len(steps)-1].After
			}
			return e.setters(steps, e.setByDelivery(before, built)...)
		}
	}
	changes := []Change{}
	for _, k := range e.Paths().Changing(buildPath) {
		changes = append(changes, Change{Place: Place{File: source.Relative(k.File)}})
	}
	return changes
}

// setByDelivery returns the change of metadata that the tool of the delivery makes of what it built.
func (e explainer) setByDelivery(before, after *unstructured.Unstructured) []Change {
	by := e.MetadataField()
	if by == "" || before == nil || after == nil {
		return nil
	}
	setter := manifest.NewProblem(e.Object(), by, manifest.Value{}, "")
	c := Change{Entry: setter.Object + ": " + by}
	for _, f := range (compare.Change{Before: before, After: after}).Fields() {
		if strings.HasPrefix(f.Path, "metadata.") {
			c.Fields = append(c.Fields, f.Path)
		}
	}
	if len(c.Fields) == 0 {
		return nil
	}
	c.Place = placeOf(e.environment.LocateProblem(setter))
	return []Change{c}
}

// setters returns the entries of steps that set fields for good, and the entry that removes the object. Later changes
// follow them.
func (e explainer) setters(steps []kustomize.Step, later ...Change) []Change {
	changes := append([]Change{}, later...)
	isSet := sets.Set[string]{}
	for _, c := range later {
		isSet.Insert(c.Fields...)
	}
	for _, step := range slices.Backward(steps) {
		c := Change{Place: Place{File: source.Relative(step.Entry.Kustomization.File)}, Entry: step.Entry.Name,
			Loads: step.Entry.Loads}
		if c.Entry != "" {
			file := step.Entry.Kustomization.File
			entry := manifest.Problem{File: source.Relative(file), Line: e.Sources().Line(file, step.Entry.Keys...),
				Field: step.Entry.Name}
			at := e.Blame(entry)
			if at.File == "" { // the object that delivers sets it
				c.Entry = at.Object + ": " + at.Field
			}
			c.Place = placeOf(e.environment.LocateProblem(at))
		}
		if step.After == nil { // no earlier change lasts
			return []Change{c}
		}
		for _, f := range (compare.Change{Before: alignItems(step.Before, step.After), After: step.After}).Fields() {
			if !f.IsWithin(isSet) {
				c.Fields = append(c.Fields, f.Path)
			}
		}
		isSet.Insert(c.Fields...)
		if len(c.Fields) > 0 {
			changes = append(changes, c)
		}
	}
	slices.Reverse(changes)
	return changes
}

// types converts objects of built-in kinds to structured-merge-diff, which knows the keys of their lists.
var types = sync.OnceValue(func() managedfields.TypeConverter {
	return applyconfigurations.NewTypeConverter(scheme.Scheme)
})

// alignItems returns an object with the items of its lists in the order of other: kustomize moves patched
// items to the front. It returns the object itself if its lists have no keys.
func alignItems(o, other *unstructured.Unstructured) *unstructured.Unstructured {
	if o == nil {
		return nil
	}
	from, err := types().ObjectToTyped(o, typed.AllowDuplicates)
	if err != nil {
		return o
	}
	to, err := types().ObjectToTyped(other, typed.AllowDuplicates)
	if err != nil {
		return o
	}
	changes, err := from.Compare(to)
	if err != nil {
		return o
	}
	// Merging equal fields changes only the order of items.
	aligned, err := from.Merge(to.RemoveItems(changes.Added.Union(changes.Modified)))
	if err != nil {
		return o
	}
	content, _ := aligned.AsValue().Unstructured().(map[string]any)
	return &unstructured.Unstructured{Object: content}
}

// overrides returns the change of a rendered object by the overrides of the environment.
func (e explainer) overrides(p manifest.Object) (h History) {
	before := p.Rendered
	folder := e.environment.Overrides()
	if before == nil {
		return h
	}
	renamed := before.DeepCopy()
	renamed.SetName(p.GetName()) // overrides may change the hash in the name
	file := p.File
	if h.Diff = (compare.Change{Before: renamed, After: p.Unstructured, BeforeFile: file,
		AfterFile: file}).Unified(); h.Diff != "" {
		h.Changes = []Change{{Place: Place{File: source.Relative(e.Sources().Kustomizations[folder].File)}}}
		if e.isBrief {
			return h
		}
		if steps, ok := kustomize.TraceOverrides(e.Paths(), folder, e.environment.Rendered(), *before); ok {
			h.Changes = e.setters(steps)
		}
	}
	return h
}

func (x *Explanation) mutate(e explainer, p manifest.Object) {
	m := e.mutations[p.ID()]
	for _, d := range m.Doubts {
		at := e.environment.Locate(d.Policy)
		x.Unevaluated = append(x.Unevaluated, fmt.Sprintf("%s  %s: %s", at.Position(), d.Policy, d.Reason))
	}
	if m.After == nil {
		return
	}
	x.Mutations.Diff = compare.Change{Before: m.Before, After: m.After, BeforeFile: x.File, AfterFile: x.File}.Unified()
	for _, policy := range m.Policies {
		x.Mutations.Changes = append(x.Mutations.Changes,
			Change{Place: placeOf(e.environment.Locate(policy)), Entry: policy.String()})
	}
}

func referenceOf(o manifest.Object) Reference {
	return Reference{o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName(), o.File}
}

func (e explainer) findReference(o manifest.Object) Reference {
	i := slices.IndexFunc(e.Objects, func(p manifest.Object) bool { return p.Unstructured == o.Unstructured })
	if i >= 0 {
		return referenceOf(e.Objects[i])
	}
	o.File = ""
	return referenceOf(o)
}
