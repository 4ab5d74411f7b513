package entry

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/settings"
	"example.com/gatehouse/test/sources"
)

// overlays has two overlays on a base, a component, and a hidden folder.
const overlays = `
-- shop/base/kustomization.yaml --
-- shop/prod/kustomization.yaml --
resources: [../base]
-- shop/test/kustomization.yaml --
resources: [../base]
-- shop/part/kustomization.yaml --
kind: Component
-- .hidden/kustomization.yaml --
`

// fleet has a cluster, an app that it lists, one that is switched off, and one whose folder is gone.
const fleet = `
-- apps/kustomization.yaml --
resources: [listed]
-- apps/listed/kustomization.yaml --
resources: [ks.yaml]
-- apps/listed/ks.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: listed, namespace: flux-system}
spec: {path: ./apps/listed/app, sourceRef: {kind: GitRepository, name: flux-system}}
-- apps/listed/app/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: listed, namespace: default}}
-- off/ks.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: off, namespace: flux-system}
spec: {path: ./off/app, sourceRef: {kind: GitRepository, name: flux-system}}
-- off/app/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: off, namespace: default}}
-- gone/ks.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: gone, namespace: flux-system}
spec: {path: ./apps/gone, sourceRef: {kind: GitRepository, name: flux-system}}
`

