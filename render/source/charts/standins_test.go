package charts

import (
	"testing"

	"sigs.k8s.io/kustomize/api/types"
)

func TestInstalledChartsRenderTheSameOnEachRun(t *testing.T) {
	const template = `kind: Secret
a: {{ randAlphaNum 5 }}
b: {{ now | date "2006" }} {{ uuidv4 }} {{ randInt 3 9 }} {{ "x" | htpasswd "u" }}
{{- $ca := genCA "ca" 365 }}
{{- $c := genSignedCert "web" (list) (list "web") 365 $ca }}
c: {{ $c.Cert | b64enc }} {{ $ca.Key | b64enc }}
`
	files := tree{"/charts/app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n", "/charts/app/templates/a.yaml": template}
	run := func() string {
		rendered, problems := Render(files, Entry{
			HelmChart: types.HelmChart{Name: "app", ReleaseName: "web"},
			Installed: &Installed{Archive: "/charts/app"},
		}, Cluster{Kubernetes: "1.37.0"})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return string(rendered.Content)
	}
	if first, second := run(), run(); first != second {
		t.Errorf("%s\n%s", first, second)
	}
}
