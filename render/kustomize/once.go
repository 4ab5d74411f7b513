package kustomize

import (
	"crypto/sha256"
	"slices"
	"sync"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source"
)

// onceKey is the memo key of the builds of a folder with a kustomization.
type onceKey struct {
	folder        string
	kustomization [sha256.Size]byte
}

// builds are the builds of a folder that differ in other files.
type builds struct {
	sync.Mutex
	all []onceBuilt
}

// maxKept bounds the builds of a folder with one kustomization that are kept: two revisions have two at most.
const maxKept = 4

// onceBuilt are the objects of a build, and all that it saw.
type onceBuilt struct {
	looks   *source.Looks
	saw     [sha256.Size]byte
	objects []manifest.Object
}

// buildOnce builds a folder, unless the memo has a build that saw the same files: of another revision, or for another
// environment. The objects must not be changed.
func buildOnce(m *memo.Memo, files *source.FileSystem, folder string) ([]manifest.Object, error) {
	content, err := files.ReadAny(files.KustomizationFile(folder))
	if m == nil || err != nil {
		return buildFolder(files, folder)
	}
	of := memo.Get(m, onceKey{folder, sha256.Sum256(content)}, func() *builds { return &builds{} })
	of.Lock()
	defer of.Unlock()
	for _, built := range of.all {
		if apart, _ := files.Noting(); apart.Replay(built.looks) == built.saw {
			files.Replay(built.looks)
			return slices.Clone(built.objects), nil
		}
	}
	apart, looks := files.Noting()
	objects, err := buildFolder(apart, folder)
	if err != nil {
		return buildFolder(files, folder)
	}
	saw := files.Replay(looks)
	of.all = append(of.all, onceBuilt{looks, saw, slices.Clone(objects)})
	of.all = of.all[max(len(of.all)-maxKept, 0):]
	return objects, nil
}
