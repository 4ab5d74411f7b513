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

// application has the fields of an Application that select its objects. Their names do not depend on case.
type application struct {
	Source      applicationSource
	Sources     []applicationSource
	Destination struct{ Name, Server, Namespace string }
}

type applicationSource struct {
	RepoURL, Path, Chart, Ref, TargetRevision string
	Helm                                      struct {
		ReleaseName, Namespace string
		ValueFiles             []string
		IgnoreMissing          bool `json:"ignoreMissingValueFiles"`
		Values                 string
		ValuesObject           map[string]any
		Parameters             []struct {
			Name, Value string
			ForceString bool
		}
		FileParameters       []any
		SkipCRDs             bool
		SkipSchemaValidation bool
		KubeVersion          string
		APIVersions          []string
	}
}

// ofApplication returns the releases of an Application.
func ofApplication(o manifest.Object) (all []Release) {
	spec := specOf[application](o)
	field := "spec.sources[%d]"
	if len(spec.Sources) == 0 {
		spec.Sources = []applicationSource{spec.Source}
		field = "spec.source%.0d"
	}
	refs := map[string]bool{} // names by which sources refer to the repositories of others
	for _, s := range spec.Sources {
		refs["$"+s.Ref] = s.Ref != ""
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
		r.refs = refs
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
		r.Unknown = append(r.Unknown, "fileParameters")
		r.unknownField = helm + "fileParameters"
	}
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
