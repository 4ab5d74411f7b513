package render

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/entry"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/settings"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/charts"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verdict"
	"example.com/gatehouse/render/verdict/apiserver"
)

// overridesFolder is the folder of the overrides in a repository environment: a component with
// patches of rendered objects.
const overridesFolder = "overrides"

// ClusterAnnotation is on the kustomization of an environment that is all of a cluster. Its value is the path of the
// folder that the cluster is synced from. What the deliveries in it bring is rendered below them.
const ClusterAnnotation = "gatehouse.example.com/cluster"

// RuntimeConfigAnnotation is on the kustomization of an environment whose cluster serves beta versions.
const RuntimeConfigAnnotation = apiserver.RuntimeConfigAnnotation

// common is what all deliveries of an environment share.
type common struct {
	targetCluster
	name    string
	home    string // the folder of the environment, from the root
	entry   string // see ClusterAnnotation, from the root; empty without the annotation
	kinds   *registry.Kinds
	memo    *memo.Memo
	shared  *memo.Memo // of all environments
	options LoadOptions
	from    entry.Entry
	known   settings.Cluster          // by the settings of the repository
	isEntry func(cluster string) bool // whether another cluster has an environment of its own
	// isBeside reports whether nothing delivers the folder, and the repository has clusters beside it.
	isBeside bool
}

// targetCluster is the cluster that an environment is for, by annotations of its kustomization.
type targetCluster struct {
	kubernetes    apiserver.Version // zero for the newest
	runtimeConfig apiserver.RuntimeConfig
	installed     string // the file that says kubernetes in place of an annotation, see installedBy
}

// input has the source files of a folder that a tool builds.
type input struct {
	*common
	folder    string // of the kustomization, from the root
	overrides string // the folder of overrides of an environment, from the root; empty without overrides
	sources   *source.Sources
}

// readEntry reads the source files of an environment and checks them as far as that is possible
// before kustomize builds them.
func readEntry(repository *Repository, name string, options LoadOptions) (root *Delivery, problems []manifest.Problem) {
	defer fault.Keep(&problems, PlaceOf(name))
	parallel.Ahead(func() { verdict.Prepare(repository.kinds) })
	parallel.Ahead(kustomize.LoadSchemas)
	files, noted := repository.fileSystem().Noting()
	c := &common{name: name, kinds: repository.kinds, memo: cmp.Or(repository.options.Memo, options.Memo),
		shared: cmp.Or(repository.options.Memo, repository.shared), options: options,
		known: repository.Settings().Of(name), isEntry: repository.hasCluster}
	in := &input{common: c}
	root = &Delivery{input: in, Looks: noted}
	c.from = repository.entryOf(name)
	c.isBeside = c.from.IsPlain() && slices.ContainsFunc(repository.found().all, entry.Entry.IsDelivered)
	folder, _, err := files.Resolve(folderOf(name))
	if err != nil {
		return root, []manifest.Problem{{Code: manifest.MissingEnvironment,
			File: source.Relative(folderOf(name)), Message: err.Error()}}
	}
	in.folder = folder
	c.home = folder
	folders := []string{}
	overrides := path.Join(folder, overridesFolder)
	switch {
	case c.from.IsChart:
		file := path.Join(folder, konfig.DefaultKustomizationFileName())
		files = files.With(map[string][]byte{file: []byte("resources: []\n")})
	case c.from.IsByHand():
		files = withResources(files, c.from)
	case IsFolder(name) && files.KustomizationFile(folder) == "": // Flux writes one
		files = withKustomization(files, folder)
	case files.Exists(overrides):
		if files.KustomizationFile(overrides) == "" {
			return root, []manifest.Problem{{Code: manifest.InvalidOverride,
				File:    path.Join(source.Relative(overrides), "kustomization.yaml"),
				Message: "does not exist: write one of kind Component"}}
		}
		in.overrides = overrides
		folders = append(folders, overrides)
	}
	if entry := repository.Entry(name); entry != "" {
		c.entry = path.Join("/", entry)
		files = withKustomization(files, c.entry)
	}
	in.sources = source.Read(c.memo, c.shared, files, c.kinds.KustomizeConfig(), c.clusterOf,
		definitionFolders(folder), folder, folders...)
	kubernetes := ""
	if options.By != nil {
		kubernetes = options.By.Kubernetes
	}
	c.targetCluster, root.postBuild, problems = readTargetCluster(in.sources, folder, kubernetes, c.known)
	if c.kubernetes == 0 && IsFolder(name) { // rendered files say what they were rendered for
		c.setInstalled(repository.installedBy(folder))
	}
	if !IsFolder(name) { // it is written
		problems = append(problems, in.sources.AbsentProblems()...)
	}
	return root, slices.Concat(problems, in.sources.Problems, in.sources.NumberProblems(), in.timeProblems())
}

