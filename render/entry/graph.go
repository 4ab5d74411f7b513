package entry

import (
	"bytes"
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/regular"
	"example.com/gatehouse/render/settings"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/watchdog"
)

// graph has the ways of deliveries in a repository: a folder to its files, a file to the objects in it that deliver,
// and these to the folders that a tool reads for them.
type graph struct {
	files   *source.FileSystem
	tree    source.Revision
	origin  application.Origin
	said    settings.Settings
	known   settings.Cluster // of any cluster
	listed  []listed
	folders map[string]*files
	syncs   []*sync
	in      map[string][]*sync     // by file
	objects map[string]bool        // files of nothing but objects
	loaded  map[string]bool        // files that kustomizations load, and not as objects
	off     map[string]bool        // files and folders that comments of kustomizations list
	paths   map[string][]string    // in the templates of a chart, by the folder of the chart
	urls    map[manifest.ID]string // of GitRepositories, by kind and name

	generators []generator

	leadsAnywhere bool // a path is a variable as a whole: it may lead to any kustomization
}

type listed struct {
	name  string
	isDir bool
}

// files are the files of a folder.
type files struct {
	names, folders []string
	isChart        bool
	isApart        bool // a chart in no other chart, with templates of objects that deliver
	isNone         bool // they are no manifests: they are of a chart, of tests or of templates
	isTemplate     bool // a program has to fill its kustomization
	isHidden       bool
	isComponent    bool
	isEmpty        bool // its kustomization makes nothing
	// kustomization is nil without one. It has the files and folders that it lists.
	kustomization []string
}

// isApplied reports whether a folder has a kustomization that makes objects by itself.
func (f *files) isApplied() bool {
	return f.kustomization != nil && !f.isComponent && !f.isEmpty && !f.isNone && !f.isHidden
}

// a vertex of the graph is a sync, a file, or a folder as a tool reads it.
type vertex struct {
	*sync
	file   string
	folder string
	isFlux bool
	// isPlain and the options are of a directory of Argo CD, and top is its path.
	isPlain bool
	application.Directory
	top string
}

// chartFolders are the folders of a chart.
var chartFolders = []string{"charts", "ci", "crds", "templates", "tests"}

// chartFile makes a folder a chart.
const chartFile = "Chart.yaml"

// fixtures are the folders with manifests of tests, and of other projects.
var fixtures = []string{"testdata", "fixtures", "tests", "e2e", "node_modules", "third_party", "vendor",
	"cue.mod"}

// newGraph reads each YAML file once, without rendered environments.
func newGraph(r Repository) *graph {
	g := &graph{files: r.Files, tree: r.Tree, origin: r.Origin, said: r.Settings, known: r.Settings.Anywhere(),
		folders: map[string]*files{}, in: map[string][]*sync{}, objects: map[string]bool{}, loaded: map[string]bool{},
		off:   map[string]bool{},
		paths: map[string][]string{}, urls: map[manifest.ID]string{}}
	g.list(".", files{})
	for _, f := range g.listed {
		if f.isDir || !source.IsYAML(f.name) && path.Ext(f.name) != ".json" {
			continue
		}
		if content, err := g.tree.ReadFile(f.name); err == nil { // rendering reports the error
			done := watchdog.Part(func() manifest.Problem { return manifest.Problem{File: f.name} })
			_ = g.read(f.name, content) // a panic is a problem where the object is delivered
			done()
		}
	}
	g.leaveOthers()
	g.setArtifacts()
	return g
}

// list adds the files of a folder and below it.
func (g *graph) list(at string, above files) {
	entries, _ := g.tree.ReadDir(at) // an unreadable folder has no files
	of := &files{isHidden: above.isHidden, isNone: above.isNone}
	g.folders[at] = of
	isRendered := at == "."
	for _, e := range entries {
		of.isChart = of.isChart || e.Name() == chartFile
		isRendered = isRendered || e.Name() == tree.EnvironmentsFolder // also of another repository, within this one
	}
	for _, e := range entries {
		name := path.Join(at, e.Name())
		isHidden := of.isHidden || strings.HasPrefix(e.Name(), ".")
		switch {
		case regular.IsGit(e.Name()), e.Name() == tree.Folder && isRendered:
		case e.IsDir():
			g.listed = append(g.listed, listed{name, true})
			of.folders = append(of.folders, name)
			isNone := of.isNone || slices.Contains(fixtures, e.Name()) ||
				of.isChart && slices.Contains(chartFolders, e.Name())
			g.list(name, files{isHidden: isHidden, isNone: isNone})
		case e.Type().IsRegular():
			g.listed = append(g.listed, listed{name, false})
			of.names = append(of.names, name)
		}
	}
	of.isNone = of.isNone || of.isChart
}

