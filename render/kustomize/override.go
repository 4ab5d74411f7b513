package kustomize

import (
	"bytes"
	"path"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// virtualFolder is the folder of a build of what render makes up, as where rendered
// objects meet the component that overrides them. It is nowhere on disk.
const virtualFolder = "/.gatehouse"

// Overridden is what a component makes of rendered objects.
type Overridden struct {
	// Unchanged are the objects that the component cannot change.
	Unchanged, Changed []manifest.Object
	// Before has the changed objects as they were; none of those that the component adds or renames.
	Before map[*unstructured.Unstructured]manifest.Object
}

// Override builds rendered objects with the component in a folder.
func (w *Ways) Override(folder string, rendered []manifest.Object) (o Overridden, problems []manifest.Problem) {
	k := w.sources.Kustomizations[folder]
	if problems = w.varsBelow(folder); len(problems) > 0 {
		return o, problems
	}
	var err error
	isolate(w.sources, func() { o.Unchanged, o.Changed, err = w.overrideParts(k, rendered) })
	if err != nil {
		return o, []manifest.Problem{kustomizeProblem(w.sources, k.File, err)}
	}
	o.findBefore(rendered)
	return o, nil
}

// varsBelow returns the problems of the variables in a folder and in what it loads. With any
// variable, kustomize replaces $$ by $ in all commands, which Kubernetes then does again: the
// shell would get less than what was written.
func (w *Ways) varsBelow(folder string) (problems []manifest.Problem) {
	k := w.sources.Kustomizations[folder]
	if k == nil {
		return nil
	}
	if len(k.Vars) > 0 {
		problems = append(problems, manifest.Problem{File: source.Relative(k.File), Message: "vars: would change the $ in commands that were rendered: write replacements instead, or add what has them in the environment itself"})
	}
	for _, entry := range slices.Concat(k.Resources, k.Components) {
		problems = append(problems, w.varsBelow(k.Paths[entry])...)
	}
	return problems
}

// overrideParts gives kustomize only the objects that a component may change, and a few at a
// time where the component changes each by itself: kustomize compares each object with all
// others.
func (w *Ways) overrideParts(component *source.Kustomization, rendered []manifest.Object) (unchanged, overridden []manifest.Object, err error) {
	fs, patches := w.sources.FS, w.patches[component.Folder]
	isMalformed := slices.ContainsFunc(patches, func(p patch) bool { return p.err != nil })
	if hasMoreThanPatches(component) || isMalformed {
		overridden, err = overrideObjects(fs, component, rendered)
		return nil, overridden, err
	}
	targeted := filter(patches, func(p patch) bool { return p.target != nil })
	untargeted := filter(patches, func(p patch) bool { return p.target == nil })
	var named, selected []manifest.Object
	for _, o := range rendered {
		c := newCandidate(o)
		switch {
		case slices.ContainsFunc(untargeted, func(p patch) bool { return p.selects(c) }):
			named = append(named, o)
		case slices.ContainsFunc(targeted, func(p patch) bool { return p.target.MatchGvk(c.gvk) && p.target.MatchName(o.GetName()) }):
			selected = append(selected, o)
		default:
			unchanged = append(unchanged, o)
		}
	}
	if slices.ContainsFunc(patches, patch.changesIdentity) { // kustomize has to see which objects become one
		overridden, err = overrideObjects(fs, component, slices.Concat(named, selected))
		return unchanged, overridden, err
	}
	if len(untargeted) > 0 || len(selected) == 0 { // the patches that name objects want to find them
		if overridden, err = overrideObjects(fs, component, named); err != nil {
			return nil, nil, err
		}
	}
	others, err := overrideSelected(fs, *component, targeted, selected)
	return unchanged, append(overridden, others...), err
}

// hasMoreThanPatches reports whether a component has anything else than patches.
func hasMoreThanPatches(component *source.Kustomization) bool {
	rest := component.Kustomization
	rest.TypeMeta, rest.MetaData, rest.Patches = types.TypeMeta{}, nil, nil
	return !reflect.DeepEqual(rest, types.Kustomization{})
}

// overrideSelected overrides objects that only the targets of patches select, some at a time.
func overrideSelected(fs *source.FileSystem, component source.Kustomization, patches []patch, objects []manifest.Object) ([]manifest.Object, error) {
	component.Patches = nil
	for _, p := range patches {
		component.Patches = append(component.Patches, p.Patch)
	}
	content, err := yaml.Marshal(component.Kustomization)
	if err != nil {
		return nil, err
	}
	fs = fs.With(map[string][]byte{component.File: content})
	chunks := slices.Collect(slices.Chunk(objects, partSize))
	return buildConcurrently(len(chunks), func(i int) ([]manifest.Object, error) {
		return overrideObjects(fs, &component, chunks[i])
	})
}

// overrideObjects has kustomize build objects with a component.
func overrideObjects(fs *source.FileSystem, component *source.Kustomization, objects []manifest.Object) ([]manifest.Object, error) {
	var resources bytes.Buffer
	for _, o := range objects {
		content, err := o.YAML()
		if err != nil {
			return nil, err
		}
		resources.WriteString("---\n")
		resources.Write(content)
	}
	k := types.Kustomization{Components: []string{path.Join("..", component.Folder)}}
	files := map[string][]byte{}
	if len(objects) > 0 {
		k.Resources = []string{"rendered.yaml"}
		files["rendered.yaml"] = resources.Bytes()
	}
	return buildVirtual(fs, k, files)
}

// buildVirtual builds a kustomization of what render makes up, beside some files.
func buildVirtual(fs *source.FileSystem, k types.Kustomization, files map[string][]byte) ([]manifest.Object, error) {
	content, err := yaml.Marshal(k)
	if err != nil {
		return nil, err
	}
	virtual := map[string][]byte{path.Join(virtualFolder, "kustomization.yaml"): content}
	for name, content := range files {
		virtual[path.Join(virtualFolder, name)] = content
	}
	return buildFolder(fs.With(virtual), virtualFolder)
}

// findBefore finds the rendered objects of the same IDs as the changed ones, which it gives what
// those were rendered from.
func (o *Overridden) findBefore(rendered []manifest.Object) {
	byID := map[manifest.ID]manifest.Object{}
	for _, r := range rendered {
		byID[r.ID()] = r
	}
	o.Before = map[*unstructured.Unstructured]manifest.Object{}
	for i, changed := range o.Changed {
		before, ok := byID[changed.ID()]
		o.Changed[i].Written, o.Changed[i].Origin = before.Written, before.Origin // nothing of what was added
		if ok {
			o.Before[changed.Unstructured] = before
		}
	}
}
