package release

import (
	"cmp"
	"path"
	"strings"

	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// apartNamespace is the namespace of a release that nothing in the repository installs. Its objects deliver, mostly by
// Argo CD.
const apartNamespace = "argocd"

// Apart returns the release of a chart in a folder that nothing in the repository installs, with files of values from
// the root. Without a setting the values are an assumption: the installation may have others.
func Apart(files *source.FileSystem, folder string, valueFiles []string, isAssumed bool) Release {
	file := path.Join(folder, chartutil.ChartfileName)
	var chart struct {
		Name string `json:"name"`
	}
	content, err := files.ReadAny(file)
	if err == nil {
		_ = yaml.Unmarshal(content, &chart) // rendering reports the error
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v2", "kind": "Chart"}}
	u.SetName(cmp.Or(chart.Name, path.Base(folder)))
	of := manifest.Object{Unstructured: u, Written: u, Origin: source.Relative(file)}
	r := Release{Source: of, ID: of.ID(), Name: u.GetName(), Namespace: apartNamespace, Folder: folder}
	for _, name := range valueFiles {
		r.Files = append(r.Files, path.Join("/", name))
	}
	if isAssumed {
		own := source.Relative(path.Join(folder, chartutil.ValuesfileName))
		r.assumed = "assumed values, as nothing here installs the chart: " + strings.Join(append([]string{own},
			valueFiles...), ", ")
	}
	return r
}
