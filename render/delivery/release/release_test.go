package release

import (
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/fetched"
	"example.com/gatehouse/test/sources"
)

func objects(t *testing.T, text string) (all []manifest.Object) {
	t.Helper()
	for _, document := range strings.Split(text, "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
			t.Fatal(err)
		}
		all = append(all, manifest.Object{Unstructured: u, Written: u})
	}
	return all
}

const helmRepository = `
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: r, namespace: flux-system}
spec: {url: https://example.com/charts/}`

func helmReleaseWith(spec string) string {
	return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: shop}\nspec:\n  chart: {spec: {chart: app, version: 1.2.3, sourceRef: {kind: HelmRepository, name: r, namespace: flux-system}}}\n" + spec + helmRepository
}

func TestFindFollowsTheControllers(t *testing.T) {
	const configMap = "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop}\ndata: {values.yaml: 'a: {x: 1, z: 1}', quoted: '\"007\"', number: '7'}"
	application := func(source string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: argocd}\nspec:\n  destination: {namespace: shop}\n" + source
	}
	for name, test := range map[string]struct{ objects, want string }{
		"defaults":         {helmReleaseWith(""), `app 1.2.3 https://example.com/charts web shop {}`},
		"target namespace": {helmReleaseWith("  targetNamespace: other\n"), `app 1.2.3 https://example.com/charts other-web other {}`},
		"release name":     {helmReleaseWith("  targetNamespace: other\n  releaseName: db\n"), `app 1.2.3 https://example.com/charts db other {}`},
		"long name": {helmReleaseWith("  targetNamespace: " + strings.Repeat("n", 60) + "\n"),
			`app 1.2.3 https://example.com/charts ` + strings.Repeat("n", 40) + `-2ebc43336d39 ` + strings.Repeat("n", 60) + ` {}`},
		"values": {helmReleaseWith("  values: {a: {z: 2}}\n  valuesFrom:\n  - {kind: ConfigMap, name: c}\n  - {kind: ConfigMap, name: c, valuesKey: number, targetPath: b.n}\n  - {kind: ConfigMap, name: c, valuesKey: quoted, targetPath: b.t}\n  - {kind: ConfigMap, name: none, optional: true}\n") + configMap,
			`app 1.2.3 https://example.com/charts web shop {"a":{"x":1,"z":2},"b":{"n":7,"t":"007"}}`},
		"unknown values": {helmReleaseWith("  valuesFrom: [{kind: Secret, name: s, optional: true}, {kind: ConfigMap, name: none}]\n"),
			`app 1.2.3 https://example.com/charts web shop {} unknown: values.yaml of Secret shop/s, values.yaml of ConfigMap shop/none`},
		"artifact": {"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: shop}\nspec: {chartRef: {kind: OCIRepository, name: o}}\n---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: o, namespace: shop}\nspec: {url: oci://example.com/charts/app, ref: {tag: 1.2.3_x}}",
			`app 1.2.3+x oci://example.com/charts web shop {}`},
		"chart in git": {strings.ReplaceAll(helmReleaseWith(""), "kind: HelmRepository, name", "kind: GitRepository, name"), `web shop {} folder: /app inexact`},
		"a source that is none": {strings.ReplaceAll(helmReleaseWith(""), "kind: HelmRepository, name", "kind: Gitrepository, name"),
			`app   web shop {} unjudged: source-controller takes no chart from Gitrepository r inexact`},
		"a missing artifact": {"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: shop}\nspec: {chartRef: {kind: OCIRepository, name: o}}",
			`web shop {} unjudged: spec.chartRef is OCIRepository shop/o, which is not in this environment inexact`},
		"another cluster": {helmReleaseWith("  kubeConfig: {secretRef: {name: s}}\n"), `app 1.2.3 https://example.com/charts web shop {} unjudged: spec.kubeConfig installs it in another cluster`},
		"literal value": {helmReleaseWith("  valuesFrom: [{kind: ConfigMap, name: c, valuesKey: quoted, targetPath: t, literal: true}]\n") + configMap,
			`app 1.2.3 https://example.com/charts web shop {"t":"\"007\""}`},
		"application elsewhere": {strings.ReplaceAll(application("  source: {repoURL: https://example.com, chart: app, targetRevision: 1.2.3}"), "{namespace: shop}", "{namespace: shop, name: edge}"),
			`app 1.2.3 https://example.com web shop {} unjudged: spec.destination is another cluster: edge`},
		"application in git": {application("  source: {repoURL: https://example.com/git, path: a/app, helm: {valueFiles: [../b.yaml]}}"),
			`https://example.com/git web shop {} folder: /a/app inexact`},
		"application": {application("  source: {repoURL: example.com/charts, chart: app, targetRevision: 1.2.3, helm: {releaseName: db, values: 'a: 1', parameters: [{name: b.c, value: 'x,y'}, {name: num, value: '7', forceString: true}]}}"),
			`app 1.2.3 oci://example.com/charts db shop {"a":1,"b":{"c":"x,y"},"num":"7"}`},
		"values object": {application("  source: {repoURL: https://example.com, chart: app, targetRevision: 1.2.3, helm: {values: 'a: 1', valuesObject: {b: 2}}}"),
			`app 1.2.3 https://example.com web shop {"b":2}`},
		"sources": {application("  sources:\n  - {repoURL: https://example.com/git, ref: v}\n  - {repoURL: https://example.com, chart: app, targetRevision: 1.2.3, helm: {valueFiles: [a.yaml, $v/b.yaml]}}\n  - {repoURL: https://example.com, chart: db, targetRevision: 2.x}"),
			"app 1.2.3 https://example.com web shop {}\ndb 2.x https://example.com web shop {} inexact"},
		"a chart in folders of OCI": {application("  source: {repoURL: example.com, chart: a/b/app, targetRevision: 1.2.3}"),
			`app 1.2.3 oci://example.com/a/b web shop {}`},
		"build environment": {application("  source: {repoURL: https://example.com, chart: app, targetRevision: 1.2.3, helm: {parameters: [{name: a, value: $ARGOCD_APP_NAME}, {name: b, value: '${NODE}'}, {name: c, value: $ARGOCD_APP_REVISION}]}}"),
			`app 1.2.3 https://example.com web shop {"a":"web","b":""} unknown: c ($ARGOCD_APP_REVISION)`},
		"a wrong type": {application("  source: [1]"), ``},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			for _, r := range Find(objects(t, test.objects), false) {
				values, err := json.Marshal(r.Values)
				if err != nil || r.Err != nil {
					t.Fatal(err, r.Err)
				}
				line := strings.TrimLeft(strings.Join([]string{r.Chart, r.Version, r.Repository, r.Name, r.Namespace, string(values)}, " "), " ")
				if len(r.Files) > 0 {
					line += " files: " + strings.Join(r.Files, ", ")
				}
				if len(r.Unknown) > 0 {
					line += " unknown: " + strings.Join(r.Unknown, ", ")
				}
				if r.Folder != "" {
					line += " folder: " + r.Folder
				}
				if r.Unjudged != "" {
					line += " unjudged: " + r.Unjudged
				}
				if !r.IsExact() {
					line += " inexact"
				}
				lines = append(lines, line)
			}
			if is := strings.Join(lines, "\n"); is != test.want {
				t.Errorf("is\n%s\nwant\n%s", is, test.want)
			}
		})
	}
}

