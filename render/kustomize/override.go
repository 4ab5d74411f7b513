package kustomize

import (
	"bytes"
	"path"
	"reflect"
	"slices"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// virtualFolder is the folder of a build of what render makes up, as where rendered
// objects meet the component that overrides them. It is nowhere on disk.
const virtualFolder = "/.gatehouse"

// Override builds rendered objects with the component in a folder of sources. It
// returns apart those that the component cannot change.
func Override(s *source.Sources, folder string, rendered []manifest.Object) (unchanged, overridden []manifest.Object, problems []manifest.Problem) {
	k := s.Kustomizations[folder]
	if problems = varsBelow(s, folder, map[string]bool{}); len(problems) > 0 {
		return nil, nil, problems
	}
	var err error
	isolate(s, func() { unchanged, overridden, err = overrideParts(s.FS, k, rendered) })
	if err != nil {
		return nil, nil, []manifest.Problem{kustomizeProblem(s, k.File, err)}
	}
	return unchanged, withWritten(overridden, rendered), nil
}

// varsBelow returns the problems of the variables in a folder and in what it loads. With any
// variable, kustomize replaces $$ by $ in all commands, which Kubernetes then does again: the
// shell would get less than what was written.
func varsBelow(s *source.Sources, folder string, seen map[string]bool) (problems []manifest.Problem) {
	k := s.Kustomizations[folder]
	if k == nil || seen[folder] {
		return nil
	}
	seen[folder] = true
	if len(k.Vars) > 0 {
		problems = append(problems, manifest.Problem{File: source.Relative(k.File), Message: "vars: would change the $ in commands that were rendered: write replacements instead, or add what has them in the environment itself"})
	}
	for _, entry := range slices.Concat(k.Resources, k.Components) {
		problems = append(problems, varsBelow(s, k.Paths[entry], seen)...)
	}
	return problems
}

// overrideParts gives kustomize only the objects that a component may change, and a few at a
// time where the component changes each by itself: kustomize compares each object with all
// others.
func overrideParts(fs *source.FileSystem, component *source.Kustomization, rendered []manifest.Object) (unchanged, overridden []manifest.Object, err error) {
	c, err := newChanges(fs, component)
	if err != nil || c == nil { // it does more, or kustomize is about to say what is wrong
		overridden, err = overrideObjects(fs, component, rendered)
		return nil, overridden, err
	}
	var named, selected []manifest.Object
	for _, o := range rendered {
		switch {
		case c.names(o):
			named = append(named, o)
		case c.selects(o):
			selected = append(selected, o)
		default:
			unchanged = append(unchanged, o)
		}
	}
	if c.changeIdentity { // kustomize has to see which objects become one
		overridden, err = overrideObjects(fs, component, slices.Concat(named, selected))
		return unchanged, overridden, err
	}
	if len(c.named) > 0 || len(selected) == 0 { // the patches that name objects want to find them
		if overridden, err = overrideObjects(fs, component, named); err != nil {
			return nil, nil, err
		}
	}
	others, err := c.overrideSelected(selected)
	return unchanged, append(overridden, others...), err
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
	k := source.Kustomization{Folder: virtualFolder, File: path.Join(virtualFolder, "kustomization.yaml")}
	k.Components = []string{path.Join("..", component.Folder)}
	files := map[string][]byte{}
	if len(objects) > 0 {
		k.Resources = []string{"rendered.yaml"}
		files[path.Join(virtualFolder, "rendered.yaml")] = resources.Bytes()
	}
	var err error
	if files[k.File], err = yaml.Marshal(k.Kustomization); err != nil {
		return nil, err
	}
	return buildFolder(fs.With(files), k.Folder, nil)
}

// changes are what a component of nothing but patches changes.
type changes struct {
	fs             *source.FileSystem
	component      source.Kustomization
	targeted       []types.Patch
	targets        []*selector
	named          []manifest.ID // kinds and names
	changeIdentity bool
}

// newChanges returns nil where there is more than patches in a component.
func newChanges(fs *source.FileSystem, component *source.Kustomization) (*changes, error) {
	rest := component.Kustomization
	rest.TypeMeta, rest.MetaData, rest.Patches = types.TypeMeta{}, nil, nil
	if !reflect.DeepEqual(rest, types.Kustomization{}) {
		return nil, nil
	}
	c := &changes{fs: fs, component: *component}
	for _, p := range readPatches(fs, component) {
		if p.err != nil {
			return nil, p.err
		}
		c.changeIdentity = c.changeIdentity || p.changesIdentity()
		if p.target == nil {
			for _, d := range p.documents {
				c.named = append(c.named, manifest.ID{Kind: d.Kind, Name: d.Name})
			}
			continue
		}
		c.targeted, c.targets = append(c.targeted, p.Patch), append(c.targets, p.target)
	}
	return c, nil
}

// names reports whether a patch without a target may be of an object.
func (c *changes) names(o manifest.Object) bool {
	return slices.Contains(c.named, manifest.ID{Kind: o.GetKind(), Name: o.GetName()})
}

// selects reports whether the target of a patch may select an object.
func (c *changes) selects(o manifest.Object) bool {
	gvk := gvkOf(o.GroupVersionKind())
	return slices.ContainsFunc(c.targets, func(target *selector) bool {
		return target.MatchGvk(gvk) && target.MatchName(o.GetName())
	})
}

// overrideSelected overrides objects that only targets select, some at a time.
func (c *changes) overrideSelected(objects []manifest.Object) ([]manifest.Object, error) {
	component := c.component
	component.Patches = c.targeted
	content, err := yaml.Marshal(component.Kustomization)
	if err != nil {
		return nil, err
	}
	fs := c.fs.With(map[string][]byte{component.File: content})
	chunks := slices.Collect(slices.Chunk(objects, partSize))
	return buildConcurrently(len(chunks), func(i int) ([]manifest.Object, error) {
		return overrideObjects(fs, &component, chunks[i])
	})
}

// withWritten gives overridden objects what the rendered objects of the same IDs were
// rendered from.
func withWritten(overridden, rendered []manifest.Object) []manifest.Object {
	before := map[manifest.ID]manifest.Object{}
	for _, o := range rendered {
		before[o.ID()] = o
	}
	for i, o := range overridden {
		overridden[i].Written, overridden[i].Origin = before[o.ID()].Written, before[o.ID()].Origin
	}
	return overridden
}
