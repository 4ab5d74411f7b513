package release

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"helm.sh/helm/v4/pkg/strvals"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
)

// application has the fields of an Application that select its objects.
type application struct {
	Spec struct {
		Source      applicationSource   `json:"source"`
		Sources     []applicationSource `json:"sources"`
		Destination struct {
			Name      string `json:"name"`
			Server    string `json:"server"`
			Namespace string `json:"namespace"`
		} `json:"destination"`
	} `json:"spec"`
}

type applicationSource struct {
	RepoURL        string `json:"repoURL"`
	Path           string `json:"path"`
	Chart          string `json:"chart"`
	Ref            string `json:"ref"`
	TargetRevision string `json:"targetRevision"`
	Helm           struct {
		ReleaseName   string         `json:"releaseName"`
		Namespace     string         `json:"namespace"`
		ValueFiles    []string       `json:"valueFiles"`
		IgnoreMissing bool           `json:"ignoreMissingValueFiles"`
		Values        string         `json:"values"`
		ValuesObject  map[string]any `json:"valuesObject"`
		Parameters    []struct {
			Name        string `json:"name"`
			Value       string `json:"value"`
			ForceString bool   `json:"forceString"`
		} `json:"parameters"`
		FileParameters       []any    `json:"fileParameters"`
		SkipCRDs             bool     `json:"skipCrds"`
		SkipSchemaValidation bool     `json:"skipSchemaValidation"`
		KubeVersion          string   `json:"kubeVersion"`
		APIVersions          []string `json:"apiVersions"`
	} `json:"helm"`
}

// ofApplication returns the releases of an Application.
func ofApplication(o manifest.Object) (all []Release) {
	spec := manifest.As[application](o.Unstructured).Spec
	field := "spec.sources[%d]"
	if len(spec.Sources) == 0 {
		spec.Sources, field = []applicationSource{spec.Source}, "spec.source%.0d"
	}
	for i, s := range spec.Sources {
		if s.Chart == "" && s.Path == "" {
			continue
		}
		helm := fmt.Sprintf(field, i) + ".helm."
		r := Release{
			Source: o, isChart: decoding.At(o.Object, manifest.SplitField(strings.TrimSuffix(helm, "."))) != nil,
			valuesField: helm + "valuesObject", filesField: helm + "valueFiles[0]",
			Chart: s.Chart, Version: s.TargetRevision,
			Name:      cmp.Or(s.Helm.ReleaseName, o.GetName()),
			Namespace: cmp.Or(s.Helm.Namespace, spec.Destination.Namespace, "default"),
			SkipCRDs:  s.Helm.SkipCRDs, SkipSchemas: s.Helm.SkipSchemaValidation, Kubernetes: s.Helm.KubeVersion,
			APIVersions: s.Helm.APIVersions,
		}
		if r.setRepository(s.RepoURL); !strings.Contains(s.RepoURL, "://") {
			r.setRepository("oci://" + s.RepoURL)
		}
		if s.Chart == "" {
			r.setFolder(s.Path)
		}
		if to := spec.Destination; !delivery.IsInCluster(to.Name, to.Server) {
			r.Unjudged = "spec.destination is another cluster: " + cmp.Or(to.Name, to.Server)
		}
		r.refs = refsOf(spec.Sources)
		r.addSource(s, helm)
		all = append(all, r)
	}
	return all
}

// addSource adds the values of a source, whose fields begin with helm.
func (r *Release) addSource(s applicationSource, helm string) {
	if s.Helm.ValuesObject != nil {
		r.add(valueSource{object: r.Source, field: r.valuesField, values: s.Helm.ValuesObject})
	} else {
		r.addText(valueSource{object: r.Source, field: helm + "values"}, s.Helm.Values)
	}
	for _, file := range s.Helm.ValueFiles {
		r.addValueFile(s, file)
	}
	for i, p := range s.Helm.Parameters {
		set := strvals.ParseInto
		if p.ForceString {
			set = strvals.ParseIntoString
		}
		r.addScalar(valueSource{object: r.Source, field: fmt.Sprintf("%sparameters[%d].value", helm, i)},
			func(values map[string]any) error { return set(p.Name+"="+escapeCommas(p.Value), values) })
	}
	if len(s.Helm.FileParameters) > 0 {
		r.Unknown, r.unknownField = append(r.Unknown, "fileParameters"), helm+"fileParameters"
	}
}

// refsOf returns the names by which sources refer to the repositories of others.
func refsOf(sources []applicationSource) map[string]bool {
	refs := map[string]bool{}
	for _, s := range sources {
		if s.Ref != "" {
			refs["$"+s.Ref] = true
		}
	}
	return refs
}

// addValueFile adds a file of values, as Argo CD resolves its name: in the chart, or anywhere in the repository of the
// chart or of another source (ResolveValueFilePathOrUrl in util/io/path/resolved.go).
func (r *Release) addValueFile(s applicationSource, file string) {
	ref, within, _ := strings.Cut(file, "/")
	add := func(name, written string) {
		if s.Helm.IgnoreMissing {
			written = ""
		}
		r.addRepositoryFile(name, written)
	}
	switch {
	case strings.Contains(file, "://"):
		r.Unknown = append(r.Unknown, file)
	case r.refs[ref]:
		add(path.Join("/", within), file)
	case strings.HasPrefix(file, "$"), s.Chart != "" && !filepath.IsLocal(file):
		r.Unknown = append(r.Unknown, file)
	case path.IsAbs(file):
		add(path.Clean(file), file)
	case !filepath.IsLocal(file):
		add(path.Join("/", s.Path, file), file)
	default:
		r.Files = append(r.Files, file)
	}
}

// addRepositoryFile adds a file of a repository that may be another one: as written, or empty if it may be missing.
func (r *Release) addRepositoryFile(name, written string) {
	r.Files = append(r.Files, name)
	if r.elsewhere == nil {
		r.elsewhere = map[string]string{}
	}
	r.elsewhere[name] = written
}

var comma = regexp.MustCompile(`(^|[^\\]),`)

// escapeCommas escapes the commas of a value that is no list, as Argo CD does.
func escapeCommas(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	for comma.MatchString(value) {
		value = comma.ReplaceAllString(value, `$1\,`)
	}
	return value
}
