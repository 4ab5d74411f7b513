// Package release finds the charts that controllers install, and renders the objects that they make of
// them: Flux of a HelmRelease, Argo CD of an Application. These objects are judged and reviewed, and
// written nowhere.
package release

import (
	"cmp"
	"encoding/json"
	"errors"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/fetched"
	"example.com/gatehouse/render/source/text"
)

// Release is a chart that a controller installs.
type Release struct {
	// Source is the HelmRelease or Application, as it is in git, and ID as it is applied, IDInNamespace.
	Source manifest.Object `json:"-"`
	ID     manifest.ID     `json:"-"`
	// Chart, Version and Repository name the chart. Repository is a URL, or empty if unknown.
	Chart, Version, Repository string
	// IsTag reports whether Version is a tag, of any form. Filter leaves out tags, Manifest is a digest in place of a
	// tag, and IsPlain is for a registry without TLS.
	IsTag, IsPlain   bool   `json:",omitempty"`
	Filter, Manifest string `json:",omitempty"`
	// RepositoryID is the HelmRepository that has the URL.
	RepositoryID manifest.ID `json:"-"`
	// Name and Namespace are of the release.
	Name, Namespace string
	// Values are above the Files in the chart or, with a leading slash, in the repository.
	Values map[string]any
	Files  []string
	// IgnoreMissing leaves out Files that the chart does not have.
	IgnoreMissing bool
	// FilesAreDefaults reports whether Files take the place of the values of the chart.
	FilesAreDefaults bool
	// PostRenderers are kustomizations of the objects, but for hooks if KeepsHooks.
	PostRenderers []map[string]any
	KeepsHooks    bool
	// Metadata is added to all objects but files of CustomResourceDefinitions. Origin has labels for
	// these, too, and is empty for Argo CD.
	Metadata delivery.Metadata
	Origin   map[string]string
	// SkipCRDs and SkipSchemas leave out these parts of the chart.
	SkipCRDs, SkipSchemas bool
	// UpgradeCRDs is the policy of an upgrade for CustomResourceDefinitions in files of the chart: Skip, Create
	// or CreateReplace. It is empty for Argo CD, where they are like other objects.
	UpgradeCRDs string
	// IsUpgrade reports whether the release was there before.
	IsUpgrade bool
	// Kubernetes and APIVersions, if set, differ from the environment's.
	Kubernetes  string
	APIVersions []string

	// Folder is the path of the chart in a git repository, in place of Chart and Version.
	Folder string
	// Unjudged is the reason why this environment cannot judge the release.
	Unjudged string `json:"-"`

	// Unknown are the values that are not in this environment. Without them problems are warnings.
	Unknown      []string `json:"-"`
	unknownField string   // of Source
	assumed      string   // the assumption about the values, if any
	// IsSuspended reports whether the controller leaves the release alone: its problems are warnings.
	IsSuspended bool `json:"-"`
	// Err prevents rendering.
	Err error `json:"-"`

	application *application.Source // of an Application
	source      manifest.Object     // of Flux, that has the Folder; none if it is not in this environment
	isElsewhere bool                // the Folder is in another repository
	notFetched  error               // why that is not here
	warnings    []manifest.Problem
	sources     []valueSource // the weakest first
	errSource   valueSource   // of Err
	valuesField string        // of Source
	filesField  string        // the first of Files
	locate      Locate
}

// valueSource is a field of an object that sets values.
type valueSource struct {
	object manifest.Object
	field  string
	form   form
	values map[string]any
	wrong  text.Error // of a text
}

// form is the form of values in a field.
type form int

const (
	mapping form = iota
	yamlText
	scalar // one value
)

// Locate returns the file and line of a problem, at keys in the YAML text of its field.
type Locate func(p manifest.Problem, below []string) (file string, line int)

// Find returns the charts that controllers install by the objects of an environment. People apply the objects that no
// object here delivers, if isByHand.
func Find(objects []manifest.Object, isByHand bool) (all []Release) {
	if !slices.ContainsFunc(objects, Is) {
		return nil
	}
	in := index{}
	for _, o := range objects {
		in[o.IDInNamespace()] = o
	}
	for _, o := range objects {
		switch {
		case isHelmRelease(o):
			all = append(all, in.ofHelmRelease(o)...)
		case delivery.IsApplication(o):
			all = append(all, ofApplication(o)...)
		}
	}
	for i := range all {
		all[i].addNulls(isByHand)
		all[i].ID = all[i].Source.IDInNamespace()
		all[i].Source = all[i].Source.Committed()
	}
	return all
}

// Misfits returns the fields of a HelmRelease or an Application whose values have a wrong type. Its controller
// cannot read the object, and its definition, if it is there, refuses it.
func Misfits(o manifest.Object) (problems []manifest.Problem) {
	t := reflect.TypeFor[application.Spec]()
	if isHelmRelease(o) {
		t = reflect.TypeFor[helmRelease]()
	}
	for _, wrong := range decoding.Find(o.Object["spec"], t, decoding.Options{FoldCase: true}) {
		if !wrong.Unknown {
			field := manifest.JoinField(append([]string{"spec"}, wrong.Path...))
			problems = append(problems, manifest.NewProblem(o, field, manifest.Value{}, field+": has to be of type "+
				strings.Join(wrong.Wants, " or ")).As(metav1.CauseTypeTypeInvalid))
		}
	}
	return problems
}

// specOf returns the fields of an object; none if one has a wrong type, see Misfits.
func specOf[T any](o manifest.Object) (spec T) {
	if manifest.Decode(o.Object["spec"], &spec) != nil {
		return *new(T)
	}
	return spec
}

