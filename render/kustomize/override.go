package kustomize

import (
	"bytes"
	"cmp"
	"path"
	"reflect"
	"slices"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/kustomize/parts"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/source"
)

// Overridden is the result of overrides.
type Overridden struct {
	// Unchanged are the rendered objects that the overrides cannot change. Changed are overridden objects.
	Unchanged, Changed []manifest.Object
}

// Override builds rendered objects with the overrides in a folder.
func Override(paths *Paths, folder string, rendered []manifest.Object) (o Overridden, problems []manifest.Problem) {
	if problems = refuseVars(paths.Sources, folder); len(problems) > 0 {
		return o, problems
	}
	k := paths.Sources.Kustomizations[folder]
	var err error
	isolate(paths.Sources, func() { o.Unchanged, o.Changed, err = overrideChanging(paths, k, rendered) })
	if err != nil && isUnmatched.MatchString(err.Error()) {
		problems = unmatchedDocuments(paths.Patches[k.Folder], newCandidates(rendered))
	}
	if err != nil && len(problems) == 0 {
		problems = []manifest.Problem{kustomizeProblem(paths.Sources, k.File, err)}
	}
	if len(problems) > 0 {
		return o, problems
	}
	o.link(rendered)
	return o, nil
}

// refuseVars returns the problems of variables in a folder and in all folders that it loads. With any
// variable kustomize replaces $$ by $ in all commands, and Kubernetes does the same again.
func refuseVars(s *source.Sources, folder string) (problems []manifest.Problem) {
	k := s.Kustomizations[folder]
	if k == nil {
		return nil
	}
	if len(k.Vars) > 0 {
		problems = append(problems, manifest.Problem{Code: manifest.InvalidOverride, File: source.Relative(k.File),
			Message: "vars: would change the $ in rendered commands: write replacements instead, or use vars in the " +
				"environment itself"})
	}
	for _, entry := range slices.Concat(k.Resources, k.Components) {
		problems = append(problems, refuseVars(s, k.Paths[entry])...)
	}
	return problems
}

// overrideChanging builds only the objects that a component may change. It builds a few at a time if the
// component changes each object by itself, as kustomize compares each object with all others.
func overrideChanging(paths *Paths, component *source.Kustomization,
	rendered []manifest.Object) (unchanged, overridden []manifest.Object, err error) {
	fs := paths.Sources.FS
	patches := paths.Patches[component.Folder]
	isMalformed := slices.ContainsFunc(patches, func(p buildpath.Patch) bool { return p.Err != nil })
	if hasMoreThanPatches(component) || isMalformed {
		overridden, err = overrideObjects(fs, component, rendered)
		return nil, overridden, err
	}
	var targeted, untargeted []buildpath.Patch
	for _, p := range patches {
		if p.Selector != nil {
			targeted = append(targeted, p)
		} else {
			untargeted = append(untargeted, p)
		}
	}
	var named, selected []manifest.Object
	for _, o := range rendered {
		c := buildpath.NewCandidate(o)
		switch {
		case slices.ContainsFunc(untargeted, func(p buildpath.Patch) bool { return p.Selects(c) }):
			named = append(named, o)
		case slices.ContainsFunc(targeted, func(p buildpath.Patch) bool {
			return p.Selector.MatchGvk(c.GVK) && p.Selector.MatchName(o.GetName())
		}):
			selected = append(selected, o)
		default:
			unchanged = append(unchanged, o)
		}
	}
	if slices.ContainsFunc(patches, buildpath.Patch.ChangesIdentity) { // kustomize detects duplicates
		overridden, err = overrideObjects(fs, component, slices.Concat(named, selected))
		return unchanged, overridden, err
	}
	if len(untargeted) > 0 || len(selected) == 0 { // patches that name objects fail without them
		if overridden, err = overrideObjects(fs, component, named); err != nil {
			return nil, nil, err
		}
	}
	others, err := overrideSelected(fs, *component, targeted, selected)
	return unchanged, append(overridden, others...), err
}

// hasMoreThanPatches reports whether a component has any field besides patches.
func hasMoreThanPatches(component *source.Kustomization) bool {
	rest := component.Kustomization
	rest.TypeMeta = types.TypeMeta{}
	rest.MetaData = nil
	rest.Patches = nil
	return !reflect.DeepEqual(rest, types.Kustomization{})
}