// startsObject matches the first line of an object.
var startsObject = regexp.MustCompile(`(?m)^(?:\{\s*)?["']?(?:apiVersion|kind|metadata)["']?\s*:`)

// isObject reports whether a file has objects, and no templates: a tool that takes only objects reads it.
func isObject(content []byte) bool {
	for _, word := range []string{"apiVersion", "kind", "metadata"} {
		if !bytes.Contains(content, []byte(word)) {
			return false
		}
	}
	return startsObject.Match(content) && !bytes.Contains(content, []byte("{{")) &&
		!bytes.Contains(content, []byte(application.SkipMarker))
}

// read reads a file of YAML.
func (g *graph) read(name string, content []byte) (err error) {
	defer fault.Catch(&err)
	within := path.Dir(name)
	of := g.folders[within]
	if slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name)) {
		g.readKustomization(within, content)
		return nil
	}
	if of.isChart && path.Base(name) == chartFile && hasApps.Match(content) {
		of.isApart = !of.isHidden && !g.isPart(within)
	}
	if chart := g.chartOf(within); chart != "" {
		isApart := mayDeliver.Match(content) && delivers.Match(content) && !of.isHidden && !g.isPart(chart)
		g.folders[chart].isApart = g.folders[chart].isApart || isApart
		for _, match := range templatePath.FindAllSubmatch(content, -1) {
			g.paths[chart] = append(g.paths[chart], path.Join(".", string(match[1])))
		}
		return nil
	}
	if of.isNone {
		return nil
	}
	for _, s := range g.syncsIn(name, content) {
		g.in[name] = append(g.in[name], &s)
	}
	g.syncs = append(g.syncs, g.in[name]...)
	g.objects[name] = isObject(content) || g.in[name] != nil && !bytes.Contains(content, []byte(application.SkipMarker))
	return nil
}

// isPart reports whether a chart is in another one, or among the manifests of tests.
func (g *graph) isPart(chart string) bool {
	above := g.folders[path.Dir(chart)]
	return chart != "." && (above.isNone || slices.Contains(fixtures, path.Base(chart)))
}

// chartOf returns the folder of the chart that a folder has templates of, or nothing.
func (g *graph) chartOf(within string) string {
	for at := within; at != "."; at = path.Dir(at) {
		if path.Base(at) == "templates" && g.folders[path.Dir(at)].isChart {
			return path.Dir(at)
		}
	}
	return ""
}

// makers are the fields of a kustomization that make objects.
var makers = []string{"resources", "bases", "components", "generators", "configMapGenerator", "secretGenerator",
	"helmCharts", "helmChartInflationGenerator"}

func makesObjects(kustomization *yaml.Node) bool {
	return slices.ContainsFunc(makers, func(field string) bool {
		return slices.ContainsFunc(node.Fields(kustomization, field), func(list *yaml.Node) bool {
			return !node.IsNull(list) && len(node.Items(list)) > 0
		})
	})
}

// isUnfilled reports whether a kustomization with a {{ has to be filled by a program: it is no YAML, or has the {{ in a
// field other than the texts of objects.
func isUnfilled(documents []source.Document) (is bool) {
	texts := []string{"configMapGenerator", "secretGenerator", "patches", "patchesStrategicMerge", "patchesJson6902"}
	for _, d := range documents {
		for n := range node.All(d.Node()) {
			is = is || n.Kind == yaml.MappingNode && len(n.Content) > 0 && n.Content[0].Kind == yaml.MappingNode
		}
		manifest.EachScalar(d.Node(), nil, func(scalar *yaml.Node, keys []string, _ bool) {
			is = is || strings.Contains(scalar.Value, "{{") && !slices.Contains(texts, keys[0])
		})
	}
	return is || len(documents) == 0
}

// switchedOff matches an item of a list in a comment.
var switchedOff = regexp.MustCompile(`(?m)^\s*#[\s#]*-\s+["']?([^\s"'#]+)["']?[ \t]*(?:[ \t]#.*)?$`)