// setInstalled sets the version of the cluster that files say, and the known ones of its beta versions.
func (c *targetCluster) setInstalled(by installed) {
	c.kubernetes = by.version
	c.installed = by.file
	if c.runtimeConfig == "" && by.version != 0 {
		c.runtimeConfig = by.version.KnownBetas(by.enabled)
	}
}

// absent returns the reasons why the objects of a folder are not all known, and whether none is.
func (in *input) absent() (reasons []string, isNoneKnown bool) {
	if in.sources == nil || !IsFolder(in.name) {
		return nil, false
	}
	return in.sources.AbsentReasons()
}

// PlaceOf returns the place of a fault in the work on an environment as a whole.
func PlaceOf(environment string) func() manifest.Problem {
	return func() manifest.Problem { return manifest.Problem{File: source.Relative(folderOf(environment))} }
}

// withKustomization returns files with the kustomization that Flux writes into a folder without one.
func withKustomization(files *source.FileSystem, folder string) *source.FileSystem {
	if files.KustomizationFile(folder) != "" {
		return files
	}
	resources := files.InArtifact("").Manifests(folder)
	if len(resources) == 0 { // spec.ignore of its source includes the folder again
		resources = files.Manifests(folder)
	}
	content := manifest.ToYAML(types.Kustomization{Resources: resources})
	return files.With(map[string][]byte{path.Join(folder, konfig.DefaultKustomizationFileName()): content})
}

// clusterOf returns the cluster that the charts of an environment with CustomResourceDefinitions are rendered for.
func (c *common) clusterOf(environment *source.Kustomization, definitions []manifest.Object) charts.Cluster {
	text, _ := annotationOf(environment, tree.KubernetesAnnotation)
	enabled, _ := annotationOf(environment, apiserver.RuntimeConfigAnnotation)
	served := release.Served(definitions)
	of := func(version apiserver.Version) charts.Cluster {
		return clusterAt(version, cmp.Or(enabled, c.known.RuntimeConfig), served)
	}
	version, err := apiserver.ParseVersion(cmp.Or(text, c.known.Kubernetes))
	if err == nil {
		return of(version)
	}
	cluster := of(apiserver.Newest) // an error is reported where it is read
	cluster.Others = []charts.Cluster{of(apiserver.Oldest)}
	return cluster
}

// clusterAt returns the cluster with a version of Kubernetes, with the apiVersions of its definitions.
func clusterAt(version apiserver.Version, enabled string, served []string) charts.Cluster {
	config, _ := version.ParseRuntimeConfig(enabled) // readRuntimeConfig reports the error
	cluster := charts.Cluster{Kubernetes: version.String() + ".0"}
	for _, kind := range version.Kinds() {
		if strings.Contains(kind.Version, "beta") && !config.Enables(kind.GroupVersion()) {
			continue
		}
		gv := kind.GroupVersion().String()
		cluster.APIVersions = append(cluster.APIVersions, gv, gv+"/"+kind.Kind)
	}
	slices.Sort(cluster.APIVersions)
	cluster.APIVersions = slices.Compact(cluster.APIVersions)
	cluster.APIVersions = append(cluster.APIVersions, served...)
	return cluster
}

func (in *input) timeProblems() (problems []manifest.Problem) {
	for _, kind := range in.kinds.All {
		if kind.TimeField() != "" {
			problems = append(problems, in.sources.TimeProblems(kind.GVK().Group, kind.GVK().Kind, kind.TimeField())...)
		}
	}
	return problems
}

