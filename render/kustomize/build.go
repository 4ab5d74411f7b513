package kustomize

import (
	"errors"
	"os"

	"sigs.k8s.io/kustomize/api/resmap"

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

// FindPaths finds the build paths of all objects in the build of a folder.
func FindPaths(s *source.Sources, folder string) *Paths { return buildpath.Find(s, folder) }

// Build builds the folder of the paths. The memo keeps the objects, so they must not be changed.
func Build(paths *Paths, m *memo.Memo) (objects []manifest.Object, problems []manifest.Problem) {
	k := paths.Loaded[paths.Folder]
	var err error
	isolate(paths.Sources, func() { objects, err = buildObjects(paths, m) })
	switch {
	case err != nil:
		p := kustomizeProblem(paths.Sources, k.File, err)
		switch {
		case isDuplicate.MatchString(err.Error()):
			p = explainCollision(paths, p)
		case isUnmatched.MatchString(err.Error()):
			for folder, candidates := range candidatesByFolder(paths, nil) {
				problems = append(problems, unmatchedDocuments(paths.Patches[folder], candidates)...)
			}
		}
		if len(problems) == 0 {
			problems = []manifest.Problem{p}
		}
		return nil, problems
	case len(objects) == 0:
		return nil, []manifest.Problem{{File: source.Relative(k.File), Message: "builds to nothing: list resources"}}
	}
	for i, o := range objects {
		if path := paths.Find(o); path != nil {
			objects[i].Origin = source.Relative(path.Document.File)
		}
	}
	return objects, nil
}

// Output returns the text that `kustomize build` prints for a folder.
func Output(s *source.Sources, folder string) (output []byte, err error) {
	isolate(s, func() {
		defer mute()()
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
	return buildFolder(paths.Sources.FS, paths.Folder)
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
