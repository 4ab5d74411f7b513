package source

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
)

// load is a file of objects, or a folder, that a kustomization loads.
type load struct {
	by    *Kustomization
	from  loads
	line  int
	path  string
	isDir bool

	// configures is the kustomization that the objects configure generators, transformers
	// or validators of; nil where they are objects to build.
	configures *Kustomization
}

// listed is something in a list of a kustomization.
type listed struct{ accumulator, path string }

// accumulator is where kustomize puts the objects of a load with those of others: it takes
// no two of one name there.
func (l load) accumulator() string {
	if l.from.field == "bases" {
		return l.by.Folder + " resources"
	}
	return l.by.Folder + " " + l.from.field
}

func (l load) position() string { return fmt.Sprintf("%s:%d", Relative(l.by.File), l.line) }

// walkLoad follows a load, and says whether kustomize can.
func (s *Sources) walkLoad(l load) bool {
	entry := listed{l.accumulator(), l.path}
	if l.from.is != loadFolder && s.isLoaded[entry] {
		s.problem(l.by.File, l.line, "%s is listed twice: remove one", Relative(l.path))
		return false
	}
	s.isLoaded[entry] = true
	if !l.isDir {
		s.loads = append(s.loads, l)
		if !s.isManifest[l.path] {
			s.isManifest[l.path] = true
			s.Manifests = append(s.Manifests, &Manifest{File: l.path})
		}
		return true
	}
	s.loading = append(s.loading, l)
	defer func() { s.loading = s.loading[:len(s.loading)-1] }()
	if s.isCycle(l) || !s.walk(l.path) || !s.isOfKind(l) {
		return false
	}
	s.loads = append(s.loads, l)
	return true
}

// configured is the kustomization that a load of another, or what leads to that,
// configures; nil where it builds objects.
func (s *Sources) configured(by *Kustomization, from loads) *Kustomization {
	for _, l := range s.loading {
		if l.configures != nil {
			return l.configures
		}
	}
	if from.is == loadConfig {
		return by
	}
	return nil
}

// isCycle notes a load of a folder that is, or has in it, one that the load comes from.
func (s *Sources) isCycle(l load) bool {
	for i, other := range s.loading {
		if folder := other.by.Folder; folder != l.path && !strings.HasPrefix(folder, strings.TrimSuffix(l.path, "/")+"/") {
			continue
		}
		var chain strings.Builder
		for _, step := range s.loading[i:] {
			fmt.Fprintf(&chain, "%s (%s) loads ", Relative(step.by.Folder), step.position())
		}
		what := "which it comes from"
		if s.loading[i].by.Folder != l.path {
			what = "which has it in it"
		}
		s.problem(l.by.File, l.line, "%s%s, %s: remove one of these", chain.String(), Relative(l.path), what)
		return true
	}
	return false
}

// isOfKind says whether what a folder has, a component or not, is what its load wants.
func (s *Sources) isOfKind(l load) bool {
	kind := s.Kustomizations[l.path].Kind
	isComponent := kind == types.ComponentKind
	switch {
	case kind == "": // it has problems
		return true
	case isComponent && l.from.is != loadFolder:
		s.problem(l.by.File, l.line, "%s is a Component: list it under components", Relative(l.path))
	case !isComponent && l.from.is == loadFolder:
		s.problem(l.by.File, l.line, "%s is no Component: list it under resources, or write kind: Component there", Relative(l.path))
	default:
		return true
	}
	return false
}

// maxCopies is how many objects may come of loading some again, and how often a folder may
// be loaded.
const maxCopies = 5_000

// countLoads notes folders that are loaded more often than kustomize can, as where each of
// many loads the next twice, and says whether there are none.
func (s *Sources) countLoads(root string) bool {
	loaders := map[string][]load{}
	for _, l := range s.loads {
		loaders[l.path] = append(loaders[l.path], l)
	}
	times := map[string]int{root: 1}
	var timesOf func(folder string) int
	timesOf = func(folder string) int {
		if n, known := times[folder]; known {
			return n
		}
		n := 0
		for _, l := range loaders[folder] {
			n = min(n+timesOf(l.by.Folder), 1<<40)
		}
		times[folder] = n
		return n
	}
	copies := 0
	for _, l := range s.loads { // in the order of the walk: the folders that are loaded by others come first
		if n := timesOf(l.path); l.isDir && n > maxCopies {
			s.problem(l.by.File, l.line, "%s would be loaded %d times: what loads it is loaded by several, again and again; load each folder once", Relative(l.path), n)
			return false
		}
	}
	for _, m := range s.Manifests {
		copies += max(timesOf(m.File)-1, 0) * len(m.Texts)
		if copies > maxCopies {
			l := loaders[m.File][0]
			s.problem(l.by.File, l.line, "%s would be loaded %d times: over %d objects would be copies of others; write folders that are loaded less often, or with fewer objects",
				Relative(m.File), timesOf(m.File), maxCopies)
			return false
		}
	}
	return true
}

// holdsDots says whether a name in a path has dots that kustomize takes for a mistake.
func holdsDots(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return part != ".." && strings.Contains(part, "..") })
}
