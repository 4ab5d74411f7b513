// Package explain says where objects of an environment come from, what changed them on the
// way, and what they are rendered to.
package explain

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/build"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// Explanation says how an object came to be.
type Explanation struct {
	Reference
	// RenderedFrom is the object that it was rendered from; nil of what people wrote.
	RenderedFrom *Reference `json:"renderedFrom,omitempty"`
	// Origin is where people wrote it, or what it was rendered from.
	Origin *Origin `json:"origin,omitempty"`
	// Changes are what kustomizations made of what people wrote, in the order of the build.
	Changes []Change `json:"changes"`
	// IsTraced says whether all changes are known.
	IsTraced bool `json:"isTraced"`
	// Overrides are what the overrides of the environment made of what was rendered.
	Overrides []Change `json:"overrides,omitempty"`
	// RenderedTo is what is rendered from it.
	RenderedTo []Rendered `json:"renderedTo,omitempty"`
}

// Reference names an object of an environment.
type Reference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// File is the one that it is rendered to, relative to the root; empty of an object that a
	// patch removes.
	File string `json:"file,omitempty"`
}

// String is how people name the object.
func (r Reference) String() string {
	return object.ID{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}.String()
}

// Origin is where people wrote an object.
type Origin struct {
	Place
	// Object is how it is named there.
	Object string `json:"object"`
	// Entry is that of a kustomization which generates it; empty of an object that is written.
	Entry string `json:"entry,omitempty"`
	// Files are those that the entry generates it from.
	Files []string `json:"files,omitempty"`
}

// Place is a line of a file, relative to the root.
type Place struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// String is the place as a compiler writes it.
func (p Place) String() string { return object.Problem{File: p.File, Line: p.Line}.Position() }

// Change is what an entry of a kustomization made of an object.
type Change struct {
	Place
	// Entries are the paths of the entries: patches[0], images[1] or namespace. They are
	// several where kustomize can build none without the others.
	Entries []string `json:"entries,omitempty"`
	// Reference is the object to whose name it changes references, where no entry does.
	Reference string `json:"reference,omitempty"`
	// Definition is the CustomResourceDefinition whose default is written into the object,
	// where no entry does.
	Definition string `json:"definition,omitempty"`
	// Files are those that the entries load, as patches.
	Files []string `json:"files,omitempty"`
	// Fields are what changed; none where the object is removed.
	Fields []Field `json:"fields"`
	// IsRemoved says that the object is no more.
	IsRemoved bool `json:"isRemoved,omitempty"`
}

// Rendered is what an object is rendered to.
type Rendered struct {
	Reference
	Overrides []Change `json:"overrides,omitempty"`
}

// explainer explains objects of one environment.
type explainer struct {
	*render.Examination
}

// object explains an object.
func (e explainer) object(p tree.Placed, traces []build.Trace) Explanation {
	x := Explanation{Reference: e.reference(p), Changes: []Change{}, Overrides: e.overrides(p.Object)}
	written := p.Object
	if p.IsRendered() {
		written = object.Object{Unstructured: p.Written, Written: p.Written}
		owner := e.referenceOf(written)
		x.RenderedFrom = &owner
	}
	if p.Written == nil {
		x.Origin = e.originIn(p.Object, e.Overrides())
		x.IsTraced = true
		return x
	}
	if trace := traceOf(traces, written); trace != nil {
		x.follow(e, *trace)
		x.Changes = append(x.Changes, e.defaults(trace.Built, written)...)
	} else {
		x.Origin = e.originIn(written, e.Origin(written))
	}
	for _, other := range e.Objects {
		if !p.IsRendered() && other.IsRendered() && other.Written == p.Unstructured {
			x.RenderedTo = append(x.RenderedTo, Rendered{e.reference(other), e.overrides(other.Object)})
		}
	}
	return x
}

// removed explains an object that a patch removes.
func (e explainer) removed(trace build.Trace) Explanation {
	id := trace.Written.ID
	x := Explanation{Reference: Reference{APIVersion: trace.Written.APIVersion, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}}
	x.follow(e, trace)
	return x
}

func (x *Explanation) follow(e explainer, trace build.Trace) {
	file, line := trace.Written.Position()
	x.Origin = &Origin{Place: Place{file, line}, Object: trace.Written.String(), Entry: trace.Entry}
	for _, loaded := range trace.Loads {
		x.Origin.Files = append(x.Origin.Files, source.Relative(loaded))
	}
	x.Changes, x.IsTraced = append([]Change{}, e.changes(trace.Steps)...), true
}

func (e explainer) overrides(o object.Object) []Change { return e.changes(e.OverrideSteps(o)) }

// traceOf is the trace of an object that was built.
func traceOf(traces []build.Trace, written object.Object) *build.Trace {
	for i, trace := range traces {
		if trace.Built != nil && (object.Object{Unstructured: trace.Built}).ID() == written.ID() {
			return &traces[i]
		}
	}
	return nil
}

