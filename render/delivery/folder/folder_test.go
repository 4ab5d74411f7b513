package folder

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/charts"
	"example.com/gatehouse/test/sources"
)

const kustomization = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\n"

const anApplication = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: apps, namespace: argocd}\n"

func object(t *testing.T, content string) manifest.Object {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(content), &u.Object); err != nil {
		t.Fatal(err)
	}
	return manifest.Object{Unstructured: u, Written: u}
}

// repository returns the files of an archive.
func repository(t *testing.T, archive string) *source.FileSystem {
	t.Helper()
	_, files := sources.Open(t, t.TempDir(), txtar.Parse([]byte(archive)).Files)
	return files
}

func TestPlacesAreTheFoldersThatAToolBuilds(t *testing.T) {
	for name, test := range map[string]struct {
		object string
		want   []string
	}{
		"Flux":                {kustomization + "spec: {path: ./apps, sourceRef: {kind: GitRepository, name: a}}", []string{"/apps spec.path GitRepository/flux-system/a"}},
		"Flux, the root":      {kustomization + "spec: {sourceRef: {kind: Bucket, name: a, namespace: b}}", []string{"/ spec.path Bucket/b/a"}},
		"Flux, suspended":     {kustomization + "spec: {path: apps, suspend: true}", []string{"/apps spec.path /flux-system/ elsewhere"}},
		"Flux, another":       {kustomization + "spec: {path: apps, kubeConfig: {}}", []string{"/apps spec.path /flux-system/ elsewhere"}},
		"Flux, out of git":    {kustomization + "spec: {path: ../../apps}", []string{"/apps spec.path /flux-system/"}},
		"Flux, a wrong type":  {kustomization + "spec: {path: []}", nil},
		"Argo CD":             {anApplication + "spec: {source: {path: apps}, destination: {namespace: shop}}", []string{"/apps spec.source.path in shop"}},
		"Argo CD, sources":    {anApplication + "spec: {source: {path: a}, sources: [{chart: c}, {path: b}, {ref: v}]}", []string{"/b spec.sources[1].path"}},
		"Argo CD, a chart":    {anApplication + "spec: {source: {path: apps, chart: a}}", nil},
		"Argo CD, hydrated":   {anApplication + "spec: {sourceHydrator: {drySource: {path: apps}, syncSource: {targetBranch: b}}}", []string{"/apps spec.sourceHydrator.drySource.path"}},
		"Argo CD, a cluster":  {anApplication + "spec: {source: {path: apps}, destination: {name: other}}", []string{"/apps spec.source.path elsewhere"}},
		"another group":       {strings.Replace(anApplication, "argoproj.io", "app.k8s.io", 1) + "spec: {source: {path: apps}}", nil},
		"a file of kustomize": {"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nspec: {path: a}", nil},
	} {
		var got []string
		for _, p := range Places(object(t, test.object)) {
			text := p.Folder + " " + p.Field
			if p.IsFlux {
				text += " " + p.Source.Kind + "/" + p.Source.Namespace + "/" + p.Source.Name
			}
			if p.DefaultNamespace != "" {
				text += " in " + p.DefaultNamespace
			}
			if p.IsElsewhere {
				text += " elsewhere"
			}
			got = append(got, text)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// Each line of a kustomization as the tool builds it is in git, or is set by a field of the object.
func TestEachLineOfAKustomizationHasASetter(t *testing.T) {
	const inGit = "-- apps/kustomization.yaml --\nresources: [a.yaml]\nimages:\n- {name: a, newTag: v1}\nbuildMetadata: []\n-- apps/a.yaml --\n"
	for name, test := range map[string]struct{ object, archive, want string }{
		"fields beside the file": {kustomization + `spec:
  path: apps
  namePrefix: x-
  patches: [{patch: "a: b"}, {path: p.yaml}]
  commonMetadata: {labels: {team: a}}`,
			"-- apps/kustomization.yaml --\nresources: [a.yaml]\n", `resources: [a.yaml]: git
: git
namePrefix: x-: spec.namePrefix
patches:: spec.patches[0]
- patch: 'a: b': spec.patches[0] patch
- path: p.yaml: spec.patches[1] path
`},
		"an image of the file and another": {anApplication + `spec: {source: {path: apps, kustomize: {images: ["a:v2", "b:v3"], namespace: shop}}}`, inGit, `images:: spec.source.kustomize.images
- name: a: 3
newTag: v2: spec.source.kustomize.images newTag
- name: b: spec.source.kustomize.images[0] name
newTag: v3: spec.source.kustomize.images[0] newTag
namespace: shop: spec.source.kustomize.namespace
resources:: 1
- a.yaml: 1
`},
		"a list that is empty in git": {kustomization + "spec: {path: apps, images: [{name: a, newTag: v2}]}", "-- apps/kustomization.yaml --\nresources: [a.yaml]\nimages: []\n", `images:: spec.images[0]
- name: a: spec.images[0] name
newTag: v2: spec.images[0] newTag
resources:: 1
- a.yaml: 1
`},
		"a file of comments": {kustomization + "spec: {path: apps, namePrefix: x-}", "-- apps/kustomization.yaml --\n# later\n", `# later: git
: git
buildMetadata:: spec.path
- originAnnotations: spec.path
namePrefix: x-: spec.namePrefix
`},
		"an empty file": {kustomization + "spec: {path: apps, namePrefix: x-}", "-- apps/kustomization.yaml --\n", `buildMetadata:: spec.path
- originAnnotations: spec.path
namePrefix: x-: spec.namePrefix
`},
		"nothing": {kustomization + "spec: {path: apps}", inGit, ""},
		"a folder of files": {kustomization + "spec: {path: apps, targetNamespace: shop}", "-- apps/a.yaml --\nkind: A\napiVersion: v1\nmetadata: {name: a}\n", `namespace: shop: spec.targetNamespace
resources:: spec.path
- ./a.yaml: spec.path
`},
	} {
		files := repository(t, test.archive)
		made, err := Places(object(t, test.object))[0].Kustomization(files)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := setters(made, files); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, test.want)
		}
	}
}

// setters returns the lines of a kustomization, each with what sets it.
func setters(made *Kustomization, files *source.FileSystem) string {
	if made.File == "" {
		return ""
	}
	files = files.With(map[string][]byte{made.File: made.Content})
	noCluster := func(*source.Kustomization, []manifest.Object) charts.Cluster { return charts.Cluster{} }
	sources := source.Read(nil, nil, files, nil, noCluster, nil, filepath.Dir(made.File))
	text := ""
	for i, line := range strings.Split(strings.TrimSpace(string(made.Content)), "\n") {
		line, at := strings.TrimSpace(line), i+1+strings.Count(string(made.Content[:1]), "\n")
		what := "git"
		if file := source.Relative(made.File); !made.isInGit(file, at) {
			s := made.Setter(sources, file, at)
			if what = strings.TrimSpace(s.Field + " " + strings.Join(s.Below, " ")); s.Field == "" {
				what = fmt.Sprint(s.Line)
			}
		}
		text += line + ": " + what + "\n"
	}
	return text
}

// A file that is one mapping in braces takes no field beside them.
func TestAKustomizationHasTheFieldsOfItsDeliveryInAnyStyle(t *testing.T) {
	for name, content := range map[string]string{
		"blocks": "resources: [a.yaml]\n", "braces": "---\n{\n  resources: [a.yaml],\n}\n", "a last line of a document": "resources: [a.yaml]\n...\n",
	} {
		files := repository(t, "-- apps/kustomization.yaml --\n"+content+"-- apps/a.yaml --\n")
		place := Places(object(t, kustomization+"spec: {path: ./apps, targetNamespace: shop, sourceRef: {kind: GitRepository, name: a}}"))[0]
		made, err := place.Kustomization(files)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := yaml.Unmarshal(made.Content, &fields); err != nil || fields["namespace"] != "shop" || fields["resources"] == nil {
			t.Errorf("%s: %v %v", name, fields, err)
		}
	}
}

func TestADeliveryPointsToItsRenderedObjects(t *testing.T) {
	for name, test := range map[string]struct{ object, want string }{
		"Flux": {kustomization + `spec: {path: a, namePrefix: x-, images: [], patches: [], targetNamespace: shop, commonMetadata: {labels: {a: b}},
 prune: true, postBuild: {substitute: {A: b}}, dependsOn: [{name: b}], interval: 1m}`,
			"dependsOn: [{name: b}], interval: 1m, path: ./rendered/a, postBuild: {substitute: {A: b}}, prune: true"},
		"Argo CD": {anApplication + "spec: {project: p, source: {path: a, repoURL: r, directory: {recurse: true}, kustomize: {images: [a=b], namePrefix: x}}}",
			"project: p, source: {path: rendered/a, repoURL: r}"},
		"Argo CD, another field": {anApplication + "spec: {source: {path: a, kustomize: {images: [a=b], version: v5}}}", "source: {kustomize: {version: v5}, path: rendered/a}"},
		"Argo CD, sources":       {anApplication + "spec: {sources: [{chart: c}, {path: a, directory: {}}]}", "sources: [{chart: c}, {path: rendered/a}]"},
	} {
		o := object(t, test.object)
		places := Places(o)
		if len(places) != 1 {
			t.Errorf("%s: %d places", name, len(places))
			continue
		}
		places[0].PointTo(o, "rendered/a")
		want := map[string]any{}
		if err := yaml.Unmarshal([]byte("{"+test.want+"}"), &want); err != nil {
			t.Fatal(err)
		}
		if got := string(manifest.ToYAML(o.Object["spec"])); got != string(manifest.ToYAML(want)) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, manifest.ToYAML(want))
		}
	}
}

