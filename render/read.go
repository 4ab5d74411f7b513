package render

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/flux"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/charts"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verdict"
	"example.com/gatehouse/render/verdict/apiserver"
)

// overridesFolder is the folder of the overrides in a repository environment: a component with
// patches of rendered objects.
const overridesFolder = "overrides"

// input is a repository environment.
type input struct {
	name      string
	kinds     *registry.Kinds
	folder    string // of its kustomization, from the root
	overrides string // the folder of overrides, from the root; empty without overrides
	sources   *source.Sources
	memo      *memo.Memo
	shared    *memo.Memo        // of all environments
	instead   []manifest.Object // definitions that stand in for others
	// isCompared reports whether the verdict is compared with another one.
	isCompared bool

	// From annotations of the kustomization:
	kubernetes    apiserver.Version // zero for the newest
	runtimeConfig apiserver.RuntimeConfig
	postBuild     *flux.PostBuild // nil if Flux substitutes nothing
}

// readInput reads the source files of an environment and checks them as far as that is possible
// before kustomize builds them.
func readInput(repository *Repository, name string) (*input, []manifest.Problem) {
	go verdict.Prepare(repository.kinds)
	go kustomize.LoadSchemas()
	files := repository.fileSystem()
	in := &input{name: name, kinds: repository.kinds, memo: repository.Memo, shared: cmp.Or(repository.Memo, repository.shared), instead: repository.definitions, isCompared: repository.isCompared}
	folder, _, err := files.Resolve(path.Join("/", tree.EnvironmentsFolder, name))
	if err != nil {
		return in, []manifest.Problem{{File: path.Join(tree.EnvironmentsFolder, name), Message: err.Error()}}
	}
	in.folder = folder
	folders := []string{}
	if overrides := path.Join(folder, overridesFolder); files.Exists(overrides) {
		if files.KustomizationFile(overrides) == "" {
			return in, []manifest.Problem{{File: path.Join(source.Relative(overrides), "kustomization.yaml"), Message: "does not exist: write one of kind Component"}}
		}
		in.overrides, folders = overrides, []string{overrides}
	}
	in.sources = source.Read(in.memo, in.shared, files, in.kinds.KustomizeConfig(), clusterOf, definitionFolders(folder), folder, folders...)
	return in, slices.Concat(in.readKubernetes(repository.kubernetes), in.readRuntimeConfig(), in.readPostBuild(), in.sources.Problems, in.sources.NumberProblems(), in.timeProblems())
}

// clusterOf returns the cluster that the charts of an environment are rendered for.
func clusterOf(environment *source.Kustomization) charts.Cluster {
	version := apiserver.Newest
	if text, ok := annotationOf(environment, tree.KubernetesAnnotation); ok {
		if v, err := apiserver.ParseVersion(text); err == nil { // readKubernetes reports the error
			version = v
		}
	}
	enabled, _ := annotationOf(environment, apiserver.RuntimeConfigAnnotation)
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
	return cluster
}

// timeProblems returns the problems of time fields of kinds.
func (in *input) timeProblems() (problems []manifest.Problem) {
	for _, kind := range in.kinds.All {
		if kind.TimeField() != "" {
			problems = append(problems, in.sources.TimeProblems(kind.GVK().Group, kind.GVK().Kind, kind.TimeField())...)
		}
	}
	return problems
}

// locate returns a problem with the file and line to change. It leaves a problem alone that has
// a file.
func (in *input) locate(p manifest.Problem) manifest.Problem {
	if p.File != "" {
		return p
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
	if file, line = in.sources.LocateText(p.Subject.ID(), manifest.SplitField(p.Field), keys); line > 0 {
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
