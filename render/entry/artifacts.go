package entry

import (
	"errors"
	"path"

	"example.com/gatehouse/render/delivery/artifact"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// generator is an ArtifactGenerator in a file.
type generator struct {
	manifest.Object
	file string
}

// made is an artifact, and the file of its generator.
type made struct {
	artifact.Files
	file string
}

// setArtifacts sets the places of the syncs of artifacts: where the repository has their files. Another repository may
// have the sources of a generator, too.
func (g *graph) setArtifacts() {
	if len(g.generators) == 0 {
		return
	}
	var names []string
	for _, f := range g.listed {
		if !f.isDir {
			names = append(names, f.name)
		}
	}
	whole := map[string]artifact.Files{} // by their top folder
	all := map[manifest.ID][]made{}
	for _, by := range g.generators {
		// An error is reported where the environment makes the artifacts.
		artifacts, _ := artifact.Generate(by.Object, func(id manifest.ID, copied []string) (artifact.Files, error) {
			if id.Kind != "GitRepository" && id.Kind != "OCIRepository" {
				return nil, errors.New("another source")
			}
			top := folder.TopOf(g.files, id.Kind, by.file, copied)
			if whole[top] == nil {
				whole[top] = artifact.FilesIn(top, names)
			}
			return whole[top], nil
		}, g.ReadFile)
		for name, files := range artifacts {
			id := artifact.ID(by.GetNamespace(), name)
			all[id] = append(all[id], made{files, by.file})
		}
	}
	for _, s := range g.syncs {
		s.setArtifacts(all)
	}
}

// setArtifacts sets the places of a sync, and of the syncs in it. Of the artifacts of a name, the one of a
// generator beside the sync is that of its cluster.
func (s *sync) setArtifacts(all map[manifest.ID][]made) {
	for i := range s.made {
		s.made[i].setArtifacts(all)
	}
	found := all[s.artifact]
	if len(found) == 0 {
		return
	}
	s.places = nil
	isNear := func(m made) bool { return path.Dir(m.file) == path.Dir(s.file) }
	hasNear := false
	for _, m := range found {
		hasNear = hasNear || isNear(m)
	}
	for _, m := range found {
		if !hasNear || isNear(m) {
			s.places = append(s.places, m.places(s.within)...)
		}
	}
}

// places returns the folders of the repository with the files of an artifact: those at some paths, if they are at the
// same paths in one folder, or else all, as one may load any other.
func (m made) places(paths []string) (all []place) {
	if root, isOne := m.Root(); isOne {
		for _, name := range paths {
			all = append(all, place{path: path.Join(source.Relative(root), name)})
		}
		return all
	}
	isThere := map[string]bool{}
	for _, link := range m.Files {
		for _, from := range link.From {
			if folder := path.Dir(from); !isThere[folder] {
				isThere[folder] = true
				all = append(all, place{path: folder})
			}
		}
	}
	return all
}