// overrideSelected builds objects with the patches that have a target, some objects at a time.
func overrideSelected(fs *source.FileSystem, component source.Kustomization, patches []buildpath.Patch,
	objects []manifest.Object) ([]manifest.Object, error) {
	component.Patches = nil
	for _, p := range patches {
		component.Patches = append(component.Patches, p.Patch)
	}
	content, err := yaml.Marshal(component.Kustomization)
	if err != nil {
		return nil, err
	}
	fs = fs.With(map[string][]byte{component.File: content})
	chunks := slices.Collect(slices.Chunk(objects, parts.Size))
	built := make([][]manifest.Object, len(chunks))
	errs := make([]error, len(chunks))
	parallel.For(len(chunks), func(i int) { built[i], errs[i] = overrideObjects(fs, &component, chunks[i]) })
	return slices.Concat(built...), cmp.Or(errs...)
}

func overrideObjects(fs *source.FileSystem, component *source.Kustomization,
	objects []manifest.Object) ([]manifest.Object, error) {
	return buildOver(fs, types.Kustomization{Components: []string{path.Join("..", component.Folder)}}, objects)
}

func buildOver(fs *source.FileSystem, k types.Kustomization, objects []manifest.Object) ([]manifest.Object, error) {
	files, err := virtualOver(fs, k, objects)
	if err != nil {
		return nil, err
	}
	return buildFolder(files, virtualFolder)
}

// virtualOver returns files with a kustomization of objects in the virtual folder.
func virtualOver(fs *source.FileSystem, k types.Kustomization, objects []manifest.Object) (*source.FileSystem, error) {
	var resources bytes.Buffer
	for _, o := range objects {
		content, err := o.YAML()
		if err != nil {
			return nil, err
		}
		resources.WriteString("---\n")
		resources.Write(content)
	}
	files := map[string][]byte{}
	if len(objects) > 0 {
		k.Resources = []string{"rendered.yaml"}
		files["rendered.yaml"] = resources.Bytes()
	}
	return withVirtual(fs, k, files)
}

// PostRender builds objects with the patches and images of a kustomization.
func PostRender(s *source.Sources, kustomization map[string]any, objects []manifest.Object) (built []manifest.Object,
	err error) {
	var k types.Kustomization
	if err := manifest.Decode(kustomization, &k); err != nil {
		return nil, err
	}
	isolate(s, func() {
		built, err = buildOver(s.FS, types.Kustomization{Patches: k.Patches, Images: k.Images}, objects)
	})
	return built, err
}

// IdlePostRender returns the warnings of entries of a kustomization that PostRender built objects with: those that
// change none of them. The field of each is in the kustomization.
func IdlePostRender(s *source.Sources, kustomization map[string]any, objects,
	built []manifest.Object) (idle []manifest.Problem) {
	var k types.Kustomization
	if manifest.Decode(kustomization, &k) != nil {
		return nil
	}
	files, err := virtualOver(s.FS, types.Kustomization{Patches: k.Patches, Images: k.Images}, objects)
	if err != nil {
		return nil
	}
	paths := FindPaths(source.Read(nil, nil, files, nil, nil, nil, virtualFolder), virtualFolder)
	return Ineffective(paths, "", slices.Clone(built), nil)
}

// virtualFolder is the folder of a kustomization that is nowhere on disk.
const virtualFolder = "/.gatehouse"

// buildVirtual builds a kustomization beside some files, none of them on disk.
func buildVirtual(fs *source.FileSystem, k types.Kustomization, files map[string][]byte) ([]manifest.Object, error) {
	with, err := withVirtual(fs, k, files)
	if err != nil {
		return nil, err
	}
	return buildFolder(with, virtualFolder)
}

// withVirtual adds a kustomization, beside some files, in the virtual folder.
func withVirtual(fs *source.FileSystem, k types.Kustomization, files map[string][]byte) (*source.FileSystem, error) {
	content, err := yaml.Marshal(k)
	if err != nil {
		return nil, err
	}
	virtual := map[string][]byte{path.Join(virtualFolder, "kustomization.yaml"): content}
	for name, content := range files {
		virtual[path.Join(virtualFolder, name)] = content
	}
	return fs.With(virtual), nil
}

// link gives each overridden object its version before the overrides, and the source of that.
func (o *Overridden) link(rendered []manifest.Object) {
	byID := map[manifest.ID]*manifest.Object{}
	for i, r := range rendered {
		byID[r.ID()] = &rendered[i]
	}
	for i := range o.Changed {
		changed := &o.Changed[i]
		changed.Written = nil // of an added object
		if before := byID[changed.ID()]; before != nil {
			changed.Written = before.Written
			changed.Origin = before.Origin
			changed.Rendered = before
		}
	}
}
