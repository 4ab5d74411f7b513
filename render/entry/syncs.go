package entry

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/delivery/applicationset"
	"example.com/gatehouse/render/delivery/artifact"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/delivery/resourceset"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/source/text"
)

// sync is an object that delivers.
type sync struct {
	manifest.ID
	file    string
	cluster string // that gets the objects; empty for the one that has the object
	isFlux  bool
	places  []place
	made    []sync // of a set
	// source is the kind and name of the source of Flux that has the places.
	source manifest.ID
	// artifact is the artifact that has the places, if it is one, at the paths within.
	artifact manifest.ID
	within   []string
	// instance is the folder that Flux syncs its cluster by, of an object that installs Flux; "." without.
	instance string
}

// place is a folder that a tool reads for a sync.
type place struct {
	path        string // from the root, perhaps a pattern
	isDirectory bool   // of Argo CD, see spec.source.directory
	isComponent bool   // of Flux, see spec.components
	application.Directory
}

// bootstrapped is the name of the Kustomization and the source that flux bootstrap makes.
const bootstrapped = "flux-system"

var (
	// mayDeliver matches the version of an object that may deliver. It saves to parse all other files.
	mayDeliver = regexp.MustCompile(`apiVersion["']?\s*:\s*["']?(?:argoproj\.io|[a-z.]*fluxcd[a-z.]*)/`)

	// delivers matches the kind of an object that delivers.
	delivers = regexp.MustCompile(`(?m)^\s*kind["']?\s*:\s*["']?(?:Application(?:Set)?|Kustomization|HelmRelease|` +
		`FluxInstance|ResourceSet)\b`)

	// variable matches the variables of charts, generators, inputs and Flux in a name.
	variable = regexp.MustCompile(`\{\{.*?\}\}|<<.*?>>|\$\{.*?\}`)

	// hasApps matches the dependency of a chart whose templates are the Applications in its values.
	hasApps = regexp.MustCompile(`(?m)^\s*(?:-\s*)?name\s*:\s*["']?argocd-apps["']?\s*$`)

	// templatePath matches a path in a template of a chart.
	templatePath = regexp.MustCompile(`(?m)^[\s-]*path:[ \t]*["']?([^"'#\s{]*(?:\{\{.*?\}\}[^"'#\s{]*)*)`)
)

// syncsIn returns the syncs in a file, or one of no object for a file that is no YAML. A template of a manifest has no
// sync, nor has an object that was read from a cluster, nor a patch without a spec that no kustomization lists any
// more.
func (g *graph) syncsIn(file string, content []byte) (all []sync) {
	if !mayDeliver.Match(content) {
		return nil
	}
	for _, d := range source.Parse(file, content) {
		isLive := node.Text(d.Node(), "metadata", "uid") != ""
		// Argo CD leaves ${ alone.
		isTemplate := strings.Contains(node.Text(d.Node(), "spec", "source", "path"), "${")
		isPatch := node.Field(d.Node(), "spec") == nil
		if isLive || isTemplate || isPatch || variable.MatchString(d.Name) {
			continue
		}
		if s := g.syncOf(d, file); s != nil {
			all = append(all, *s)
		}
	}
	if len(all) == 0 && isMalformed(content) { // rendering reports the error
		all = []sync{{file: file, instance: "."}}
	}
	return all
}

// template matches the marks of programs that fill a template.
var template = regexp.MustCompile(`\{\{|\{%|%\{|<%|<<`)

// isMalformed reports whether an object that delivers is in a file that is no YAML, and no template of one.
func isMalformed(content []byte) bool {
	if !delivers.Match(content) || template.Match(content) {
		return false
	}
	return slices.ContainsFunc(text.Split(content), func(d text.Document) bool {
		_, err := d.Parse()
		return err != nil && delivers.Match(d.Content)
	})
}