func TestEntriesAreWhatClustersAreSyncedBy(t *testing.T) {
	const instance = `
-- apps/listed/app/release.yaml --
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: flux-instance, namespace: flux-system}
spec: {values: {instance: {sync: {path: apps}}}}
`
	const sync = `
-- cluster/sync.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {path: ./apps, sourceRef: {kind: GitRepository, name: flux-system}}
`
	const own = `
-- own/kustomization.yaml --
resources: [sync.yaml, ../off]
-- own/sync.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: own, namespace: flux-system}
spec: {path: ./own, sourceRef: {kind: GitRepository, name: flux-system}}
-- off/kustomization.yaml --
resources: [ks.yaml]
`
	const apps = `
-- argocd/apps.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec: {source: {path: apps/shop}}
-- apps/shop/kustomization.yaml --
resources: [c.yaml]
-- apps/shop/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: listed, namespace: default}}
`
	const other = `
-- apps/listed/other.yaml --
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: other, namespace: flux-system}
spec: {url: https://example.com/acme/other}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: other, namespace: flux-system}
spec: {path: ., sourceRef: {kind: GitRepository, name: other}}
-- apps/listed/more.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: more, namespace: flux-system}
spec: {path: ./apps, sourceRef: {kind: GitRepository, name: other}}
`
	const circle = sync + `
-- apps/start/kustomization.yaml --
resources: [sync.yaml]
-- apps/start/sync.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: start, namespace: flux-system}
spec: {path: ./cluster, sourceRef: {kind: GitRepository, name: flux-system}}
-- apps/shop/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: shop, namespace: default}}
`
	for name, test := range map[string]struct {
		files string
		want  []string
	}{
		"flux-instance":     {fleet + instance, []string{"./apps"}},
		"Kustomization":     {fleet + sync, []string{"./cluster"}},
		"own Kustomization": {fleet + own + sync, []string{"./cluster", "./own"}},
		"own objects":       {fleet + strings.Replace(own, ", ../off", "", 1) + sync, []string{"./cluster", "./own"}},
		"an app of apps":    {apps, []string{"./argocd argocd/apps.yaml"}},
		"overlays":          {overlays, []string{"shop/prod", "shop/test"}},
		"nothing":           {"-- notes.txt --\n", nil},
		"a chart of Applications": {"-- system/argocd/Chart.yaml --\nname: argocd\ndependencies:\n- name: argocd-apps\n  version: 2.0.0\n",
			[]string{"system/argocd"}},
		"a chart of environments": {"-- root/Chart.yaml --\nname: root\n-- root/templates/a.yaml --\napiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\n" +
			"-- root/values.yaml --\n-- root/values-prod.yaml --\n-- root/values-test.yml --\n",
			[]string{"./root@prod root/values-prod.yaml", "./root@test root/values-test.yml"}},
		"apps alone":                   {fleet, []string{"./apps", "./gone", "./off"}},
		"an app in another repository": {fleet + sync + other, []string{"./cluster"}},
		"two that deliver each other":  {circle, []string{"./cluster"}},
		"one in its own app":           {fleet + sync + "-- apps/listed/self.yaml --\n" + strings.Split(strings.Replace(sync, "path: ./apps", "path: ./apps/listed", 1), "--\n")[1], []string{"./cluster"}},
		"a chart of a Rollout":         {"-- web/Chart.yaml --\nname: web\n-- web/templates/a.yaml --\napiVersion: argoproj.io/v1alpha1\nkind: Rollout\n", nil},
		"an app with a component apart": {fleet + sync + "-- side/ks.yaml --\n" + strings.Split(strings.Replace(sync, "path: ./apps", "path: ./side/app, components: [../../common]", 1), "--\n")[1] + "-- side/app/kustomization.yaml --\nresources: []\n-- common/kustomization.yaml --\nkind: Component\n",
			[]string{"./cluster"}},
	} {
		var got []string
		entries, _, _ := open(t, test.files).All()
		for _, e := range entries {
			got = append(got, strings.TrimSpace(e.Name+" "+strings.Join(slices.Concat(e.Resources, e.ValueFiles), " ")))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestSettingsNameEntriesAndLeaveOthersOut(t *testing.T) {
	for name, test := range map[string]struct {
		settings      settings.Settings
		want, leftOut []string
	}{
		"nothing": {settings.Settings{}, []string{"shop/prod", "shop/test"}, nil},
		"a folder that is none": {settings.Settings{NotEntries: []settings.Folder{{Name: "shop/test", Reason: "old"}}},
			[]string{"shop/prod"}, []string{"shop/test"}},
		"all below a pattern": {settings.Settings{NotEntries: []settings.Folder{{Name: "s*", Reason: "old"}}},
			nil, []string{"shop/prod", "shop/test"}},
		"a named folder": {settings.Settings{Entries: []settings.Entry{{Name: "plain"}, {Name: "shop/prod"}, {Name: "none"}}},
			[]string{"./plain", "shop/prod", "shop/test"}, nil},
		"a pattern names none": {settings.Settings{Entries: []settings.Entry{{Name: "plai*"}}},
			[]string{"shop/prod", "shop/test"}, nil},
		"a chart": {settings.Settings{Entries: []settings.Entry{{Name: "chart"}}},
			[]string{"./chart", "shop/prod", "shop/test"}, nil},
		"the values of a chart": {settings.Settings{Entries: []settings.Entry{{Name: "chart", ValueFiles: []string{"v.yaml"}}}},
			[]string{"./chart v.yaml", "shop/prod", "shop/test"}, nil},
	} {
		repository := open(t, overlays+"-- plain/a.yaml --\na: b\n-- chart/Chart.yaml --\nname: chart\n")
		repository.Settings = test.settings
		var got, leftOut []string
		entries, others, _ := repository.All()
		for _, e := range entries {
			got = append(got, strings.TrimSpace(e.Name+" "+strings.Join(e.ValueFiles, " ")))
		}
		for _, e := range others {
			leftOut = append(leftOut, e.Name)
		}
		if !slices.Equal(got, test.want) || !slices.Equal(leftOut, test.leftOut) {
			t.Errorf("%s: %q and %q, want %q and %q", name, got, leftOut, test.want, test.leftOut)
		}
	}
}

// application returns a file with an Application.
func app(file, name, spec string) string {
	return fmt.Sprintf("-- %s --\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: %s, namespace: argocd}\n"+
		"spec: {%s}\n", file, name, spec)
}

// applicationSet returns a file with an ApplicationSet.
func applicationSet(file, generator, path string) string {
	return fmt.Sprintf("-- %s --\napiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: set, namespace: argocd}\n"+
		"spec: {generators: [%s], template: {metadata: {name: '{{name}}'}, spec: {source: {path: '%s'}}}}\n", file, generator, path)
}

// overlay returns a folder with a kustomization.
func overlay(folder, content string) string {
	return "-- " + folder + "/kustomization.yaml --\n" + content + "\n"
}

func TestEntriesAreTheRootsOfWhatDelivers(t *testing.T) {
	const configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}\n"
	const kubeConfig = "-- hub/spoke.yaml --\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n" +
		"metadata: {name: spoke, namespace: east}\n" +
		"spec: {path: apps, kubeConfig: {secretRef: {name: config}}, sourceRef: {kind: GitRepository, name: flux-system}}\n"
	const chart = "-- apps/Chart.yaml --\nname: apps\n-- apps/values.yaml --\n-- apps/templates/web.yaml --\n" +
		"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\n" +
		"spec:\n  source:\n    path: sites/{{ .Values.site }}\n"
	web := overlay("web", "resources: []")
	for name, test := range map[string]struct{ files, want string }{
		"a root beside a kustomization": {overlay("argocd", "resources: [ns.yaml]") + "-- argocd/ns.yaml --\n" +
			app("argocd/root.yaml", "root", "source: {path: argocd/apps}") +
			app("argocd/apps/web.yaml", "web", "source: {path: web}") + web, "./argocd(argocd/root.yaml)"},
		"a root in the top folder": {app("root.yaml", "root", "source: {path: web}") + web, ".(root.yaml)"},
		"a patch that no kustomization lists": {overlay("prod", "resources: [../web]") + web +
			"-- prod/patches/web.yaml --\n{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: web}}\n", "./prod"},
		"a list": {applicationSet("sets/web.yaml", "list: {elements: [{name: web}]}", "{{name}}") + web,
			"./sets(sets/web.yaml)"},
		"folders of git": {applicationSet("sets/web.yaml", "git: {directories: [{path: w*}]}", "{{path}}") + web,
			"./sets(sets/web.yaml)"},
		"folders of another repository": {strings.Replace(applicationSet("sets/other.yaml", "git: {repoURL: 'https://example.com/acme/other', directories: [{path: sets}]}", "{{path}}"), "name: set", "name: other", 1) +
			app("sets/web.yaml", "web", "source: {path: web}") + web, "./sets(sets/other.yaml sets/web.yaml)"},
		"folders of git for each cluster": {applicationSet("sets/web.yaml",
			"matrix: {generators: [{git: {directories: [{path: w*}]}}, {clusters: {}}]}", "{{path}}") + web +
			overlay("other", "resources: [c.yaml]"), "./other ./sets(sets/web.yaml)"},
		"folders of files in git for each cluster": {applicationSet("sets/web.yaml",
			"matrix: {generators: [{clusters: {}}, {git: {files: [{path: '*/config.json'}]}}]}", "{{ .path.path }}") + web +
			overlay("other/prod", "resources: [c.yaml]"), "./sets(sets/web.yaml) other/prod"},
		"folders at any depth for each cluster": {applicationSet("sets/web.yaml",
			"matrix: {generators: [{clusters: {}}, {git: {files: [{path: '**/config.json'}]}}]}", "{{ .path.path }}") + web +
			overlay("other/prod", "resources: [c.yaml]"), "./sets(sets/web.yaml)"},
		"a generator that asks others": {applicationSet("sets/web.yaml", "pullRequest: {}", "w{{name}}") + web,
			"./sets(sets/web.yaml)"},
		"a chart of Applications": {app("boot/apps.yaml", "apps", "source: {path: apps}") + chart +
			overlay("sites/web", "resources: []"), "./boot(boot/apps.yaml)"},
		"a chart alone": {chart, "./apps"},
		"a chart with any path in a kustomization": {overlay("prod", "helmGlobals: {chartHome: ../charts}\nhelmCharts: [{name: apps}]") +
			"-- charts/apps/Chart.yaml --\nname: apps\n-- charts/apps/templates/a.yaml --\napiVersion: argoproj.io/v1alpha1\n" +
			"kind: Application\nspec:\n  source:\n    path: {{ .path }}\n" + overlay("web", "resources: [c.yaml]") + "-- web/c.yaml --\n" + configMap, "./prod"},
		"what is applied by hand, to one cluster": {app("a/a.yaml", "a", "source: {path: web}") +
			app("b/b.yaml", "b", "source: {path: web}") + "-- a/c.yaml --\n" + configMap + "-- a/values.yaml --\na: b\n" +
			web, ".(a/a.yaml a/c.yaml b/b.yaml)"},
		"one name in two folders": {app("a/a.yaml", "a", "source: {path: web}") +
			app("b/a.yaml", "a", "source: {path: web}") + web, "./a(a/a.yaml) ./b(b/a.yaml)"},
		"a name that another root leads to": {app("root.yaml", "root", "source: {path: apps}") +
			app("apps/web.yaml", "web", "source: {path: web}") + app("backup/web.yaml", "web", "source: {path: web}") + web,
			".(root.yaml) ./backup(backup/web.yaml)"},
		"one level": {app("root.yaml", "root", "source: {path: apps}") +
			app("apps/below/web.yaml", "web", "source: {path: web}") + web,
			".(apps/below/web.yaml root.yaml)"},
		"all levels, and hidden ones": {app("root.yaml", "root", "source: {path: apps, directory: {recurse: true}}") +
			app("apps/.below/web.yaml", "web", "source: {path: web}") + web, ".(root.yaml)"},
		"what a directory does not include": {app("apps/root.yaml", "root",
			"source: {path: apps, directory: {include: '{web,api}.yaml'}}") + app("apps/web.yaml", "web", "source: {path: web}") +
			app("apps/other.yaml", "other", "source: {path: web}") + web, "./apps(apps/other.yaml apps/root.yaml)"},
		"what a directory excludes": {app("apps/root.yaml", "root", "source: {path: apps, directory: {exclude: root.yaml}}"),
			"./apps(apps/root.yaml)"},
		"what Argo CD skips": {app("root.yaml", "root", "source: {path: apps}") +
			app("apps/web.yaml", "web", "source: {path: web}") + "# +argocd:skip-file-rendering\n" + web,
			".(apps/web.yaml root.yaml)"},
		"clusters of a hub": {app("hub/a.yaml", "a", "source: {path: web}, destination: {server: 'https://kubernetes.default.svc'}") +
			app("hub/b.yaml", "b", "source: {path: web}, destination: {name: east}") +
			app("hub/c.yaml", "c", "source: {path: web}, destination: {server: 'https://192.0.2.1:6443'}") + web,
			"./hub(hub/a.yaml hub/b.yaml hub/c.yaml) ./hub@192.0.2.1:6443(hub/c.yaml) ./hub@east(hub/b.yaml)"},
		"another cluster than that of the root": {app("root/a.yaml", "a", "source: {path: web}, destination: {name: east}") +
			app("b.yaml", "b", "source: {path: web}, destination: {name: east}") + web, ".(b.yaml root/a.yaml) .@east(b.yaml root/a.yaml)"},
		"a cluster by a kubeConfig": {kubeConfig + overlay("apps", "resources: []"), "./hub ./hub@east.config(hub/spoke.yaml)"},
		"patches, tests and templates": {overlay("a", "resources: [c.yaml]\npatches: [{path: p.yaml}]") + "-- a/c.yaml --\n" + configMap +
			overlay("empty", "resources: []\npatches: []") + overlay("skeleton", "resources: ['{{ .name }}.yaml']") +
			app("a/p.yaml", "p", "source: {path: web}") + app("testdata/t.yaml", "t", "source: {path: web}") +
			app("b/t.yaml", "'${NAME}'", "source: {path: web}"), "./a"},
		"a path that a program fills in": {app("root.tmpl.yaml", "root", "source: {path: 'envs/${env}'}") +
			overlay("envs/dev", "resources: [c.yaml]") + "-- envs/dev/c.yaml --\n" + configMap +
			app("envs/prod/a.yaml", "a", "source: {path: web}") + web, "envs/dev envs/prod(envs/prod/a.yaml)"},
		"an Application of another repository": {app("a/root.yaml", "root",
			"source: {repoURL: 'https://example.com/acme/other', path: .}") + app("b/web.yaml", "web", "source: {path: web}") + web,
			".(a/root.yaml b/web.yaml)"},
		"what a comment lists": {overlay("a", "resources:\n- c.yaml\n# - ../b ## later\n  #- ../c/app.yaml") + "-- a/c.yaml --\n" + configMap +
			overlay("b", "resources: [../web]") + app("c/app.yaml", "c", "source: {path: c/own}") + overlay("c/own", "resources: [../../web]") + web, "./a"},
		"what leads to a template": {overlay("dev", "resources: [../base]") + overlay("base", "resources: ['{{ .name }}.yaml']"), ""},
		"a text with a template": {overlay("dev", "resources: [../base]") +
			overlay("base", "configMapGenerator: [{name: a, literals: ['host={{ .Host }}']}]"), "./dev"},
		"a hidden folder": {app(".argocd/root.yaml", "root", "source: {path: web}") + web +
			strings.ReplaceAll(kubeConfig, "hub/", ".archive/hub/"), "./.argocd(.argocd/root.yaml)"},
		"what is rendered": {app("root.yaml", "root", "source: {path: rendered/prod}"), ""},
		"environments of another layout": {app("argocd/root.yaml", "root", "source: {path: environments/dev/apps}") +
			"-- environments/dev/apps/c.yaml --\n" + configMap, "./argocd(argocd/root.yaml)"},
		"environments": {overlay("environments/dev", "resources: [../../web]") + web, ""},
		"an alias within what it stands for": {"-- a.yaml --\napiVersion: argoproj.io/v1alpha1\nkind: Application\n" +
			"metadata: {name: a}\nspec: &a {source: {path: *a}}\n", ".(a.yaml)"},
		"what is no YAML": {app("root.yaml", "root", "source: {path: apps}") + app("apps/web.yaml", "web", "source: {path: web}\n x") +
			app("other/web.yaml", "b", "source: {path: web}\n x") + app("values.yaml", "{{ cookiecutter.name }}", "source: {path: web}\n x") + web,
			".(root.yaml) ./other(other/web.yaml)"},
	} {
		var got []string
		entries, _, _ := open(t, test.files).All()
		for _, e := range entries {
			name := e.Name
			if len(e.Resources) > 0 {
				name += "(" + strings.Join(e.Resources, " ") + ")"
			}
			got = append(got, name)
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// A folder has the syncs that init names, and the clusters below it that it moves in.
func TestSyncsAndClustersOfAFolder(t *testing.T) {
	const cluster = `-- clusters/NAME/sync.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {path: ./clusters/NAME, sourceRef: {kind: GitRepository, name: flux-system}}
`
	const root = `-- root.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: root, namespace: argocd}
spec: {sources: [{chart: x}, {path: clusters/c/, directory: {recurse: true}}]}
-- rendered/root.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: root, namespace: argocd}
spec: {source: {path: clusters/c}}
`
	r := open(t, strings.ReplaceAll(cluster, "NAME", "a")+strings.ReplaceAll(cluster, "NAME", "b")+root)
	for folder, want := range map[string][]string{"clusters": {"clusters/a", "clusters/b"}, "clusters/a": {"clusters/a"},
		".": {"clusters/a", "clusters/b"}, "clusters/c": {}} {
		if got := r.Clusters(folder); !slices.Equal(got, want) {
			t.Errorf("clusters in %s: %q, want %q", folder, got, want)
		}
	}
	for folder, want := range map[string]string{"clusters/a": "[clusters/a/sync.yaml] false", "clusters/c": "[root.yaml] true",
		"clusters": "[] false"} {
		files, isDirectory := r.SyncsOf(folder)
		if got := fmt.Sprint(files, isDirectory); got != want {
			t.Errorf("syncs of %s: %s, want %s", folder, got, want)
		}
	}
}

func TestFoldersOfObjectsThatNothingDelivers(t *testing.T) {
	const object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
	files := ""
	for _, name := range []string{"manual/a.yaml", "apps/web/a.yaml", "apps/web/more/a.yaml", "listed/a.yaml", "off/a.yaml",
		".hidden/a.yaml", "chart/templates/a.yaml", "left/out/a.yaml", "hand/b.yaml", "environments/prod/a.yaml", "listed/b.yaml"} {
		files += "-- " + name + " --\n" + object
	}
	files += "-- chart/Chart.yaml --\nname: c\n-- notes/values.yaml --\na: 1\n-- environments/prod/kustomization.yaml --\n" +
		"-- listed/kustomization.yaml --\nresources: [a.yaml]\n# - ../off\n" +
		app("hand/app.yaml", "web", "source: {path: apps/web}")
	r := open(t, files)
	r.Settings = settings.Settings{NotEntries: []settings.Folder{{Name: "left", Reason: "old"}}}
	want := []string{"apps/web/more", "listed/b.yaml", "manual"}
	if _, _, got := r.All(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A folder that nothing delivers may have variables of Flux where Flux is, and Argo CD leaves them alone.
func TestVariablesAreOfFlux(t *testing.T) {
	const folders = "-- apps/a/kustomization.yaml --\nresources: [a.yaml]\n-- apps/b/kustomization.yaml --\nresources: [b.yaml]\n"
	source := "sourceRef: {kind: GitRepository, name: other}"
	isSubstituted := func(archive string) (is bool) {
		entries, _, _ := open(t, archive).All()
		for _, e := range entries {
			is = is || e.MayBeSubstituted
		}
		return is
	}
	unknown := applicationSet("set.yaml", "clusterDecisionResource: {}", "apps/c")
	if isSubstituted(folders + unknown) {
		t.Error("an ApplicationSet substitutes variables")
	}
	flux := "-- flux/ks.yaml --\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: c}\nspec: {path: ./elsewhere, " + source + "}\n"
	if !isSubstituted(folders + unknown + flux) {
		t.Error("nothing substitutes variables beside a Kustomization of Flux")
	}
}

// open returns the repository of an archive.
func open(t *testing.T, archive string) Repository {
	t.Helper()
	tree, files := sources.Open(t, t.TempDir(), txtar.Parse([]byte(archive)).Files)
	return Repository{Files: files, Tree: tree,
		Origin: application.Origin{URLs: []string{"https://example.com/acme/this"}}}
}
