package render

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	fluxkustomize "github.com/fluxcd/pkg/kustomize"
	"github.com/fluxcd/pkg/sourceignore"
	ssautil "github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
)

var followedRepository = flag.String("followed", "", "the folder of a repository of Flux to build by its own code as well")

// ignoredFiles is spec.ignore of the source.
const ignoredFiles = "/plain/unwanted"

// A repository with each field of a Kustomization that changes what its folder builds to.
const followedFolders = `
-- clusters/a/sync.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: plain, namespace: flux-system}
spec: {path: ./plain, sourceRef: {kind: GitRepository, name: flux-system}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: overlay, namespace: flux-system}
spec:
  path: ./overlay
  sourceRef: {kind: GitRepository, name: flux-system}
  targetNamespace: shop
  namePrefix: a-
  nameSuffix: -z
  components: [../component, ../none]
  ignoreMissingComponents: true
  commonMetadata: {labels: {team: blue}, annotations: {note: x}}
  images: [{name: web, newTag: "9"}, {name: other, newName: mirror.example.com/other, digest: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}]
  patches:
  - patch: |
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: _}
      spec: {minReadySeconds: 5}
    target: {kind: Deployment}
  - {patch: '[{"op": "add", "path": "/metadata/annotations", "value": {"patched": "yes"}}]', target: {kind: ConfigMap, name: settings}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: generated, namespace: flux-system}
spec:
  path: ./generated
  sourceRef: {kind: GitRepository, name: flux-system}
  commonMetadata: {labels: {app: outer, team: blue}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: empty, namespace: flux-system}
spec: {path: ./empty, sourceRef: {kind: GitRepository, name: flux-system}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: below, namespace: flux-system}
spec: {path: below, sourceRef: {kind: GitRepository, name: flux-system}, targetNamespace: deep}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: imaged, namespace: flux-system}
spec: {path: imaged, sourceRef: {kind: GitRepository, name: flux-system}, images: [{name: web, newTag: "2"}]}
-- imaged/kustomization.yaml --
resources: [pod.yaml]
images: [{name: web, newTag: "1"}]
-- imaged/pod.yaml --
apiVersion: v1
kind: Pod
metadata: {name: imaged, namespace: x}
spec: {containers: [{name: web, image: web}]}
-- clusters/a/own.yaml --
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {ignore: "` + ignoredFiles + `"}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {path: ./clusters/a, sourceRef: {kind: GitRepository, name: flux-system}}
-- plain/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: plain, namespace: x}
data:
  folded: >-
    a
      - b
-- plain/sub/kustomization.yaml --
configMapGenerator: [{name: listed, namespace: x, literals: [a=b]}]
-- plain/sub/ignored.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: ignored, namespace: x}
-- plain/other/b.yml --
apiVersion: v1
kind: ConfigMap
metadata: {name: other, namespace: x}
-- plain/other/left.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: left, namespace: x}
-- plain/other/.sourceignore --
# not for the cluster
l*.yaml
-- plain/unwanted/c.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: unwanted, namespace: x}
-- plain/other/notes.txt --
no manifest
-- component/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
labels: [{pairs: {from: component}, includeSelectors: true}]
-- overlay/kustomization.yaml --
resources: [d.yaml]
namePrefix: own-
images: [{name: web, newName: mirror.example.com/web, newTag: "1"}]
configMapGenerator: [{name: settings, literals: [k=v], options: {disableNameSuffixHash: true}}]
patches:
- {patch: '[{"op": "replace", "path": "/spec/replicas", "value": 3}]', target: {kind: Deployment}}
-- overlay/d.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "web:0"}, {name: other, image: "other:0", envFrom: [{configMapRef: {name: settings}}]}]
-- generated/kustomization.yaml --
commonLabels: {app: inner, tier: x}
configMapGenerator: [{name: generated, namespace: x, literals: [a=b]}]
-- empty/kustomization.yaml --
resources: []
-- below/sync.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: leaf, namespace: flux-system}
spec: {path: ./leaf, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}, targetNamespace: leaf}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: one, namespace: flux-system}
spec: {path: ./named, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}, postBuild: {substitute: {NAME: one}}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: two, namespace: flux-system}
spec: {path: ./named, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}, postBuild: {substitute: {NAME: two}}}
-- named/c.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: "${NAME}", namespace: x}
-- leaf/kustomization.yaml --
resources: [c.yaml]
-- leaf/c.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: leaf}
`