// syncOf returns the sync of an object, or nil.
func (g *graph) syncOf(d source.Document, file string) *sync {
	s := &sync{ID: d.ID, file: file, instance: "."}
	spec := node.Field(d.Node(), "spec")
	switch s.Group + "/" + s.Kind {
	case "argoproj.io/Application":
		g.setApplication(s, spec)
		return s
	case "argoproj.io/ApplicationSet":
		g.setMade(s, d)
		return s
	case "kustomize.toolkit.fluxcd.io/Kustomization":
		name := path.Join(".", node.Text(spec, "path"))
		from := node.Field(spec, "sourceRef")
		s.places = g.placeIn(from, file, name)
		if node.Text(from, "kind") == "ExternalArtifact" {
			s.artifact = artifact.ID(cmp.Or(node.Text(from, "namespace"), s.Namespace), node.Text(from, "name"))
		}
		s.within = []string{name}
		s.source = manifest.ID{Kind: node.Text(from, "kind"), Name: node.Text(from, "name")}
		for _, components := range node.Fields(spec, "components") {
			for _, component := range node.Items(components) {
				s.places = append(s.places, place{path: path.Join(name, component.Value), isComponent: true})
				s.within = append(s.within, path.Join(name, component.Value))
			}
		}
	case "fluxcd.controlplane.io/FluxInstance":
		s.instance = path.Join(".", node.Text(spec, "sync", "path"))
	case "helm.toolkit.fluxcd.io/HelmRelease": // perhaps of the chart flux-instance
		s.instance = path.Join(".", node.Text(spec, "values", "instance", "sync", "path"))
		chart := node.Field(node.Field(spec, "chart"), "spec")
		if name := node.Text(chart, "chart"); name != "" && node.Text(chart, "sourceRef", "kind") != "HelmRepository" {
			s.places = []place{{path: path.Join(".", name)}}
		}
	case "fluxcd.controlplane.io/ResourceSet":
		g.setResources(s, d)
	case "source.toolkit.fluxcd.io/GitRepository":
		if node.Field(spec, "include") == nil {
			g.urls[manifest.ID{Kind: s.Kind, Name: s.Name}] = node.Text(spec, "url")
		}
		return nil
	case "source.extensions.fluxcd.io/ArtifactGenerator":
		if o, err := manifest.FromYAML(d.Node()); err == nil {
			g.generators = append(g.generators, generator{o, file})
		}
		return nil
	default:
		return nil
	}
	config := node.Field(spec, "kubeConfig")
	s.isFlux = true
	s.cluster = ClusterBy(s.Namespace, node.Text(config, "secretRef", "name"),
		node.Text(config, "configMapRef", "name"))
	return s
}

// leaveOthers takes the places of the Kustomizations whose source is another git repository: its folders may have the
// names of folders here. The most common source is this repository, perhaps by a former name.
func (g *graph) leaveOthers() {
	count := map[manifest.ID]int{}
	most := 0
	for _, s := range g.syncs {
		count[s.source]++
		if s.source.Name != "" {
			most = max(most, count[s.source])
		}
	}
	for _, s := range g.syncs {
		url := g.urls[s.source]
		isOther := g.origin.Unknown == "" && g.origin.Elsewhere(application.Source{RepoURL: url}) != ""
		if isOther && count[s.source] < most {
			s.places = nil
		}
	}
}

// placeIn returns the place of a path in a source of Flux. An artifact has a part of the repository. All of a source is
// all of the repository for the source that flux bootstrap makes; another one is mostly of another repository.
func (g *graph) placeIn(from *yaml.Node, file, name string) []place {
	kind := node.Text(from, "kind")
	within := folder.Resolve(g.files, kind, path.Dir(file), name)
	switch {
	case name == "." && node.Text(from, "name") != bootstrapped:
		return nil
	case g.folders[within] == nil && kind == "ExternalArtifact":
		within = "*/" + name
	}
	return []place{{path: within}}
}

// setApplication sets the cluster of an Application and its places in the tree.
func (g *graph) setApplication(s *sync, spec *yaml.Node) {
	to := node.Field(spec, "destination")
	s.cluster = ClusterOf(node.Text(to, "name"), node.Text(to, "server"))
	for _, from := range append(node.Items(node.Field(spec, "sources")), node.Field(spec, "source")) {
		directory := node.Field(from, "directory")
		isElsewhere := g.origin.Elsewhere(application.Source{RepoURL: node.Text(from, "repoURL")}) != ""
		if name := node.Text(from, "path"); name != "" && node.Text(from, "chart") == "" && !isElsewhere {
			s.places = append(s.places, place{path: path.Join(".", name), isDirectory: directory != nil,
				Directory: application.Directory{Recurse: node.Text(directory, "recurse") == "true",
					Include: node.Text(directory, "include"), Exclude: node.Text(directory, "exclude")}})
		}
	}
}

func (s *sync) isKustomization() bool { return s.isFlux && s.Kind == "Kustomization" }