// A value that Flux or Argo CD completes in the cluster is none that a file could show.
func TestUnsureNamesAFieldOfUnknownValue(t *testing.T) {
	for name, test := range map[string]struct {
		object     string
		hasUnknown bool
		want       string
	}{
		"plain":                    {kustomization + "spec: {path: a, namePrefix: x-}", true, ""},
		"a variable":               {kustomization + "spec: {path: a, namePrefix: '${X}-'}", true, "namePrefix has variables of unknown values"},
		"a variable of known ones": {kustomization + "spec: {path: a, namePrefix: '${X}-'}", false, ""},
		"another field":            {kustomization + "spec: {path: a, interval: '${X}'}", true, ""},
		"metadata":                 {kustomization + "spec: {path: a, commonMetadata: {labels: {a: '${X}'}}}", false, "commonMetadata has a variable or kustomize.toolkit.fluxcd.io/substitute"},
		"Argo CD":                  {anApplication + "spec: {source: {path: a, kustomize: {namePrefix: $ARGOCD_APP_NAME-}}}", false, "namePrefix has variables of Argo CD"},
	} {
		if got := Places(object(t, test.object))[0].Unsure(test.hasUnknown); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestAnArtifactMayHaveAPartOfTheRepository(t *testing.T) {
	files := repository(t, "-- deploy/cluster/a.yaml --\n-- deploy/apps/b.yaml --\n-- top/c.yaml --\n")
	for _, test := range []struct{ kind, path, want string }{
		{"OCIRepository", "apps", "deploy/apps"}, {"ExternalArtifact", "apps", "deploy/apps"}, {"GitRepository", "apps", "apps"},
		{"OCIRepository", "top", "top"}, {"OCIRepository", "gone", "gone"}, {"OCIRepository", "cluster", "deploy/cluster"},
	} {
		if got := Resolve(files, test.kind, "deploy/cluster", test.path); got != test.want {
			t.Errorf("%s %s: %s, want %s", test.kind, test.path, got, test.want)
		}
	}
}
