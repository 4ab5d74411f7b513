package kustomize

import (
	"errors"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/kustomize/parts"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source"
)

// Path is the build path of an object.
type Path = buildpath.Path

// Paths has the build paths of all objects of an environment.
type Paths = buildpath.Paths

// NamedID is the ID of an object as kustomize compares it.
type NamedID = buildpath.NamedID

// IDOf returns the ID of a built object.
func IDOf(o manifest.Object) NamedID { return buildpath.IDOf(o) }

// FindPaths finds the build paths of all objects in the build of a folder.
func FindPaths(s *source.Sources, folder string) *Paths { return buildpath.Find(s, folder) }

// Build builds the folder of the paths. The memo keeps the objects, so they must not be changed.
func Build(paths *Paths, m *memo.Memo) (objects []manifest.Object, problems []manifest.Problem) {
	if paths.IsDirectory {
		return readDirectory(paths)
	}
	k := paths.Loaded[paths.Folder]
	var err error
	isolate(paths.Sources, func() {
		objects, err = buildObjects(paths, m)
		if err != nil && isUnmatched.MatchString(err.Error()) && len(paths.Sources.Absent) > 0 {
			objects, err = buildFolder(withoutPatchesOfAbsent(paths), paths.Folder)
		}
	})
	switch {
	case err != nil:
		p := kustomizeProblem(paths.Sources, k.File, err)
		switch {
		case isDuplicate.MatchString(err.Error()):
			p = explainCollision(paths, p)
		case hasNoField.MatchString(p.Message):
			match := hasNoField.FindStringSubmatch(p.Message)
			p = explainOperation(paths, p, match[1], match[2])
		case isUnmatched.MatchString(err.Error()):
			candidates := candidatesByFolder(paths, nil)
			for folder := range paths.Loaded {
				problems = append(problems, unmatchedDocuments(paths.Patches[folder], candidates[folder])...)
			}
		}
		if len(problems) == 0 {
			problems = []manifest.Problem{p}
		}
		return nil, problems
	case len(objects) == 0:
		return nil, []manifest.Problem{deletesAll(paths)}
	}
	setOrigins(paths, objects)
	return objects, nil
}

func setOrigins(paths *Paths, objects []manifest.Object) {
	for i, o := range objects {
		if path := paths.Find(o); path != nil {
			objects[i].Origin = source.Relative(path.Document.File)
		}
	}
}

// LocalDefinitions returns the CustomResourceDefinitions that kustomize leaves out of built objects as local config:
// another tool installs them, and objects are judged by them.
func LocalDefinitions(paths *Paths, built []manifest.Object) (local []manifest.Object, problems []manifest.Problem) {
	isBuilt := map[buildpath.NamedID]bool{}
	for _, o := range built {
		isBuilt[buildpath.IDOf(o)] = true
	}
	var missing []*source.Tree
	for _, path := range paths.All {
		isDefinition := path.GVK.Group == definitions.Group && path.GVK.Kind == definitions.Kind
		if isDefinition && !isBuilt[buildpath.NamedID{Gvk: path.GVK, Identity: path.Last()}] {
			missing = append(missing, path.Document.Tree)
		}
	}
	if len(missing) == 0 {
		return nil, nil
	}
	var err error
	isolate(paths.Sources, func() { local, err = buildDefinitions(paths, missing) })
	if err != nil {
		return nil, []manifest.Problem{kustomizeProblem(paths.Sources, paths.Loaded[paths.Folder].File, err)}
	}
	local = slices.DeleteFunc(local, func(o manifest.Object) bool {
		return !crd.Is(o.Unstructured) || isBuilt[buildpath.IDOf(o)]
	})
	setOrigins(paths, local)
	return local, nil
}

// definitions selects the CustomResourceDefinitions that are local config.
var definitions = types.Selector{
	ResId:              resid.NewResId(resid.NewGvk("apiextensions.k8s.io", "", "CustomResourceDefinition"), ""),
	AnnotationSelector: konfig.IgnoredByKustomizeAnnotation + "," + konfig.IgnoredByKustomizeAnnotation + "!=false",
}

// buildDefinitions builds the objects of documents, with few other objects if possible.
func buildDefinitions(paths *Paths, documents []*source.Tree) ([]manifest.Object, error) {
	if d := parts.Of(paths, documents...); d != nil {
		if objects, err := d.Build(nil, buildWithDefinitions); err == nil {
			return objects, nil
		}
	}
	return buildWithDefinitions(paths.Sources.FS, paths.Folder)
}

// buildWithDefinitions builds a folder, and removes the annotation for local config from the definitions.
func buildWithDefinitions(fs *source.FileSystem, folder string) ([]manifest.Object, error) {
	annotation := strings.ReplaceAll(konfig.IgnoredByKustomizeAnnotation, "/", "~1")
	patch := `[{"op": "remove", "path": "/metadata/annotations/` + annotation + `"}]`
	k := types.Kustomization{Resources: []string{".." + folder},
		Patches: []types.Patch{{Patch: patch, Target: &definitions}}}
	return buildVirtual(fs, k, nil)
}

// Output returns the text that `kustomize build` prints for a folder.
func Output(s *source.Sources, folder string) (output []byte, err error) {
	isolate(s, func() {
		var resources resmap.ResMap
		if resources, err = run(s.FS, folder); err == nil {
			output, err = resources.AsYaml()
		}
	})
	return output, err
}

// maxRebuilt is the largest number of objects that are built again at once if a part fails. That build
// stops at the error that kustomize itself reports, but takes too long for more objects.
const maxRebuilt = 1000

// buildObjects builds a folder in parts if possible, and otherwise at once.
func buildObjects(paths *Paths, m *memo.Memo) ([]manifest.Object, error) {
	d := parts.Divide(paths, parts.Size)
	paths.Sources.ReleaseTrees()
	if d != nil && d.IsWorthwhile() {
		objects, err := d.Build(m, buildFolder)
		if err == nil || len(paths.All) > maxRebuilt && !errors.Is(err, parts.ErrOverlap) {
			return objects, err
		}
	}
	return buildOnce(m, paths.Sources.FS, paths.Folder)
}

// mute discards kustomize's warnings until unmute.
func mute() (unmute func()) {
	stderr := os.Stderr
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return func() {}
	}
	os.Stderr = null
	return func() {
		os.Stderr = stderr
		_ = null.Close()
	}
}