// spec.values comes last, and Helm replaces lists as a whole.
func TestTargetPathsIntoReplacedListsHaveNoEffect(t *testing.T) {
	for values, want := range map[string]string{
		"{a: {list: [{c: 1}]}}":       "a.list[0].b has no effect: spec.values sets the list a.list",
		"{a: {other: [{c: 1}]}}":      "",
		"{a: {list: {b: 1}}, b: [1]}": "",
	} {
		in := helmReleaseWith("  values: " + values + "\n  valuesFrom: [{kind: Secret, name: s, valuesKey: k, targetPath: 'a.list[0].b'}]\n")
		got := ""
		for _, p := range Find(objects(t, in), false)[0].warnings {
			got += p.Field + ": " + p.Message
		}
		if want != "" {
			want = "spec.valuesFrom[0].targetPath: " + want
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", values, got, want)
		}
	}
}

// As getResolvedValueFiles of Argo CD.
func TestFilesOfValues(t *testing.T) {
	_, files := sources.Open(t, t.TempDir(), txtar.Parse([]byte("-- app/Chart.yaml --\n-- app/a.yaml --\n-- app/b.yaml --\n-- app/sub/c.yaml --\n-- app/web.yaml --\n-- top.yaml --\n")).Files)
	for name, test := range map[string]struct{ helm, want string }{
		"in the chart":          {"{valueFiles: [b.yaml, a.yaml, b.yaml]}", "/app/b.yaml /app/a.yaml"},
		"beside it":             {"{valueFiles: [../top.yaml]}", "/top.yaml"},
		"from the root":         {"{valueFiles: [/app/sub/c.yaml]}", "/app/sub/c.yaml"},
		"of another source":     {"{valueFiles: [$v/top.yaml]}", "/top.yaml"},
		"of another, missing":   {"{valueFiles: [$v/none.yaml]}", " unknown $v/none.yaml"},
		"of another repository": {"{valueFiles: [$o/top.yaml]}", " unknown $o/top.yaml"},
		"of no source":          {"{valueFiles: [$x/top.yaml]}", " unknown $x/top.yaml"},
		"of a host":             {"{valueFiles: ['https://example.com/a.yaml']}", " unknown https://example.com/a.yaml"},
		"the build environment": {"{valueFiles: [$ARGOCD_APP_NAME.yaml]}", "/app/web.yaml"},
		"missing":               {"{valueFiles: [none.yaml, a.yaml]}", "/app/none.yaml /app/a.yaml"},
		"missing, as declared":  {"{valueFiles: [none.yaml, a.yaml], ignoreMissingValueFiles: true}", "/app/a.yaml"},
		"a pattern":             {"{valueFiles: ['?.yaml']}", "/app/a.yaml /app/b.yaml"},
		"a pattern and a file":  {"{valueFiles: ['[ab].yaml', a.yaml]}", "/app/b.yaml /app/a.yaml"},
		"folders":               {"{valueFiles: ['**/*.yaml']}", "/app/Chart.yaml /app/a.yaml /app/b.yaml /app/sub/c.yaml /app/web.yaml"},
		"nothing":               {"{valueFiles: ['x*.yaml']}", "/app/x*.yaml"},
		"nothing, as declared":  {"{valueFiles: ['x*.yaml'], ignoreMissingValueFiles: true}", ""},
	} {
		o := objects(t, "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec: {sources: [{path: app, repoURL: u, helm: "+test.helm+"}, {ref: v, repoURL: u}, {ref: o, repoURL: other}]}")
		topOf := func(s application.Source) (string, error) {
			if s.RepoURL == "u" {
				return "/", nil
			}
			return "", fetched.ErrNotFetching
		}
		r, err := Find(o, false)[0].withFiles(files, application.Origin{}, topOf)
		got := strings.Join(r.Files, " ")
		if len(r.Unknown) > 0 {
			got += " unknown " + strings.Join(r.Unknown, " ")
		}
		if err != nil || got != test.want || len(r.warnings) > 0 {
			t.Errorf("%s: %s, want %s; %v, %v", name, got, test.want, err, r.warnings)
		}
	}
}

