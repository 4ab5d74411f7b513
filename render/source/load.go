package source

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/object"
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

func (l load) position() string {
	return object.Problem{File: Relative(l.by.File), Line: l.line}.Position()
}

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

const (
	// How often a folder may be loaded is bounded by freeLoads and by the number of
	// kustomizations: each of them may load it twice.
	freeLoads         = 1_500
	loadsOfEachFolder = 2

	// What comes of loading again is bounded by freeSteps and by the number of
	// kustomizations: each object takes a step through each folder on its way out.
	freeSteps         = 10_000
	stepsOfEachFolder = 30
)

// ways are how a file or folder is loaded from the outermost folder.
type ways struct{ count, steps int }

// waysOf returns a function that counts the ways to a file or folder.
func (s *Sources) waysOf(root string) func(path string) ways {
	loaders := map[string][]*Kustomization{}
	for _, l := range s.loads {
		loaders[l.path] = append(loaders[l.path], l.by)
	}
	known := map[string]ways{root: {count: 1}}
	var waysTo func(path string) ways
	waysTo = func(path string) ways {
		if w, ok := known[path]; ok {
			return w
		}
		const many = 1 << 40
		w := ways{}
		for _, by := range loaders[path] {
			to := waysTo(by.Folder)
			w = ways{min(w.count+to.count, many), min(w.steps+to.steps+to.count, many)}
		}
		known[path] = w
		return w
	}
	return waysTo
}

// isLoadedTooOften notes what is loaded more often than kustomize can in good time, as
// where each of many folders loads the next two.
func (s *Sources) isLoadedTooOften(root string) bool {
	waysTo := s.waysOf(root)
	maxLoads := freeLoads + loadsOfEachFolder*len(s.Kustomizations)
	maxSteps := freeSteps + stepsOfEachFolder*len(s.Kustomizations)
	texts := map[string]int{}
	for _, m := range s.Manifests {
		texts[m.File] = len(m.Texts)
	}
	for _, l := range s.loads {
		if to := waysTo(l.path); l.isDir && to.count > maxLoads {
			s.problem(l.by.File, l.line, "%s would be loaded %d times, as what loads it is loaded again and again: load each folder once", Relative(l.path), to.count)
			return true
		}
	}
	steps := 0
	for _, l := range s.loads {
		to := waysTo(l.path)
		if to.count > 1 {
			steps += to.steps * texts[l.path]
			texts[l.path] = 0
		}
		if steps > maxSteps {
			s.problem(l.by.File, l.line, "%s would be loaded %d times, and too many objects would be copies of others: load its folder less often, or have fewer objects in it", Relative(l.path), to.count)
			return true
		}
	}
	return false
}

// holdsDots says whether a name in a path has dots that kustomize takes for a mistake.
func holdsDots(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return part != ".." && strings.Contains(part, "..") })
}

// Fork returns the positions of the entries that load a file or what loads it, where those
// are several: an object that is written once, and is there twice, comes by these.
func (s *Sources) Fork(file string) (path string, positions []string) {
	seen := map[string]bool{}
	for path = file; !seen[path]; {
		seen[path] = true
		var by []load
		for _, l := range s.loads {
			if l.path == path && l.configures == nil {
				by = append(by, l)
			}
		}
		if len(by) != 1 {
			for _, l := range by {
				positions = append(positions, l.position())
			}
			break
		}
		path = by[0].by.Folder
	}
	slices.Sort(positions)
	return Relative(path), positions
}
