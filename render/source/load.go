package source

import (
	"slices"

	"sigs.k8s.io/kustomize/api/types"
)

// load is an entry of a kustomization that loads a file of objects, or a folder.
type load struct {
	by    *Kustomization
	from  loads
	line  int
	path  string
	isDir bool

	// isConfig is set where the objects configure generators, transformers or validators,
	// and are not built: of such a field, and in folders that one loads.
	isConfig bool
}

// list returns the name of the list of objects that kustomize adds those of the load to. It
// takes no two of one ID there.
func (l load) list() string {
	if l.from.field == "bases" {
		return l.by.Folder + " resources"
	}
	return l.by.Folder + " " + l.from.field
}

// listed is a path in a list of objects.
type listed struct{ list, path string }

// followLoad reads the kustomization that an entry loads, or notes the manifest.
func (s *Sources) followLoad(l load) {
	entry := listed{l.list(), l.path}
	if s.isListed[entry] && l.from.is != loadFolder {
		s.report(l.by.File, l.line, "%s is listed twice: remove one", Relative(l.path))
		return
	}
	s.isListed[entry] = true
	if l.isDir {
		outer := s.isInConfig
		s.isInConfig = l.isConfig
		s.walk(l.path)
		s.isInConfig = outer
		s.checkKind(l)
	} else if _, isKnown := s.documents[l.path]; !isKnown {
		s.documents[l.path] = nil
		s.Manifests = append(s.Manifests, &Manifest{File: l.path})
	}
	s.loads = append(s.loads, l)
}

// checkKind reports a component that is loaded as a kustomization, or the reverse.
func (s *Sources) checkKind(l load) {
	k := s.Kustomizations[l.path]
	switch isComponent := k != nil && k.Kind == types.ComponentKind; {
	case k == nil || k.Kind == "": // it has problems
	case isComponent && l.from.is != loadFolder:
		s.report(l.by.File, l.line, "%s is a Component: list it under components", Relative(l.path))
	case !isComponent && l.from.is == loadFolder:
		s.report(l.by.File, l.line, "%s is no Component: list it under resources, or write kind: Component there", Relative(l.path))
	}
}

// Fork returns the positions of the entries that load a file or what loads it, where those
// are several: an object that is written once, and is there twice, comes by these.
func (s *Sources) Fork(file string) (path string, positions []string) {
	for path = file; ; {
		var by []load
		for _, l := range s.loads {
			if l.path == path && !l.isConfig {
				by = append(by, l)
			}
		}
		if len(by) != 1 {
			for _, l := range by {
				positions = append(positions, position(l.by.File, l.line))
			}
			slices.Sort(positions)
			return Relative(path), positions
		}
		path = by[0].by.Folder // nothing loads itself
	}
}