// Each followed folder builds to the objects that Flux's own generator and build make of it.
func TestFollowedFoldersAreBuiltAsByFlux(t *testing.T) {
	if *followedRepository != "" {
		checkFollowed(t, *followedRepository, 0)
		return
	}
	checkFollowed(t, write(t, followedFolders), 9)
}

// Random folders, with random fields of their Kustomizations, build as by Flux.
func TestRandomFoldersAreBuiltAsByFlux(t *testing.T) {
	const count = 60
	checkFollowed(t, write(t, randomFolders(rand.New(rand.NewPCG(*folderSeed, 0)), count)), count)
}

var folderSeed = flag.Uint64("folder-seed", 1, "the seed of TestRandomFoldersAreBuiltAsByFlux")

// randomFolders returns an archive with a cluster of Kustomizations, and their folders.
func randomFolders(random *rand.Rand, count int) string {
	var text strings.Builder
	pick := func(choices ...string) string { return choices[random.IntN(len(choices))] }
	images := func() string {
		return "images: [" + pick("", `{name: web, newTag: "1"}`, `{name: web, newName: mirror.example.com/web}`,
			`{name: other, newTag: "2"}, {name: web, newName: w, newTag: "3"}`,
			`{name: other, digest: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}`) + "]"
	}
	patches := func() string {
		return "patches: [" + pick("", `{patch: '[{"op": "replace", "path": "/spec/replicas", "value": 3}]', target: {kind: Deployment}}`,
			`{patch: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {minReadySeconds: 5}}", target: {kind: Deployment}}`,
			`{patch: "{apiVersion: v1, kind: Service, metadata: {name: x, labels: {patched: a}}}", target: {kind: Service|ConfigMap}}`) + "]"
	}
	fields := func(of ...string) (chosen string) {
		for _, field := range of {
			if random.IntN(3) == 0 {
				chosen += field + "\n"
			}
		}
		return chosen
	}
	const source = "{kind: GitRepository, name: flux-system}"
	fmt.Fprintf(&text, "-- clusters/a/sync.yaml --\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"+
		"metadata: {name: flux-system, namespace: flux-system}\nspec: {path: ./clusters/a, sourceRef: %s}\n", source)
	for i := range count {
		spec := fields("targetNamespace: "+pick("shop", "deep"), "namePrefix: a-", "nameSuffix: -z", images(), patches(),
			"components: ["+pick("../component", "../component, ../second", "../component, ../none")+"]\nignoreMissingComponents: true",
			"commonMetadata: {"+pick("labels: {team: blue}", "annotations: {note: x}", "labels: {team: blue, app: own}, annotations: {note: x}")+"}")
		fmt.Fprintf(&text, "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"+
			"metadata: {name: f%d, namespace: flux-system}\nspec:\n  path: ./f%[1]d\n  sourceRef: %s\n", i, source)
		for line := range strings.Lines(spec) {
			text.WriteString("  " + line)
		}
	}
	text.WriteString("-- component/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" +
		"labels: [{pairs: {from: component}, includeSelectors: true}]\n-- second/kustomization.yaml --\n" +
		"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: second-\n" + images() + "\n")
	for i := range count {
		if random.IntN(6) > 0 {
			fmt.Fprintf(&text, "-- f%d/kustomization.yaml --\nresources: [d.yaml, c.yaml]\n%s", i, fields("namespace: own",
				"namePrefix: own-", images(), patches(), pick("commonLabels: {team: red}", "labels: [{pairs: {team: red}, includeTemplates: true}]"),
				"commonAnnotations: {note: own}", fmt.Sprintf("replicas: [{name: web%d, count: 2}]", i), "components: [../component]",
				fmt.Sprintf("configMapGenerator: [{name: made%d, literals: [a=b]}]", i), "buildMetadata: [originAnnotations]"))
		}
		fmt.Fprintf(&text, `-- f%d/d.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web%[1]d, namespace: n%[1]d}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "web:0"}, {name: other, image: "other:0", envFrom: [{configMapRef: {name: set%[1]d}}]}]
-- f%[1]d/c.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: set%[1]d, namespace: n%[1]d}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: role%[1]d}
---
apiVersion: v1
kind: Service
metadata: {name: web%[1]d, namespace: n%[1]d}
spec: {selector: {app: web}, ports: [{port: 80}]}
`, i)
	}
	return text.String()
}

