// Package application reads an Application of Argo CD as its controller and its repo server do: the sources that it
// has, the files in git that change a source, and the tool that builds it.
package application

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gobwas/glob"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// Source is a place with objects of an Application. The names of its fields do not depend on case.
type Source struct {
	// Field is the field of the Application: spec.source, spec.sources[1] or spec.sourceHydrator.drySource.
	Field string `json:"-"`
	// Nth counts the sources of an Application from 0. It is negative if there is one.
	Nth int `json:"-"`
	// Refs are the sources of the Application whose files valueFiles may name, by $ and their names.
	Refs map[string]Source `json:"-"`

	// Top is the folder that has the repository, if it is fetched.
	Top string `json:"-"`

	RepoURL, Path, Chart, Ref, TargetRevision string

	Helm      *Helm
	Kustomize *delivery.Overlay
	Directory *Directory
	Plugin    *struct{ Name string }

	// Maker is the reason why a plugin makes the objects, or may make them; empty without a plugin.
	Maker string `json:"-"`

	// Unknown are the images whose tag has the commit, which is not known before the sync.
	Unknown []string `json:"-"`

	of      Application
	written map[string]any // with the files that change it, if any
}

// Helm has the options of a chart.
type Helm struct {
	ReleaseName, Namespace string
	ValueFiles             []string
	IgnoreMissing          bool `json:"ignoreMissingValueFiles"`
	Values                 string
	ValuesObject           map[string]any
	Parameters             []Parameter
	FileParameters         []struct{ Name, Path string }
	SkipCRDs               bool
	SkipSchemaValidation   bool
	KubeVersion            string
	APIVersions            []string
}

// Parameter is a value of a chart.
type Parameter struct {
	Name, Value string
	ForceString bool
}

// Directory has the options of a folder of manifests.
type Directory struct {
	Recurse          bool
	Include, Exclude string
}

// Takes reports whether the patterns select a file, by its path in the folder. A * stands for slashes as well: see
// getPotentiallyValidManifests in reposerver/repository/repository.go of Argo CD.
func (d Directory) Takes(name string) bool {
	matches := func(pattern string) bool {
		compiled, err := glob.Compile(pattern)
		return err == nil && compiled.Match(name)
	}
	return (d.Include == "" || matches(d.Include)) && (d.Exclude == "" || !matches(d.Exclude))
}

// SkipMarker marks a file that Argo CD leaves out: skipFileRenderingMarker there.
const SkipMarker = "+argocd:skip-file-rendering"

// Spec has the fields of an Application that select its objects, to find a wrong type.
type Spec struct {
	Project        string
	Source         *Source
	Sources        []Source
	SourceHydrator *struct{ DrySource Source }
	Destination    Destination

	IgnoreDifferences []struct{ JQPathExpressions []string }
}

// Destination is the cluster and the default namespace of objects.
type Destination struct{ Name, Server, Namespace string }

// Application is an Application that can be read.
type Application struct {
	// Of is the object as it is in git, or as an ApplicationSet makes it.
	Of      manifest.Object
	Project string
	Destination
	Sources []Source

	isRead, hasDestination bool       // isRead: no field has a wrong type
	ignored                [][]string // expressions of jq, by item of ignoreDifferences
}