// locate returns a problem with the file and line to change: of the entry of a kustomization that set the field last,
// or else of the source object. It leaves a problem alone that has a file.
func locate(in *input, paths *kustomize.Paths, problem manifest.Problem) manifest.Problem {
	if problem.File == "" && paths != nil {
		if blamed, ok := kustomize.Blame(paths, problem); ok {
			return blamed
		}
	}
	return in.locate(problem)
}

func (e *Environment) locate(p manifest.Problem) manifest.Problem {
	return locate(e.root.input, e.root.paths, p)
}

// locate returns a problem with the file and line to change. It leaves a problem alone that has
// a file.
func (in *input) locate(p manifest.Problem) manifest.Problem {
	if p.File != "" {
		return p
	}
	if d, ok := p.Subject.Delivery.(*Delivery); ok && d.input != in {
		return in.locate(d.Blame(p)) // which may be a problem of its Kustomization
	}
	if p.Field == "" && p.Subject.IsRendered() {
		p.Subject = p.Subject.Source()
	}
	switch {
	case p.Subject.Written != nil:
		return in.sources.Locate(p, in.originOf(p.Subject.Source(), in.folder))
	case in.overrides != "": // they added the object
		return in.locateInOverrides(p)
	}
	return in.sources.Locate(p, in.folder)
}

// locateText returns the file and line of a problem of a built object, at keys in the YAML text of its field.
func (in *input) locateText(p manifest.Problem, keys []string) (file string, line int) {
	sources := in.sources
	if d, ok := p.Subject.Delivery.(*Delivery); ok && d.artifact == nil {
		sources = d.sources
	}
	if file, line = sources.LocateText(p.Subject.ID(), manifest.SplitField(p.Field), keys); line > 0 {
		return file, line
	}
	p = in.locate(p)
	return p.File, p.Line
}

// locateInOverrides returns a problem with its file and line in the overrides: the file of an
// object that they add, or their kustomization.
func (in *input) locateInOverrides(p manifest.Problem) manifest.Problem {
	file := in.sources.Kustomizations[in.overrides].File
	if p.Subject.Unstructured != nil && p.Subject.Written == nil {
		file = in.originOf(p.Subject, in.overrides)
	}
	return in.sources.Locate(p, file)
}

// originOf returns the source file of an object, from the root. If that is unknown, it returns a
// file with an object of the same name, or else the kustomization of the folder.
func (in *input) originOf(o manifest.Object, folder string) string {
	if o.Origin != "" {
		return path.Join("/", o.Origin)
	}
	if documents := in.sources.SourceDocuments(o.ID()); len(documents) > 0 {
		return documents[0].File
	}
	return in.sources.Kustomizations[folder].File
}

// KubernetesVersions returns the minor versions of Kubernetes that an environment may name, the
// oldest first.
func KubernetesVersions() (names []string) {
	for _, v := range apiserver.Versions() {
		names = append(names, v.String())
	}
	return names
}

// CheckKubernetes returns an error, with the known versions, unless text is one of them.
func CheckKubernetes(text string) error {
	_, err := apiserver.ParseVersion(text)
	return err
}