// ClusterOf returns the name of the cluster of a destination of Argo CD, or nothing for the one that Argo CD is in. A
// name with variables may be any.
func ClusterOf(name, server string) string {
	_, host, _ := strings.Cut(server, "://")
	at := cmp.Or(name, strings.TrimSuffix(cmp.Or(host, server), "/"))
	if delivery.IsInCluster(name, server) || variable.MatchString(at) {
		return ""
	}
	return strings.ReplaceAll(at, "/", "-")
}

// ClusterBy returns the name of the cluster of spec.kubeConfig of an object of Flux, or nothing without one.
func ClusterBy(namespace, secret, configMap string) string {
	name := cmp.Or(secret, configMap)
	if name == "" || namespace == "" || variable.MatchString(name) {
		return name
	}
	return namespace + "." + name
}

// addMade adds an object that a set makes, if it delivers.
func (g *graph) addMade(s *sync, object any) {
	for _, d := range source.Parse(s.file, manifest.ToYAML(object)) {
		if made := g.syncOf(d, s.file); made != nil {
			s.made = append(s.made, *made)
		}
	}
}

// setResources sets the objects that a ResourceSet makes. With unknown inputs, the paths in its templates match any.
func (g *graph) setResources(s *sync, set source.Document) {
	o, err := manifest.FromYAML(set.Node())
	if err != nil {
		return
	}
	made, err := resourceset.Expand(o, resourceset.Alone{}) // an error where the set is delivered
	for _, each := range made.Objects {
		g.addMade(s, each.Object)
	}
	if err == nil && len(made.Unknown) == 0 {
		return
	}
	resources, _ := decoding.At(o.Object, []string{"spec", "resources"}).([]any)
	for _, resource := range resources {
		g.addMade(s, resource)
	}
}

// setMade sets the Applications that an ApplicationSet makes. Where they are unknown, it takes the paths in its
// template and its generators match.
func (g *graph) setMade(s *sync, set source.Document) {
	o, err := manifest.FromYAML(set.Node())
	if err == nil {
		known := g.known.Of(o)
		known.Origin = g.origin
		all, _ := applicationset.Expand(o, g, known) // an error where the set is delivered
		for _, u := range all {
			g.addMade(s, u.Object)
		}
	}
	if len(s.made) > 0 {
		return
	}
	spec := node.Field(set.Node(), "spec")
	template := node.Field(spec, "template")
	made := sync{file: s.file, instance: "."}
	g.setApplication(&made, node.Field(template, "spec"))
	if generators := node.Field(spec, "generators"); generators != nil {
		g.addFolders(&made, generators)
	}
	s.made = append(s.made, made)
}

// folderOfGit matches the parameter of a git generator that is a folder.
var folderOfGit = regexp.MustCompile(`^\{\{-? *(\.path\.)?path *-?\}\}$`)

// addFolders adds the folders that git generators may find to the places of the template. These stand for the parameter
// that has a found folder, unless a pattern has any number of folders.
func (g *graph) addFolders(made *sync, generators *yaml.Node) {
	foreign := g.foreign(generators)
	isFound, isDeep := false, false
	manifest.EachScalar(generators, nil, func(scalar *yaml.Node, keys []string, isKey bool) {
		if isKey || len(keys) == 0 || keys[len(keys)-1] != "path" {
			return
		}
		isFound = true
		isDeep = isDeep || strings.Contains(scalar.Value, "**")
		name := path.Join(".", scalar.Value)
		if slices.Contains(keys, "files") {
			name = path.Dir(name)
		}
		if !foreign[scalar] {
			made.places = append(made.places, place{path: name})
		}
	})
	if isFound && !isDeep {
		made.places = slices.DeleteFunc(made.places, func(p place) bool { return folderOfGit.MatchString(p.path) })
	}
}

// foreign returns the nodes of git generators that read another repository.
func (g *graph) foreign(generators *yaml.Node) map[*yaml.Node]bool {
	foreign := map[*yaml.Node]bool{}
	for n := range node.All(generators) {
		git := node.Field(n, "git")
		if git == nil || g.origin.Elsewhere(application.Source{RepoURL: node.Text(git, "repoURL")}) == "" {
			continue
		}
		for each := range node.All(git) {
			foreign[each] = true
		}
	}
	return foreign
}

// Below implements applicationset.Files.
func (g *graph) Below(folder string) []string { return g.files.Files(path.Join("/", folder)) }

// ReadFile implements applicationset.Files.
func (g *graph) ReadFile(name string) ([]byte, error) { return g.files.ReadAny("/" + name) }
