package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
)

// startingCluster has a chart with a definition in crds/, one in a template, and a part that asks for a kind.
const startingCluster = `
-- clusters/a/flux-system/gotk-sync.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {path: ./clusters/a, sourceRef: {kind: GitRepository, name: flux-system}}
-- charts/certs/Chart.yaml --
apiVersion: v2
name: certs
version: 1.0.0
-- charts/certs/templates/crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: issuers.certs.example.com}
spec:
  group: certs.example.com
  names: {kind: Issuer, plural: issuers, singular: issuer, listKind: IssuerList}
  scope: Cluster
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
{{- if .Capabilities.APIVersions.Has "watch.example.com/v1" }}
---
apiVersion: watch.example.com/v1
kind: Watch
metadata: {name: optional, namespace: {{ .Release.Namespace }}}
{{- end }}
-- charts/watched/Chart.yaml --
apiVersion: v2
name: watched
version: 1.0.0
-- charts/watched/templates/w.yaml --
apiVersion: watch.example.com/v1
kind: Watch
metadata: {name: always, namespace: {{ .Release.Namespace }}}
-- charts/watch/Chart.yaml --
apiVersion: v2
name: watch
version: 1.0.0
-- charts/watch/crds/crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: watches.watch.example.com}
spec:
  group: watch.example.com
  names: {kind: Watch, plural: watches, singular: watch, listKind: WatchList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
-- crds/crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: watches.watch.example.com}
spec:
  group: watch.example.com
  names: {kind: Watch, plural: watches, singular: watch, listKind: WatchList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// startingFiles writes objects of short forms: K NAME FIELDS is a Kustomization of folder NAME, R NAME CHART FIELDS a
// HelmRelease, and other lines are YAML.
func startingFiles(short string) string {
	var b strings.Builder
	b.WriteString(startingCluster)
	for line := range strings.Lines(strings.ReplaceAll(short, "\t", "")) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 4)
		switch fields := strings.Join(words[min(2, len(words)):], " "); words[0] {
		case "K":
			b.WriteString("---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: " + words[1] +
				", namespace: flux-system}\nspec: {path: ./" + words[1] + ", sourceRef: {kind: GitRepository, name: flux-system}, " +
				fields + "}\n")
		case "R":
			b.WriteString("---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: " + words[1] +
				", namespace: flux-system}\nspec: {chart: {spec: {chart: ./charts/" + words[2] +
				", sourceRef: {kind: GitRepository, name: flux-system}}}, " + strings.Join(words[3:], " ") + "}\n")
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

const (
	anIssuer   = "---\n{apiVersion: certs.example.com/v1, kind: Issuer, metadata: {name: main}}\n"
	aWatch     = "---\n{apiVersion: watch.example.com/v1, kind: Watch, metadata: {name: main, namespace: flux-system}}\n"
	aNamespace = "---\n{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n"
	aSettings  = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: flux-system}, data: {a: b}}\n"
	inShop     = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop}}\n"
	entryFile  = "-- clusters/a/main.yaml --\n"
)

func TestEmptyClusterComesUp(t *testing.T) {
	const never = "never comes up in an empty cluster: "
	for name, test := range map[string]struct {
		files string
		want  []string // parts of the warnings
	}{
		"a custom resource beside the release of its kind": {
			entryFile + "K apps\n-- apps/a.yaml --\nR certs certs\n" + anIssuer,
			[]string{"apps/a.yaml:7: warning: Issuer main: " + never + "Kustomization flux-system/apps applies nothing before there is kind Issuer, which HelmRelease flux-system/certs brings, which Kustomization flux-system/apps applies: move it to a Kustomization of its own with dependsOn: [{name: apps}], and set wait: true in apps"}},
		"a chart with its own Namespace": {
			entryFile + "R own own\n-- charts/own/Chart.yaml --\napiVersion: v2\nname: own\nversion: 1.0.0\n" +
				"-- charts/own/templates/a.yaml --\n" + inShop + aNamespace, nil},
		"the two in an order": {
			entryFile + "K apps wait: true\nK more dependsOn: [{name: apps}]\n-- apps/a.yaml --\nR certs certs\n-- more/a.yaml --\n" + anIssuer, nil},
		"the two in no order, and tried again": {
			entryFile + "K apps\nK more\n-- apps/a.yaml --\nR certs certs\n-- more/a.yaml --\n" + anIssuer, nil},
		"the wrong order": {
			entryFile + "K apps dependsOn: [{name: more}]\nK more\n-- apps/a.yaml --\nR certs certs\n-- more/a.yaml --\n" + anIssuer,
			[]string{"more/a.yaml:2: warning: Issuer main: " + never + "Kustomization flux-system/more applies nothing before there is kind Issuer, which HelmRelease flux-system/certs brings, which Kustomization flux-system/apps applies, which depends on Kustomization flux-system/more: let Kustomization flux-system/more depend on Kustomization flux-system/apps, and remove that dependsOn of Kustomization flux-system/apps"}},
		"in the entry": {
			entryFile + "K apps\n" + anIssuer + "-- apps/a.yaml --\nR certs certs\n",
			[]string{"clusters/a/main.yaml:7: warning: Issuer main: " + never + "Kustomization flux-system/flux-system applies nothing"}},
		"a definition beside its objects": {
			entryFile + "K crds\n-- crds/more.yaml --\n" + aWatch, nil},
		"a Namespace beside its objects": {
			entryFile + "K apps\n-- apps/a.yaml --\n" + inShop + aNamespace, nil},
		"a Namespace of a Kustomization that waits": {
			entryFile + "K apps\nK late dependsOn: [{name: apps}]\n-- apps/a.yaml --\n" + inShop + "-- late/a.yaml --\n" + aNamespace,
			[]string{"apps/a.yaml:2: warning: ConfigMap shop/web: " + never + "Kustomization flux-system/apps applies nothing before there is Namespace shop, which Kustomization flux-system/late brings, which depends on"}},
		"a Namespace that a release creates": {
			entryFile + "K apps\n-- apps/a.yaml --\nR certs certs targetNamespace: shop, install: {createNamespace: true}\n" + inShop,
			[]string{"ConfigMap shop/web: " + never}},
		"a Namespace that nobody brings": {entryFile + "K apps\n-- apps/a.yaml --\n" + inShop, nil},
		"a kind that nobody brings":      {entryFile + "K apps\n-- apps/a.yaml --\n" + anIssuer, nil},
		"a release that needs a kind of a later one": {
			entryFile + "K apps wait: true\nK more dependsOn: [{name: apps}]\n-- apps/a.yaml --\nR watched watched\n-- more/a.yaml --\nR watch watch\n",
			[]string{"apps/a.yaml:2: warning: HelmRelease flux-system/watched: " + never + "HelmRelease flux-system/watched applies nothing before there is kind Watch"}},
		"a chart that asks for the kind of a later Kustomization": {
			entryFile + "K apps wait: true\nK crds dependsOn: [{name: apps}]\n-- apps/a.yaml --\nR certs certs\n", nil},
		"a chart that needs the kind of a later Kustomization": {
			entryFile + "K apps wait: true\nK crds dependsOn: [{name: apps}]\n-- apps/a.yaml --\nR watched watched\n",
			[]string{"HelmRelease flux-system/watched: " + never}},
		"a child that waits for its parent": {
			entryFile + "K apps wait: true\n-- apps/a.yaml --\nK child dependsOn: [{name: apps}]\n-- child/a.yaml --\n" + aSettings,
			[]string{"Kustomization flux-system/child: " + never + "Kustomization flux-system/child depends on Kustomization flux-system/apps, which waits for Kustomization flux-system/child: remove this dependsOn, or spec.wait of Kustomization flux-system/apps"}},
		"a circle": {
			entryFile + "K apps dependsOn: [{name: more}]\nK more dependsOn: [{name: apps}]\n-- apps/a.yaml --\n" + aSettings + "-- more/a.yaml --\n" + inShop,
			[]string{"depends on Kustomization flux-system/apps: remove one dependsOn"}},
		"a dependency that is not there": {
			entryFile + "K apps dependsOn: [{name: none}]\n-- apps/a.yaml --\n" + aSettings,
			[]string{"clusters/a/main.yaml:5: warning: Kustomization flux-system/apps: spec.dependsOn: there is no Kustomization flux-system/none"}},
		"a dependency that another source may bring": {
			entryFile + "K apps dependsOn: [{name: none}]\nK other\n-- apps/a.yaml --\n" + aSettings, nil},
		"a dependency with an expression": {
			entryFile + "K apps wait: true\n-- apps/a.yaml --\nK child dependsOn: [{name: apps, readyExpr: 'true'}]\n-- child/a.yaml --\n" + aSettings, nil},
		"a kind that two releases bring, of which one is there": {
			entryFile + "K apps\nK more\n-- apps/a.yaml --\nR certs certs\n" + anIssuer + "-- more/a.yaml --\nR other certs\n", nil},
		"a kind that two releases bring, behind it": {
			entryFile + "K apps\nK more dependsOn: [{name: apps}]\n-- apps/a.yaml --\nR certs certs\n" + anIssuer + "-- more/a.yaml --\nR other certs\n",
			[]string{"Issuer main: " + never}},
		"two knots": {
			entryFile + "K apps\nK more\n-- apps/a.yaml --\nR certs certs\n" + anIssuer + "-- more/a.yaml --\nR watch watch\n" + aWatch,
			[]string{"Issuer main: " + never, "Watch flux-system/main: " + never}},
		"all that waits on a knot": {
			entryFile + "K apps wait: true\nK more dependsOn: [{name: apps}]\n-- apps/a.yaml --\nR certs certs\n" + anIssuer + "-- more/a.yaml --\n" + aSettings,
			[]string{"Issuer main: " + never}},
		"a Kustomization that is suspended may bring the kind": {
			entryFile + "K apps\nK other suspend: true\n-- apps/a.yaml --\nR certs certs\n" + anIssuer + "-- other/a.yaml --\n" + aSettings, nil},
		"people who install by helmfile": {
			entryFile + "K apps\n-- apps/a.yaml --\nR certs certs\n" + anIssuer + "-- bootstrap/helmfile.yaml --\n", nil},
		"a kind that is installed elsewhere": {
			entryFile + "K apps\n-- apps/a.yaml --\nR certs certs\n" + anIssuer + "-- clusters/a/kustomization.yaml --\nmetadata: {annotations: {gatehouse.example.com/elsewhere: CustomResourceDefinition issuers.certs.example.com}}\nresources: [main.yaml, flux-system/gotk-sync.yaml]\n", nil},
		"a kind that is applied first": {
			entryFile + "---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: kustomize-controller, namespace: flux-system}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: 'a:1', args: ['--custom-apply-stage-kinds=helm.toolkit.fluxcd.io/HelmRelease']}]}}}}\n" +
				"K apps\n-- apps/a.yaml --\nR certs certs\n" + anIssuer, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.FieldsFunc(startingWarnings(t, startingFiles(test.files), "clusters/a"), func(r rune) bool { return r == '\n' })
			if len(got) != len(test.want) {
				t.Fatalf("%d warnings, want %d:\n%s", len(got), len(test.want), strings.Join(got, "\n"))
			}
			for i, want := range test.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("%s\nwant %s", got[i], want)
				}
			}
		})
	}
}

// Argo CD applies nothing of an Application while a kind is missing that no definition of it brings.
func TestEmptyClusterOfArgoComesUp(t *testing.T) {
	const application = "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: %s, namespace: argocd}\n" +
		"spec: {project: default, source: {repoURL: 'https://git.example.com/fleet.git', path: %s}, destination: {server: 'https://kubernetes.default.svc', namespace: shop}}\n"
	root := "-- argo/root.yaml --\n" + fmt.Sprintf(application, "root", "apps") + "-- apps/a.yaml --\n"
	child := fmt.Sprintf(application, "watch", "charts/watch")
	for name, test := range map[string]struct {
		files, want string
	}{
		"beside the Application of its kind": {root + child + aWatch, "apps/a.yaml:7: warning: Watch flux-system/main: never comes up in an empty cluster: " +
			"Application argocd/root applies nothing before there is kind Watch, which Application argocd/watch brings, which Application argocd/root applies: " +
			"annotate it with argocd.argoproj.io/sync-options: SkipDryRunOnMissingResource=true"},
		"told to skip it":                  {root + child + strings.Replace(aWatch, "name: main", "name: main, annotations: {argocd.argoproj.io/sync-options: SkipDryRunOnMissingResource=true}", 1), ""},
		"in two Applications":              {root + child + fmt.Sprintf(application, "late", "late") + "-- late/a.yaml --\n" + aWatch, ""},
		"applied by kubectl":               {"-- argo/root.yaml --\n" + child + aWatch, ""},
		"beside its definition":            {root + aWatch + "-- apps/crd.yaml --\n" + startingCluster[strings.LastIndex(startingCluster, "apiVersion: apiext"):], ""},
		"beside an Application from afar":  {root + child + fmt.Sprintf(application, "afar", "none") + aWatch, "apps/a.yaml:"},
		"below an Application beside afar": {root + child + aWatch + "-- argo/more.yaml --\n" + fmt.Sprintf(application, "afar", "none"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := startingWarnings(t, startingCluster+test.files, "./argo")
			if got != test.want && (test.want == "" || !strings.HasPrefix(got, test.want)) {
				t.Errorf("%s\nwant %s", got, test.want)
			}
		})
	}
}

// A cluster serves the definitions of all charts, whatever their order.
func TestChartsAskForDefinitionsOfOtherCharts(t *testing.T) {
	for name, test := range map[string]struct {
		releases string
		want     bool
	}{
		"one before":           {"R watch watch\nR z certs\n", true},
		"one after":            {"R certs certs\nR watch watch\n", true},
		"none":                 {"R certs certs\n", false},
		"one without its kind": {"R certs certs\nR watch watch install: {crds: Skip}\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			files := startingFiles(entryFile + "K apps\n-- apps/a.yaml --\n" + test.releases)
			repository, err := Open(write(t, files), gatehouse.All(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer repository.Close()
			e := repository.Load("clusters/a", LoadOptions{})
			is := slices.ContainsFunc(e.Judged(), func(o manifest.Object) bool { return o.GetName() == "optional" })
			if is != test.want || manifest.HasErrors(e.Problems) {
				t.Errorf("%t, %v", is, e.Problems)
			}
		})
	}
}

// Helm, unlike kustomize, passes an object without a kind on.
func TestObjectsWithoutAKindAreNamed(t *testing.T) {
	files := startingFiles(entryFile+"R odd odd\n") + "-- charts/odd/Chart.yaml --\napiVersion: v2\nname: odd\nversion: 1.0.0\n" +
		"-- charts/odd/templates/a.yaml --\nmetadata: {name: web}\n"
	repository, err := Open(write(t, files), gatehouse.All(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	e := repository.Load("clusters/a", LoadOptions{})
	errs, _ := manifest.SplitProblems(e.Problems)
	if len(errs) == 0 || !strings.Contains(errs[0].Message, "installs an invalid object flux-system/web (") {
		t.Error(e.Problems)
	}
	if unchecked := e.Unchecked(); len(unchecked) > 0 {
		t.Error(unchecked)
	}
}

// startingWarnings returns the warnings about an empty cluster.
func startingWarnings(t *testing.T, files, entry string) string {
	t.Helper()
	repository, err := Open(write(t, files), gatehouse.All(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	problems := repository.Load(entry, LoadOptions{}).Problems
	var all []string
	for _, p := range problems {
		if !p.Warning {
			t.Error(p)
		}
		if strings.Contains(p.Message, "never comes up in an empty cluster") || strings.Contains(p.Message, "Flux never applies it") {
			all = append(all, p.String())
		}
	}
	return strings.Join(all, "\n")
}