// readTargetCluster reads the cluster of the environment in a folder. Kubernetes, unless empty, is the version to
// judge by instead of the environment's own. An annotation of the kustomization is nearer than the settings.
func readTargetCluster(sources *source.Sources, folder, kubernetes string, known settings.Cluster) (c targetCluster,
	variables *flux.PostBuild, problems []manifest.Problem) {
	c.kubernetes, _ = apiserver.ParseVersion(known.Kubernetes) // checked where they are read
	read := func(name string, use func(value string) error) {
		problems = append(problems, readAnnotation(sources, folder, name, use)...)
	}
	if kubernetes != "" {
		c.kubernetes, _ = apiserver.ParseVersion(kubernetes) // see CheckKubernetes
	} else {
		read(tree.KubernetesAnnotation, func(version string) (err error) {
			c.kubernetes, err = apiserver.ParseVersion(version)
			return err
		})
	}
	c.runtimeConfig, _ = cmp.Or(c.kubernetes, apiserver.Newest).ParseRuntimeConfig(known.RuntimeConfig)
	read(apiserver.RuntimeConfigAnnotation, func(versions string) (err error) {
		c.runtimeConfig, err = cmp.Or(c.kubernetes, apiserver.Newest).ParseRuntimeConfig(versions)
		return err
	})
	read(ClusterAnnotation, func(cluster string) error {
		k := sources.Kustomizations[folder]
		if path.IsAbs(cluster) || sources.Kustomizations[path.Join(folder, cluster)] == nil ||
			!slices.Contains(k.Resources, cluster) {
			return fmt.Errorf("write the path of a folder with a cluster here and under resources, such as %s",
				"../../clusters/"+path.Base(folder))
		}
		return nil
	})
	read(flux.Annotation, func(file string) (err error) {
		variables, err = readPostBuild(sources.FS.ReadFile, folder, file)
		return err
	})
	return c, variables, problems
}

// readAnnotation calls use with an annotation of the environment's kustomization, if it has that.
// The annotation has no effect on the kustomizations of bases: there it is a problem.
func readAnnotation(sources *source.Sources, folder, name string,
	use func(value string) error) (problems []manifest.Problem) {
	own := sources.Kustomizations[folder]
	_, ownHas := annotationOf(own, name)
	for _, k := range sources.Kustomizations {
		text, has := annotationOf(k, name)
		var message string
		switch {
		case !has:
		case k == own:
			if err := use(text); err != nil {
				message = err.Error()
			}
		case !ownHas:
			message = "only the kustomization of an environment says this: write it in " +
				path.Join(source.Relative(folder), "kustomization.yaml")
		}
		if message != "" {
			line := sources.Line(k.File, "metadata", "annotations", name)
			problems = append(problems, manifest.Problem{Code: manifest.InvalidAnnotation,
				File: source.Relative(k.File), Line: line,
				Message: name + ": " + message})
		}
	}
	return problems
}

// annotationOf returns an annotation of a kustomization, which may be nil.
func annotationOf(k *source.Kustomization, name string) (value string, ok bool) {
	if k == nil || k.MetaData == nil {
		return "", false
	}
	value, ok = k.MetaData.Annotations[name]
	return value, ok
}

// readPostBuild reads the values of variables from a file of an environment.
func readPostBuild(read func(path string) ([]byte, error), folder, file string) (*flux.PostBuild, error) {
	if file == flux.Unknown {
		return &flux.PostBuild{}, nil
	}
	content, err := read(path.Join(folder, file))
	if err != nil {
		return nil, fmt.Errorf("%w: write the path of a file with the ConfigMaps that have the values, or %s", err,
			flux.Unknown)
	}
	b, err := flux.Read(source.Documents(content))
	if err != nil {
		return nil, fmt.Errorf("%s %w", path.Join(source.Relative(folder), file), err)
	}
	return b, nil
}

// PostBuild reads the values that Flux substitutes in an environment; nil if it substitutes nothing.
func (r *Repository) PostBuild(environment string) (*flux.PostBuild, error) {
	files := r.fileSystem()
	folder := folderOf(environment)
	k, err := readHead(files, folder)
	file, ok := k.Metadata.Annotations[flux.Annotation]
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil || !ok:
		return nil, err
	}
	return readPostBuild(files.ReadFile, folder, file)
}

// Entry returns the folder that the cluster of an environment is synced from, by ClusterAnnotation, or nothing.
func (r *Repository) Entry(environment string) string {
	k, err := readHead(r.fileSystem(), folderOf(environment))
	cluster := k.Metadata.Annotations[ClusterAnnotation]
	if err != nil || cluster == "" {
		return ""
	}
	return source.Relative(path.Join(folderOf(environment), cluster))
}

// head has the first fields of a kustomization.
type head struct {
	Kind     string           `json:"kind"`
	Metadata types.ObjectMeta `json:"metadata"`
}

func readHead(files *source.FileSystem, folder string) (k head, err error) {
	err = files.ReadKustomization(folder, &k)
	return k, err
}
