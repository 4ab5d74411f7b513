package kustomize

import (
	"slices"

	"sigs.k8s.io/kustomize/kyaml/openapi"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/source"
)

// Build builds the folder whose ways it has.
func (w *Ways) Build() ([]manifest.Object, []manifest.Problem) {
	k := w.loaded[w.folder]
	var objects []manifest.Object
	var err error
	isolate(w.sources, func() { objects, err = w.buildObjects() })
	switch {
	case err != nil:
		return nil, []manifest.Problem{kustomizeProblem(w.sources, k.File, err)}
	case len(objects) == 0:
		return nil, []manifest.Problem{{File: source.Relative(k.File), Message: "builds to nothing: list resources"}}
	}
	w.setOrigins(objects)
	return objects, nil
}

// buildObjects builds a folder in parts, or as a whole where it has none.
func (w *Ways) buildObjects() ([]manifest.Object, error) {
	if d := divide(w, partSize); d != nil {
		return d.buildAll()
	}
	return buildFolder(w.sources.FS, w.folder, nil)
}

// buildAll builds what cannot be parted, and then the parts, several at a time. It returns the
// first error in that order.
func (d *division) buildAll() ([]manifest.Object, error) {
	objects, err := d.buildPart(d.rest)
	if err != nil {
		return nil, err
	}
	openapi.Schema() // its first use is not safe for several at a time
	parts, err := buildConcurrently(len(d.parts), func(i int) ([]manifest.Object, error) { return d.buildPart(d.parts[i]) })
	return append(objects, parts...), err
}

// buildConcurrently calls build for each of n parts, several at a time. It returns the objects of
// all, or the error of the first part that fails.
func buildConcurrently(n int, build func(i int) ([]manifest.Object, error)) ([]manifest.Object, error) {
	defer mute()()
	built, errs := make([][]manifest.Object, n), make([]error, n)
	parallel.For(n, func(i int) { built[i], errs[i] = build(i) })
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return nil, errs[i]
	}
	return slices.Concat(built...), nil
}