// defaults are what CustomResourceDefinitions add to an object that was built.
func (e explainer) defaults(built *unstructured.Unstructured, written object.Object) (changes []Change) {
	k := e.Kinds().Find(written.GroupVersionKind())
	fields := defaultsIn(k, built, written.Unstructured)
	for _, field := range fields {
		definition := object.ID{Kind: "CustomResourceDefinition", Name: k.Plural() + "." + k.GVK.Group} // which another environment may bring
		value, _, _ := unstructured.NestedFieldCopy(written.Object, field...)
		with := built.DeepCopy()
		_ = unstructured.SetNestedField(with.Object, value, field...) // as in what was written
		c := Change{Fields: fieldsOf(built, with), Definition: definition.String()}
		for _, p := range e.Objects {
			if p.ID() == (object.ID{Group: "apiextensions.k8s.io", Kind: definition.Kind, Name: definition.Name}) {
				place := e.Sources.Locate(object.NewProblem(p.Object, defaultOf(p.Unstructured, k.GVK.Version, field), object.Value{Is: value}, ""), e.Origin(p.Object))
				c.Place = Place{place.File, place.Line}
			}
		}
		changes = append(changes, c)
	}
	return changes
}

// defaultsIn are the fields in which an object is not the one that was built because it has
// defaults that are kept; none where it differs in more, or in nothing.
func defaultsIn(k *kind.Kind, built, written *unstructured.Unstructured) (fields [][]string) {
	if k == nil {
		return nil
	}
	without := written.DeepCopy()
	for _, name := range k.KeepDefaults {
		field := strings.Split(name, ".")
		_, wasSet, _ := unstructured.NestedFieldNoCopy(built.Object, field...)
		_, isSet, _ := unstructured.NestedFieldNoCopy(written.Object, field...)
		if isSet && !wasSet {
			fields = append(fields, field)
			unstructured.RemoveNestedField(without.Object, field...)
		}
	}
	if !reflect.DeepEqual(built.Object, without.Object) {
		return nil
	}
	return fields
}

// defaultOf is the field of a CustomResourceDefinition that has the default of a field of a
// version.
func defaultOf(definition *unstructured.Unstructured, version string, field []string) string {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	index := slices.IndexFunc(versions, func(item any) bool {
		v, _ := item.(map[string]any)
		return v["name"] == version
	})
	return fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema.properties.%s.default", max(index, 0), strings.Join(field, ".properties."))
}

func (e explainer) reference(p tree.Placed) Reference {
	return Reference{p.GetAPIVersion(), p.GetKind(), p.GetNamespace(), p.GetName(), path.Join(tree.Folder, e.Environment, p.Path)}
}

func (e explainer) referenceOf(o object.Object) Reference {
	for _, p := range e.Objects {
		if p.Unstructured == o.Unstructured {
			return e.reference(p)
		}
	}
	return Reference{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// originIn is where an object is written, as far as its name tells that.
func (e explainer) originIn(o object.Object, file string) *Origin {
	p := e.Sources.Locate(object.NewProblem(o, "", object.Value{}, ""), cmp.Or(e.Sources.OnlyFile(o.ID()), file))
	return &Origin{Place: Place{p.File, p.Line}, Object: o.String()}
}

func (e explainer) changes(steps []build.Step) (changes []Change) {
	for _, step := range steps {
		if step.Folder == "" {
			changes = append(changes, e.references(step)...)
			continue
		}
		k := e.Sources.Kustomizations[step.Folder]
		c := Change{Place: Place{source.Relative(k.File), e.Sources.Line(k.File, object.SplitField(step.Entries[0])...)}, Entries: step.Entries, Fields: []Field{}}
		for _, file := range step.Loads {
			c.Files = append(c.Files, source.Relative(file))
		}
		if c.IsRemoved = step.After == nil; !c.IsRemoved {
			c.Fields = fieldsOf(step.Before, step.After)
		}
		changes = append(changes, c)
	}
	return changes
}

// references are the changes of names in references, each with the object that has the name.
func (e explainer) references(step build.Step) (changes []Change) {
	for _, f := range fieldsOf(step.Before, step.After) {
		c := Change{Fields: []Field{f}}
		if id, written := e.renamed(f, step.Beside); written != nil {
			c.Reference = id.String()
			c.File, c.Line = written.Position()
		}
		if i := slices.IndexFunc(changes, func(other Change) bool { return other.Reference == c.Reference && other.Place == c.Place }); i >= 0 {
			changes[i].Fields = append(changes[i].Fields, f)
			continue
		}
		changes = append(changes, c)
	}
	return changes
}

// renamed is an object whose name was that which a field had, and is that which it has.
func (e explainer) renamed(f Field, beside []object.ID) (object.ID, *source.Document) {
	for _, id := range beside {
		if id.Name != f.After {
			continue
		}
		for _, d := range e.Sources.Written(id, 1) {
			if d.Name == f.Before {
				return id, &d
			}
		}
	}
	return object.ID{}, nil
}
