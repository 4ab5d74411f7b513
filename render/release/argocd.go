package release

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"

	"example.com/gatehouse/render/manifest"
)

// application has the fields of an Application that select its objects.
type application struct {
	Spec struct {
		Source      applicationSource   `json:"source"`
		Sources     []applicationSource `json:"sources"`
		Destination struct {
			Namespace string `json:"namespace"`
		} `json:"destination"`
	} `json:"spec"`
}

type applicationSource struct {
	RepoURL        string `json:"repoURL"`
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

// ofApplication returns the releases of an Application.
func ofApplication(o manifest.Object) (all []Release) {
	spec := manifest.As[application](o.Unstructured).Spec
	field := "spec.sources[%d]"
	if len(spec.Sources) == 0 {
		spec.Sources, field = []applicationSource{spec.Source}, "spec.source%.0d"
	}
	for i, s := range spec.Sources {
		if s.Chart == "" {
			continue
		}
		r := Release{
			Source: o, valuesField: fmt.Sprintf(field, i) + ".helm.valuesObject", Chart: s.Chart, Version: s.TargetRevision, Values: s.Helm.ValuesObject,
			Name: cmp.Or(s.Helm.ReleaseName, o.GetName()), Namespace: cmp.Or(s.Helm.Namespace, spec.Destination.Namespace, "default"),
			SkipCRDs: s.Helm.SkipCRDs, SkipSchemas: s.Helm.SkipSchemaValidation, Kubernetes: s.Helm.KubeVersion, APIVersions: s.Helm.APIVersions,
		}
		if r.setRepository(s.RepoURL); !strings.Contains(s.RepoURL, "://") {
			r.setRepository("oci://" + s.RepoURL)
		}
		if r.Values == nil {
			r.Err = r.addValues(s.Helm.Values)
		}
		r.Values = loader.MergeMaps(r.Values, nil) // a copy
		for _, file := range s.Helm.ValueFiles {
			if strings.HasPrefix(file, "$") || strings.Contains(file, "://") {
				r.Unknown = append(r.Unknown, file)
			} else {
				r.Files = append(r.Files, file)
			}
		}
		for _, p := range s.Helm.Parameters {
			set := strvals.ParseInto
			if p.ForceString {
				set = strvals.ParseIntoString
			}
			r.Err = cmp.Or(r.Err, set(p.Name+"="+escapeCommas(p.Value), r.Values))
		}
		if len(s.Helm.FileParameters) > 0 {
			r.Unknown = append(r.Unknown, "fileParameters")
		}
		all = append(all, r)
	}
	return all
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