// checkFollowed compares the followed folders of a repository, at least some, with those that Flux builds.
func checkFollowed(t *testing.T, root string, least int) {
	t.Helper()
	repository, err := Open(root, gatehouse.All(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	names, err := repository.Environments()
	if err != nil || len(names) == 0 {
		t.Fatalf("no cluster: %v", err)
	}
	for _, name := range names {
		entry, problems := readEntry(repository, name, LoadOptions{})
		if manifest.HasErrors(problems) {
			t.Errorf("%s: %v", name, problems)
			continue
		}
		_, _ = entry.buildAll(repository)
		if len(entry.followed()) < least {
			t.Errorf("%s: %d folders are followed, want at least %d", name, len(entry.followed()), least)
		}
		artifact := t.TempDir()
		if err := os.CopyFS(artifact, os.DirFS(root)); err != nil {
			t.Fatal(err)
		}
		archive(t, artifact)
		count := 0
		for _, f := range entry.followed() {
			if !f.IsFlux {
				continue
			}
			got := map[manifest.ID]string{}
			for _, o := range f.known() {
				got[o.Committed().ID()] = toJSON(t, o.Committed().Unstructured)
			}
			want := builtByFlux(t, artifact, f)
			count += len(want)
			for id := range got {
				if got[id] != want[id] {
					t.Errorf("%s: %s\nis   %s\nwant %s", f.Of, id, got[id], want[id])
				}
			}
			if !slices.Equal(sortedNames(got), sortedNames(want)) {
				t.Logf("%s: Flux builds %v, and the environment has %v", f.Of, sortedNames(want), sortedNames(got))
				if *followedRepository == "" {
					t.Errorf("%s: other objects", f.Of)
				}
			}
		}
		t.Logf("%s: %d folders, %d objects", name, len(entry.followed()), count)
	}
}

// builtByFlux builds a folder as kustomize-controller does, in a copy of the repository, which it restores.
func builtByFlux(t *testing.T, dir string, f *Delivery) map[manifest.ID]string {
	t.Helper()
	folder := filepath.Join(dir, f.Folder)
	generator := fluxkustomize.NewGenerator(dir, *f.InCluster.Unstructured)
	action, err := generator.WriteFile(folder)
	if err != nil {
		t.Fatalf("%s: %v", f.Of, err)
	}
	built, err := fluxkustomize.SecureBuild(dir, folder, false)
	if cleaned := fluxkustomize.CleanDirectory(folder, action); cleaned != nil {
		t.Fatal(cleaned)
	}
	if err != nil {
		t.Errorf("%s: %v", f.Of, err)
		return nil
	}
	all := map[manifest.ID]string{}
	for _, r := range built.Resources() {
		content, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		u, err := ssautil.ReadObject(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		ssautil.SetCommonMetadata([]*unstructured.Unstructured{u}, f.CommonMetadata.Labels,
			f.CommonMetadata.Annotations)
		all[manifest.Object{Unstructured: u}.ID()] = toJSON(t, u)
	}
	return all
}

// archive removes the files that source-controller leaves out of an artifact.
func archive(t *testing.T, dir string) {
	t.Helper()
	domain := strings.Split(dir, string(filepath.Separator))
	patterns, err := sourceignore.LoadIgnorePatterns(dir, domain)
	if err != nil {
		t.Fatal(err)
	}
	patterns = append(patterns, sourceignore.ReadPatterns(strings.NewReader(ignoredFiles), domain)...)
	matcher := sourceignore.NewMatcher(patterns)
	err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && matcher.Match(strings.Split(name, string(filepath.Separator)), false) {
			err = os.Remove(name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func toJSON(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	content, err := json.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func sortedNames(objects map[manifest.ID]string) (names []string) {
	for id := range maps.Keys(objects) {
		names = append(names, id.String())
	}
	slices.Sort(names)
	return names
}

// A value is found in the list of generators, also beside another document of the ApplicationSet without a list.
func TestAValueOfAGeneratorIsFoundBesideAText(t *testing.T) {
	const archive = `
-- environments/prod/kustomization.yaml --
resources: [text.yaml, list.yaml]
-- environments/prod/text.yaml --
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: web, namespace: argocd}
spec: {generators: a}
-- environments/prod/list.yaml --
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: web, namespace: argocd}
spec:
  generators:
  - list: {elements: [{of: a}]}
`
	repository, err := Open(write(t, archive), gatehouse.All(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	in, _ := readEntry(repository, "prod", LoadOptions{})
	set := manifest.ID{Group: "argoproj.io", Kind: "ApplicationSet", Namespace: "argocd", Name: "web"}
	if file, line := in.generated(set, "of", "a"); file != "environments/prod/list.yaml" || line != 6 {
		t.Errorf("at %s:%d", file, line)
	}
}