func TestCRDFilesAreNoTemplates(t *testing.T) {
	for origin, want := range map[string]bool{
		"charts/app-1.0.0.tgz/crds/a.yaml:1": true, "charts/app-1.0.0.tgz/charts/db/crds/v1/a.yaml:1": true,
		"charts/app-1.0.0.tgz/templates/crds/a.yaml:1": false, "charts/app-1.0.0.tgz/templates/a.yaml:1": false,
	} {
		if is := IsCRDFile(manifest.Object{Origin: origin}); is != want {
			t.Errorf("%s: %t", origin, is)
		}
	}
}

// by is a delivery of a HelmRelease.
type by manifest.Object

func (by) Blame(p manifest.Problem) manifest.Problem { return p }
func (d by) Object() manifest.Object                 { return manifest.Object(d) }

// Flux applies by server-side apply, and the API server then has the nulls of spec.values, by which Helm removes the
// values of a chart. kubectl apply drops them from mappings, as tried with 1.36.3.
func TestNullsOfHelmReleases(t *testing.T) {
	const application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {syncPolicy: {syncOptions: [OPTION]}}"
	const nulls = "spec.values.a, null, which only server-side apply applies spec.values.b.c, null, which only server-side apply applies"
	in := helmReleaseWith("  values: {a: null, b: {c: null, d: 1}, l: [null]}\n")
	for name, test := range map[string]struct {
		by       string
		isByHand bool
		want     string
	}{
		"Flux":                         {"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}", true, ""},
		"Argo CD":                      {strings.Replace(application, "OPTION", "Replace=true", 1), false, nulls},
		"Argo CD by server-side apply": {strings.Replace(application, "OPTION", "ServerSideApply=true", 1), false, ""},
		"the root of Flux":             {"", false, ""},
		"people":                       {"", true, nulls},
	} {
		all := objects(t, in)
		if test.by != "" {
			for i := range all {
				all[i].Delivery = by(objects(t, test.by)[0])
			}
		}
		r := Find(all, test.isByHand)[0]
		if got := strings.Join(r.Unknown, " "); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
		if values, err := json.Marshal(r.Values); err != nil || string(values) != `{"a":null,"b":{"c":null,"d":1},"l":[null]}` {
			t.Errorf("%s: %s, %v", name, values, err)
		}
	}
}

// source-controller joins the URL of a registry and the name of a chart.
func TestChartsOfRegistriesHaveFolders(t *testing.T) {
	o := objects(t, `apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: actions, namespace: dev}
spec: {type: oci, url: "oci://ghcr.io/actions/"}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: runners, namespace: dev}
spec: {chart: {spec: {chart: charts/gha-runner-scale-set, version: 0.9.3, sourceRef: {kind: HelmRepository, name: actions}}}}`)
	r := Find(o, true)[0]
	if r.Chart != "gha-runner-scale-set" || r.Repository != "oci://ghcr.io/actions/charts" {
		t.Errorf("chart %s of %s", r.Chart, r.Repository)
	}
}
