package release

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"helm.sh/helm/v4/pkg/strvals"

	"example.com/gatehouse/render/decoding"
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
	TargetRevision string `json:"targetRevision"`
	Helm           struct {
		ReleaseName  string         `json:"releaseName"`
		Namespace    string         `json:"namespace"`
		ValueFiles   []string       `json:"valueFiles"`
		Values       string         `json:"values"`
		ValuesObject map[string]any `json:"valuesObject"`
		Parameters   []struct {
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

// inCluster is the server of the cluster that Argo CD runs in.
const inCluster = "https://kubernetes.default.svc"

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
			valuesField: helm + "valuesObject", Chart: s.Chart, Version: s.TargetRevision,
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
		if to := spec.Destination; to.Name != "" && to.Name != "in-cluster" ||
			to.Server != "" && to.Server != inCluster {
			r.Unjudged = "spec.destination is another cluster: " + cmp.Or(to.Name, to.Server)
		}
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
		if strings.HasPrefix(file, "$") || strings.Contains(file, "://") || !filepath.IsLocal(file) {
			r.Unknown = append(r.Unknown, file)
		} else {
			r.Files = append(r.Files, file)
		}
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
	}
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
