package source

import (
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/manifest"
)

// load is an entry of a kustomization that loads a file of objects, or a folder.
type load struct {
	by    *Kustomization
	from  loadField
	line  int
	path  string
	isDir bool

	// isConfig marks objects that configure generators, transformers or validators and are not
	// built, also in the folders that these load.
	isConfig bool
}

// list returns the name of the list of loaded objects that kustomize adds to. It refuses two
// objects with one ID there.
func (l load) list() string {
	if l.from.name == "bases" {
		return l.by.Folder + " resources"
	}
	return l.by.Folder + " " + l.from.name
}

// addLoad adds an entry, unless its list has the same path already.
func (r folderReader) addLoad(l load) {
	isSame := func(other load) bool { return other.path == l.path && other.list() == l.list() }
	if l.from.is != loadFolder && slices.ContainsFunc(r.loads, isSame) {
		r.problems.add(r.File, l.line, "%s is listed twice: remove one", Relative(l.path))
		return
	}
	r.loads = append(r.loads, l)
}

// checkKinds reports components that are loaded as kustomizations, and the reverse.
func checkKinds(loads []load, kustomizations map[string]*Kustomization) (found problems) {
	for _, l := range loads {
		k := kustomizations[l.path]
		switch isComponent := k != nil && k.Kind == types.ComponentKind; {
		case k == nil || k.Kind == "": // it has problems
		case isComponent && l.from.is != loadFolder:
			found.add(l.by.File, l.line, "%s is a Component: list it under components", Relative(l.path))
		case !isComponent && l.from.is == loadFolder:
			found.add(l.by.File, l.line, "%s is no Component: list it under resources, or write kind: Component there",
				Relative(l.path))
		}
	}
	return found
}

// checkConfigs reports problems of the generators, transformers and validators in files.
func checkConfigs(loads []load, documents map[string][]Document) (absent []Absent, found problems) {
	for _, l := range loads {
		if l.isConfig && !l.isDir {
			for _, d := range documents[l.path] {
				plugins, problems := checkConfig(d)
				absent = append(absent, plugins...)
				found = append(found, problems...)
			}
		}
	}
	return absent, found
}

func checkConfig(config Document) (absent []Absent, found problems) {
	switch {
	case config.Kind == "":
	case config.APIVersion != "builtin":
		absent = append(absent, absentPlugin(config))
	case config.Kind == "HelmChartInflationGenerator":
		found.add(config.File, config.Line(), "%s: list the chart under helmCharts of the kustomization", config.ID)
	}
	return absent, found
}

// checkDuplicates reports objects that a list has twice. Two kustomizations may each load an object
// of one ID, as they may rename them.
func checkDuplicates(loads []load, documents map[string][]Document) (found []manifest.Problem) {
	type inList struct {
		list string
		id   manifest.ID
	}
	first := map[inList]Document{}
	for _, l := range loads {
		if l.isDir {
			continue
		}
		list := l.list()
		for _, d := range documents[l.path] {
			if other, ok := first[inList{list, d.ID}]; ok && d.Name != "" {
				found = append(found, DuplicateProblem(d, other))
			} else {
				first[inList{list, d.ID}] = d
			}
		}
	}
	return found
}

// DuplicateProblem returns the problem of a document with the object of another document.
func DuplicateProblem(d, other Document) manifest.Problem {
	p := manifest.Duplicate(position(other.File, other.Line()))
	p.File, p.Line = d.Position()
	p.Object = d.String()
	return p
}

func position(file string, line int) string {
	return manifest.Problem{File: Relative(file), Line: line}.Position()
}

// Fork returns the path at which an object of a file comes into the environment several times, and the
// positions of the entries that load it.
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
		path = by[0].by.Folder // no folder loads itself
	}
}

// checkLoads reports a folder that loads itself.
func checkLoads(roots []string, s *Sources) (found problems) {
	byFolder := map[string][]load{}
	for _, l := range s.loads {
		byFolder[l.by.Folder] = append(byFolder[l.by.Folder], l)
	}
	var open []string // the folders from the root to the current one
	isLoaded := map[string]bool{}
	var follow func(folder string) (ends bool)
	follow = func(folder string) bool {
		isLoaded[folder] = true
		open = append(open, folder)
		for _, l := range byFolder[folder] {
			isWithin := func(folder string) bool {
				return strings.HasPrefix(folder+"/", strings.TrimSuffix(l.path, "/")+"/")
			}
			if slices.ContainsFunc(open, isWithin) {
				found.add(l.by.File, l.line,
					"%s is, or contains, a folder that leads here: remove this entry, or one on the way",
					Relative(l.path))
				return false
			}
			if l.isDir && !isLoaded[l.path] && !follow(l.path) {
				return false
			}
		}
		open = open[:len(open)-1]
		return true
	}
	for _, root := range roots {
		if !follow(root) {
			break
		}
	}
	return found
}