// Read reads an Application. One with a field of a wrong type, which its definition refuses, has no sources. The source
// of a hydrator is where it takes manifests from.
func Read(o manifest.Object) Application {
	a := Application{Of: o.Own()}
	var spec Spec
	if !delivery.IsApplication(o) || manifest.Decode(o.Object["spec"], &spec) != nil {
		return a
	}
	a.isRead = true
	a.hasDestination = decoding.At(o.Object, []string{"spec", "destination"}) != nil
	a.Project = spec.Project
	a.Destination = spec.Destination
	for _, d := range spec.IgnoreDifferences {
		a.ignored = append(a.ignored, d.JQPathExpressions)
	}
	made := a
	a.Sources = spec.Sources
	field := ""
	switch {
	case spec.SourceHydrator != nil:
		a.Sources = []Source{spec.SourceHydrator.DrySource}
		field = "spec.sourceHydrator.drySource"
	case len(a.Sources) == 0 && spec.Source != nil:
		a.Sources = []Source{*spec.Source}
		field = "spec.source"
	}
	refs := map[string]Source{}
	for i := range a.Sources {
		s := &a.Sources[i]
		s.Nth = -1
		s.Field = field
		if field == "" {
			s.Field = fmt.Sprintf("spec.sources[%d]", i)
			s.Nth = i
		}
		s.of = made
		s.written, _ = decoding.At(o.Object, manifest.SplitField(s.Field)).(map[string]any)
		if s.Field == "spec.source" {
			*s = s.normalized()
		}
		s.Refs = refs
		if s.Ref != "" {
			refs["$"+s.Ref] = *s
		}
	}
	return a
}

// IsHydrated reports whether a hydrator commits what the source makes to a branch, and Argo CD syncs that.
func (s Source) IsHydrated() bool { return strings.HasPrefix(s.Field, "spec.sourceHydrator.") }

// Folder is the path of the source from the root, with a leading slash.
func (s Source) Folder() string { return path.Join("/", s.Top, s.Path) }

// CheckPath returns the error of a path that Argo CD refuses: see Path in util/app/path/path.go.
func (s Source) CheckPath() error {
	switch {
	case path.IsAbs(s.Path):
		return fmt.Errorf("%s is absolute, and a path is relative to the root of the repository: write %s", s.Path,
			strings.TrimPrefix(s.Folder(), "/"))
	case !filepath.IsLocal(s.Path):
		return fmt.Errorf("%s is outside the repository, and a path is relative to its root: write %s", s.Path,
			cmp.Or(strings.TrimPrefix(s.Folder(), "/"), "."))
	}
	return nil
}

// String names the place of the source.
func (s Source) String() string {
	if s.TargetRevision == "" || s.TargetRevision == "HEAD" {
		return s.RepoURL
	}
	return s.RepoURL + " at " + s.TargetRevision
}

// Doubled returns a path in the annotation of paths that change what is generated, and where Argo CD looks for it: a
// path without a slash at its start is below that of the source. It is there from the root alone. See
// GetSourceRefreshPaths in util/app/path/path.go.
func (s Source) Doubled(files *source.FileSystem) (written, taken string) {
	paths := s.of.Of.GetAnnotations()["argocd.argoproj.io/manifest-generate-paths"]
	for item := range strings.SplitSeq(paths, ";") {
		item = strings.TrimSpace(item)
		below := path.Join(s.Folder(), item)
		if item != "" && !path.IsAbs(item) && !files.Exists(below) && files.Exists("/"+item) && s.Nth < 0 {
			return item, source.Relative(below)
		}
	}
	return "", ""
}

// Application returns the Application without its sources.
func (s Source) Application() Application { return s.of }

// Type is the tool that makes the objects of a source.
type Type string

// The types, by the fields that choose them.
const (
	OfKustomize Type = "kustomize"
	OfHelm      Type = "helm"
	OfDirectory Type = "directory"
	OfPlugin    Type = "plugin"
)

// types returns the fields that choose a type.
func (s Source) types() (fields []string) {
	for _, each := range []struct {
		field Type
		isSet bool
	}{
		{OfKustomize, s.Kustomize != nil}, {OfHelm, s.Helm != nil}, {OfDirectory, s.Directory != nil},
		{OfPlugin, s.Plugin != nil},
	} {
		if each.isSet {
			fields = append(fields, string(each.field))
		}
	}
	return fields
}