func (g *graph) readKustomization(within string, content []byte) {
	of := g.folders[within]
	for _, match := range switchedOff.FindAllSubmatch(content, -1) {
		g.off[path.Join(within, string(match[1]))] = true
	}
	documents := source.ParseKustomization(within, content)
	if bytes.Contains(content, []byte("{{")) && isUnfilled(documents) {
		of.isTemplate = true
		of.isNone = true
		return
	}
	of.kustomization = []string{}
	for _, d := range documents {
		of.isComponent = of.isComponent || d.Kind == types.ComponentKind
		of.isEmpty = !makesObjects(d.Node())
		resources, others := source.Loads(d.Node())
		for _, name := range resources {
			of.kustomization = append(of.kustomization, path.Join(within, name))
		}
		for _, name := range others {
			g.loaded[path.Join(within, name)] = true
		}
		home := cmp.Or(node.Text(node.Field(d.Node(), "helmGlobals"), "chartHome"), types.HelmDefaultHome)
		for _, chart := range node.Items(node.Field(d.Node(), "helmCharts")) {
			g.loaded[path.Join(within, node.Text(chart, "valuesFile"))] = true
			if at := path.Join(within, home, node.Text(chart, "name")); g.folders[at] != nil {
				of.kustomization = append(of.kustomization, at)
			}
		}
	}
}

// isTemplate reports whether a kustomization, or a listed one, is a template.
func (g *graph) isTemplate(folder string) bool {
	seen := map[string]bool{}
	var visit func(folder string) bool
	visit = func(folder string) bool {
		of := g.folders[folder]
		if of == nil || seen[folder] {
			return false
		}
		seen[folder] = true
		return of.isTemplate || slices.ContainsFunc(of.kustomization, visit)
	}
	return visit(folder)
}

// next returns the next vertices of a vertex.
func (g *graph) next(v vertex) (all []vertex) {
	switch {
	case v.sync != nil:
		for i := range v.made {
			all = append(all, vertex{sync: &v.made[i]})
		}
		for _, p := range v.places {
			for _, folder := range g.matching(p.path) {
				if of := g.folders[folder]; p.isComponent && (of == nil || !of.isComponent) {
					continue
				}
				all = append(all, g.at(vertex{folder: folder, isFlux: v.sync.isFlux, isPlain: p.isDirectory,
					Directory: p.Directory, top: folder}))
			}
		}
	case v.file != "":
		for _, s := range g.in[v.file] {
			all = append(all, vertex{sync: s})
		}
	case g.folders[v.folder] != nil:
		all = g.nextOf(v, g.folders[v.folder])
	}
	return all
}

// at returns the one vertex of a folder with a kustomization or chart, however a tool comes to it.
func (g *graph) at(v vertex) vertex {
	of := g.folders[v.folder]
	if of != nil && (of.kustomization != nil || of.isChart) && !v.isPlain {
		return vertex{folder: v.folder}
	}
	return v
}

// nextOf returns the next vertices of a folder, as a tool reads it.
func (g *graph) nextOf(v vertex, of *files) (all []vertex) {
	switch {
	case of.kustomization != nil && !v.isPlain:
		for _, name := range of.kustomization {
			if g.folders[name] != nil {
				all = append(all, vertex{folder: name})
			} else {
				all = append(all, vertex{file: name})
			}
		}
	case of.isChart && !v.isPlain:
		for _, name := range g.paths[v.folder] {
			for _, folder := range g.matching(name) {
				all = append(all, g.at(vertex{folder: folder}))
			}
		}
	default:
		all = g.nextOfPlain(v, of)
	}
	return all
}

// nextOfPlain returns the next vertices of a folder without a kustomization or chart: YAML for Flux, objects for Argo
// CD.
func (g *graph) nextOfPlain(v vertex, of *files) (all []vertex) {
	for _, name := range of.names {
		within := strings.TrimPrefix(strings.TrimPrefix(name, v.top), "/")
		if v.isFlux && source.IsYAML(name) || !v.isFlux && g.objects[name] && v.Takes(within) {
			all = append(all, vertex{file: name})
		}
	}
	for _, name := range of.folders {
		if v.isFlux || v.Recurse {
			below := v
			below.folder = name
			below.isPlain = !v.isFlux
			all = append(all, g.at(below))
		}
	}
	return all
}

// matching returns the folders that a path with variables or patterns may stand for, if it has more than these.
func (g *graph) matching(name string) (names []string) {
	pattern := variable.ReplaceAllString(name, "*")
	switch {
	case !strings.Contains(pattern, "*"):
		return []string{name}
	case strings.Trim(pattern, "*/.") == "" && pattern != name:
		g.leadsAnywhere = true
		return nil
	}
	for _, f := range g.listed {
		if isMatch, err := path.Match(pattern, f.name); f.isDir && isMatch && err == nil {
			names = append(names, f.name)
		}
	}
	return names
}
