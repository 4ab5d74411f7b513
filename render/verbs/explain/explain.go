// Package explain says where objects of an environment come from, which kustomizations change them
// on the way, and what they are rendered to.
package explain

import (
	"cmp"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/diff"
)

// Explanation says how an object came to be.
type Explanation struct {
	Reference
	// RenderedFrom is the object that it was rendered from; nil of what people wrote.
	RenderedFrom *Reference `json:"renderedFrom,omitempty"`
	// Origin is where people wrote it, or what it was rendered from.
	Origin *Origin `json:"origin,omitempty"`
	// IsTraced reports whether it is known which kustomizations it goes through.
	IsTraced bool `json:"isTraced"`
	// IsRemoved reports whether a patch removes what people wrote.
	IsRemoved bool `json:"isRemoved,omitempty"`
	// History is what kustomizations made of what people wrote.
	History
	// Overrides is what the overrides of the environment made of what was rendered.
	Overrides History `json:"overrides,omitzero"`
	// RenderedTo has what is rendered from it.
	RenderedTo []Reference `json:"renderedTo,omitempty"`
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

// String returns how people name the object.
func (r Reference) String() string {
	return manifest.ID{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}.String()
}

// Origin is where people wrote an object.
type Origin struct {
	Place
	// Object is how it is named there.
	Object string `json:"object"`
}

// Place is a line of a file, relative to the root.
type Place struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// String returns the place as a compiler writes it.
func (p Place) String() string { return manifest.Problem{File: p.File, Line: p.Line}.Position() }

// History is what became of an object between two stages.
type History struct {
	// Changes are the kustomizations that may change the object, in the order in which they are
	// applied; none where it stays as it is.
	Changes []Place `json:"changes"`
	// Diff is a unified diff of the object as YAML, with the values of a Secret masked; empty of
	// an object that is generated.
	Diff string `json:"diff,omitempty"`
}

// explainer explains objects of one environment.
type explainer struct {
	*render.Examination
}

// object explains an object.
func (e explainer) object(p tree.Placed) Explanation {
	x := Explanation{Reference: e.reference(p), History: History{Changes: []Place{}}, Overrides: e.overrides(p)}
	written := p.Object
	if p.IsRendered() {
		written = p.Source()
		owner := e.referenceOf(written)
		x.RenderedFrom = &owner
	}
	if way := e.wayOf(written); way != nil {
		x.follow(e, *way, written.Unstructured)
	} else {
		at := e.Locate(written)
		x.Origin = &Origin{Place: Place{at.File, at.Line}, Object: written.String()}
		x.IsTraced = p.Written == nil
	}
	for _, other := range e.Objects {
		if !p.IsRendered() && other.IsRendered() && other.Written == p.Unstructured {
			x.RenderedTo = append(x.RenderedTo, e.reference(other))
		}
	}
	return x
}

// wayOf returns the way of an object that people wrote; nil where overrides add it, or a patch gives
// it another name.
func (e explainer) wayOf(o manifest.Object) *kustomize.Way {
	if o.Written == nil {
		return nil
	}
	return e.Ways.Find(o)
}

// removed explains an object that a patch removes.
func (e explainer) removed(way kustomize.Way) Explanation {
	d := way.Document
	x := Explanation{Reference: Reference{APIVersion: d.APIVersion, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name}, IsRemoved: true}
	x.follow(e, way, nil)
	return x
}

// follow adds what happens to an object on its way to what was built.
func (x *Explanation) follow(e explainer, way kustomize.Way, built *unstructured.Unstructured) {
	file, line := way.Document.Position()
	x.Origin, x.IsTraced = &Origin{Place: Place{file, line}, Object: way.Document.String()}, true
	x.Changes = places(e.Ways.Changing(way))
	if built == nil || way.IsGenerated {
		return
	}
	if written, err := manifest.FromYAML(kyaml.CopyYNode(way.Document.Node)); err == nil {
		change := diff.Change{Before: written.Unstructured, After: built, BeforeFile: file, AfterFile: e.referenceOf(manifest.Object{Unstructured: built}).File}
		moved := change
		moved.Before = &unstructured.Unstructured{Object: aligned(written.Object, built.Object).(map[string]any)}
		x.Diff = cmp.Or(moved.Unified(), change.Unified()) // the second where only the order of a list changes
	}
	if x.Diff == "" {
		x.Changes = []Place{}
	}
}

// overrides returns what the overrides of the environment made of an object.
func (e explainer) overrides(p tree.Placed) (h History) {
	before, folder, ok := e.BeforeOverrides(p.Object)
	if !ok {
		return h
	}
	named := before.DeepCopy()
	named.SetName(p.GetName()) // which may have a hash since
	file := e.reference(p).File
	if h.Diff = (diff.Change{Before: named, After: p.Unstructured, BeforeFile: file, AfterFile: file}).Unified(); h.Diff != "" {
		h.Changes = places(e.Ways.Overriding(folder, before))
	}
	return h
}

// places returns the files of kustomizations.
func places(kustomizations []*source.Kustomization) []Place {
	files := make([]Place, len(kustomizations))
	for i, k := range kustomizations {
		files[i].File = source.Relative(k.File)
	}
	return files
}

func (e explainer) reference(p tree.Placed) Reference {
	return Reference{p.GetAPIVersion(), p.GetKind(), p.GetNamespace(), p.GetName(), path.Join(tree.Folder, e.Environment, p.Path)}
}

func (e explainer) referenceOf(o manifest.Object) Reference {
	i := slices.IndexFunc(e.Objects, func(p tree.Placed) bool { return p.Unstructured == o.Unstructured })
	if i >= 0 {
		return e.reference(e.Objects[i])
	}
	return Reference{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}