// Merge returns the source with the files in its folder that change it, as the image updater writes them, and its type:
// what a field says or, without one, a plugin that finds it, or the last kustomization or chart by name. See
// mergeSourceParameters and GetAppSourceType in reposerver/repository/repository.go, and Discover in
// util/app/discovery/discovery.go. It returns a problem that Argo CD has with the folder.
func (s Source) Merge(files *source.FileSystem, origin Origin) (Source, Type, error) {
	for _, name := range s.overrides() {
		content, err := files.ReadAny(path.Join(s.Folder(), name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			s, err = s.patched(content)
		}
		if err != nil {
			return s, "", fmt.Errorf("%s: %w", source.Relative(path.Join(s.Folder(), name)), err)
		}
	}
	s = s.substituted()
	types := s.types()
	if len(types) > 1 {
		return s, "", fmt.Errorf("%s has %s, and a source has one of them", s.Path, strings.Join(types, ", "))
	}
	s.Maker = s.findMaker(files, origin, types)
	if s.Maker != "" {
		return s, OfPlugin, nil
	}
	built, isThere := s.typeOfFiles(files)
	if len(types) > 0 {
		built = Type(types[0])
	}
	switch {
	case built == OfKustomize && !isThere[built]:
		return s, built, fmt.Errorf("%s has no kustomization.yaml, and the field kustomize needs one: write it there, "+
			"or remove the field", s.Path)
	case built == OfHelm && !files.Exists(path.Join(s.Folder(), chartutil.ChartfileName)):
		return s, built, fmt.Errorf("%s has no Chart.yaml, and so is no chart: write one there, or remove the field "+
			"helm",
			s.Path)
	}
	return s, built, nil
}

// findMaker returns the reason why a plugin makes the objects, or may make them; nothing without a plugin.
func (s Source) findMaker(files *source.FileSystem, origin Origin, types []string) string {
	switch {
	case s.Plugin != nil:
		return strings.TrimSuffix("a plugin makes its objects: "+s.Plugin.Name, ": ")
	case len(types) > 0 || origin.Argo == nil:
		return ""
	}
	return findPlugin(origin.Argo().Plugins, files, s.Folder())
}

// typeOfFiles returns the type by the last file of a chart or a kustomization in the folder, and the types that have
// one.
func (s Source) typeOfFiles(files *source.FileSystem) (built Type, isThere map[Type]bool) {
	built = OfDirectory
	isThere = map[Type]bool{}
	names, _ := files.List(s.Folder()) // Argo CD refuses a folder that is not there before
	for _, name := range names {
		is := Type("")
		switch {
		case strings.HasSuffix(name, chartutil.ChartfileName):
			is = OfHelm
		case slices.Contains(konfig.RecognizedKustomizationFileNames(), name):
			is = OfKustomize
		}
		if is != "" && !files.IsDir(path.Join(s.Folder(), name)) {
			isThere[is] = true
			built = is
		}
	}
	return built, isThere
}

// overrides are the names of the files in the folder of a source that change it.
func (s Source) overrides() []string {
	return []string{".argocd-source.yaml", ".argocd-source-" + s.of.Of.GetName() + ".yaml"}
}

// IsOverridden reports whether a file in the folder of the source changes it.
func (s Source) IsOverridden(files *source.FileSystem) bool {
	return slices.ContainsFunc(s.overrides(), func(name string) bool {
		return files.Exists(path.Join(s.Folder(), name))
	})
}

// patched returns the source with a merge patch, which changes no more than the fields of tools.
func (s Source) patched(patch []byte) (Source, error) {
	patch, err := yaml.YAMLToJSON(patch)
	if err != nil {
		return s, err
	}
	content, err := json.Marshal(s.written)
	if err == nil {
		content, err = jsonpatch.MergePatch(content, patch)
	}
	var merged Source
	if err == nil {
		err = json.Unmarshal(content, &merged)
	}
	s.Helm = merged.Helm
	s.Kustomize = merged.Kustomize
	s.Directory = merged.Directory
	s.Plugin = merged.Plugin
	s.written = nil
	if err == nil {
		err = json.Unmarshal(content, &s.written)
	}
	return s, err
}