// Is reports whether a controller may install a chart by an object.
func Is(o manifest.Object) bool { return isHelmRelease(o) || delivery.IsApplication(o) }

// helmGroup is the group of HelmRelease, and the prefix of the labels of Flux.
const helmGroup = "helm.toolkit.fluxcd.io"

func isHelmRelease(o manifest.Object) bool {
	return o.GetKind() == "HelmRelease" && manifest.Group(o.GetAPIVersion()) == helmGroup
}

// index finds an object by its ID.
type index map[manifest.ID]manifest.Object

// IsExact reports whether the version is one version, and no range.
func (r Release) IsExact() bool {
	_, err := semver.StrictNewVersion(strings.TrimPrefix(r.Version, "v"))
	return err == nil
}

// String names the chart and its version.
func (r Release) String() string {
	return strings.TrimSpace(cmp.Or(r.Chart, strings.TrimPrefix(r.Folder, "/")) + " " + r.Version)
}

// From returns the source of the chart.
func (r Release) From() fetched.Source {
	from := fetched.Source{Repository: r.Repository, Chart: r.Chart, Version: r.Version, Filter: r.Filter,
		Manifest: r.Manifest, IsPlain: r.IsPlain}
	if !r.IsExact() && !r.IsTag {
		from.Range = cmp.Or(r.Version, "*")
		from.Version = ""
	}
	return from
}

// IsCRDFile reports whether an installed object is in a file of CustomResourceDefinitions, which Helm
// installs first. A file in a folder of templates is a template.
func IsCRDFile(o manifest.Object) bool {
	folder := path.Dir(o.Origin) + "/"
	return strings.Contains(folder, "/crds/") && !strings.Contains(folder, "/templates/")
}

// setRepository sets the URL of a repository without the slash at its end.
func (r *Release) setRepository(url string) { r.Repository = strings.TrimRight(url, "/") }

func (r *Release) setFolder(name string) {
	if name != "" {
		r.Folder = path.Join("/", name)
	}
}

// Object returns the HelmRelease or Application.
func (r Release) Object() manifest.Object { return r.Source }

// add merges the values of a source over the values.
func (r *Release) add(s valueSource) {
	var values map[string]any // with numbers as controllers and `helm -f` read them
	if content, err := json.Marshal(s.values); err == nil {
		r.setErr(json.Unmarshal(content, &values), s)
	}
	r.Values = loader.MergeMaps(r.Values, values)
	r.sources = append(r.sources, s)
}

// addText merges the YAML text of a source over the values.
func (r *Release) addText(s valueSource, content string) {
	s.form = yamlText
	for _, d := range text.Split([]byte(content)) {
		_, err := d.Parse()
		if s.wrong.Line == 0 {
			errors.As(err, &s.wrong)
		}
	}
	r.setErr(yaml.Unmarshal([]byte(content), &s.values), s)
	r.add(s)
}

func (r *Release) addScalar(s valueSource, set func(values map[string]any) error) {
	s.form = scalar
	s.values = map[string]any{}
	_ = set(s.values)
	r.setErr(set(r.Values), s)
	r.sources = append(r.sources, s)
}

// isUnsure reports whether the controller may install the chart without the problems that rendering finds.
func (r Release) isUnsure() bool { return len(r.Unknown) > 0 || r.IsSuspended || r.assumed != "" }

// repeated returns warnings of keys that a text of values has twice: controllers take the last one.
func (r Release) repeated() (problems []manifest.Problem) {
	for _, s := range r.sources {
		if at := s.wrong; at.Other > 0 && r.Err == nil {
			p := r.problemIn(s, nil, "")
			at.Other += p.Line - at.Line
			p.Message = "values: " + at.Error()
			p.Warning = true
			problems = append(problems, p)
		}
	}
	return problems
}

func (r *Release) setErr(err error, of valueSource) {
	if err != nil && r.Err == nil {
		r.Err = err
		r.errSource = of
	}
}

// problem returns a problem of a value, at the source that sets it.
func (r Release) problem(keys []string, message string) manifest.Problem {
	best := valueSource{object: r.Source, field: r.valuesField}
	longest := 0
	for _, s := range slices.Backward(r.sources) {
		length := len(keys)
		for length > longest && !sets(s.values, keys[:length]) {
			length--
		}
		if length > longest {
			best = s
			longest = length
		}
	}
	return r.problemIn(best, keys, message)
}

// sets reports whether values have one at keys, which may be null.
func sets(values map[string]any, keys []string) bool {
	last := len(keys) - 1
	parent, isMapping := decoding.At(values, keys[:last]).(map[string]any)
	if isMapping {
		_, isMapping = parent[keys[last]]
	}
	return isMapping || decoding.At(values, keys) != nil
}

// problemIn returns a problem of a value in a source. It is one of the release, whichever object has the value.
func (r Release) problemIn(s valueSource, keys []string, message string) manifest.Problem {
	p := manifest.NewProblem(s.object.Committed(), s.field, manifest.Value{}, message).As(manifest.InvalidValues)
	if s.form == mapping {
		p.Field = manifest.JoinField(append(manifest.SplitField(s.field), keys...))
		return p
	}
	if r.locate != nil {
		if s.form == scalar {
			keys = nil
		}
		p.File, p.Line = r.locate(p, keys)
	}
	p.Subject = r.Source
	p.Object = r.Source.String()
	p.Field = ""
	return p
}
