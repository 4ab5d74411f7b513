package buildpath_test

import (
	"reflect"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/test/sources"
)

const repository = `
-- prod/kustomization.yaml --
resources: [../base, own.yaml]
components: [../part]
namespace: shop
nameSuffix: -prod
patches:
- target: {kind: ConfigMap, name: settings}
  patch: '[]'
-- prod/own.yaml --
{apiVersion: v1, kind: Namespace, metadata: {name: any}}
-- base/kustomization.yaml --
resources: [web.yaml]
namePrefix: a-
labels: [{pairs: {tier: front}}]
configMapGenerator: [{name: settings, literals: [k=v]}]
-- base/web.yaml --
{apiVersion: v1, kind: Service, metadata: {name: web}}
-- part/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: [more.yaml]
namespace: other
-- part/more.yaml --
{apiVersion: v1, kind: Secret, metadata: {name: more, namespace: mine}}
`

// TestFindFollowsEachObject has the folders that change an object, in order, and its identities after each of them.
func TestFindFollowsEachObject(t *testing.T) {
	paths := find(t)
	type step = []buildpath.Identity
	for _, test := range []struct {
		apiKind, namespace, name, file string // of the built object
		folders                        []string
		steps                          []step
	}{
		{"Service", "shop", "a-web-prod", "/base/web.yaml", []string{"/base", "/part", "/prod"},
			[]step{{{"web", "default"}}, {{"web", "default"}, {"a-web", "default"}}, {{"a-web", "other"}}, {{"a-web", "shop"}, {"a-web-prod", "shop"}}}},
		{"ConfigMap", "shop", "a-settings-prod-8mbdf7882g", "/base/kustomization.yaml", []string{"/base", "/part", "/prod"},
			[]step{{{"settings", "default"}}, {{"settings", "default"}, {"a-settings", "default"}}, {{"a-settings", "other"}}, {{"a-settings", "shop"}, {"a-settings-prod", "shop"}}}},
		{"Secret", "shop", "more-prod", "/part/more.yaml", []string{"/part", "/prod"},
			[]step{{{"more", "mine"}}, {{"more", "other"}}, {{"more", "shop"}, {"more-prod", "shop"}}}},
		{"Namespace", "", "shop", "/prod/own.yaml", []string{"/part", "/prod"},
			[]step{{{"any", "_non_namespaceable_"}}, {{"other", "_non_namespaceable_"}}, {{"shop", "_non_namespaceable_"}}}},
	} {
		path := paths.Find(objectOf(test.apiKind, test.namespace, test.name))
		if path == nil {
			t.Errorf("%s %s has no path", test.apiKind, test.name)
			continue
		}
		if path.Document.File != test.file || !reflect.DeepEqual(path.Folders, test.folders) || !reflect.DeepEqual(path.Steps, test.steps) {
			t.Errorf("%s %s: got %s by %v with %v, want %s by %v with %v", test.apiKind, test.name, path.Document.File, path.Folders, path.Steps, test.file, test.folders, test.steps)
		}
	}
	if path := paths.Find(objectOf("Service", "shop", "web")); path != nil {
		t.Errorf("the source name finds %v", path.Last())
	}
}

// TestPatchSeesObjectsBeforeItsKustomization asks whether a target of a patch in prod selects the Service of base.
func TestPatchSeesObjectsBeforeItsKustomization(t *testing.T) {
	paths := find(t)
	service := paths.Find(objectOf("Service", "shop", "a-web-prod"))
	const inProd = 2 // the index of its folder
	for _, test := range []struct {
		target        types.Selector
		before, after bool // it selects the object before and after the fields of prod
	}{
		{types.Selector{ResId: resid.ResId{Gvk: resid.Gvk{Kind: "Service"}, Name: "web"}}, true, true},
		{types.Selector{ResId: resid.ResId{Name: "a-web"}}, true, true},
		{types.Selector{ResId: resid.ResId{Name: "a-web-prod"}}, false, true},
		{types.Selector{ResId: resid.ResId{Namespace: "shop"}}, false, true},
		{types.Selector{ResId: resid.ResId{Gvk: resid.Gvk{Kind: "Deployment"}}}, false, false},
		{types.Selector{LabelSelector: "tier=front"}, true, true},
		{types.Selector{LabelSelector: "tier=back"}, false, false},
	} {
		selector, err := buildpath.NewSelector(&test.target)
		if err != nil {
			t.Fatal(err)
		}
		if got := (buildpath.Patch{Selector: selector}).Changes(paths.Candidate(service, inProd)); got != test.before {
			t.Errorf("%+v before: got %t", test.target, got)
		}
		if got := selector.Selects(paths.Candidate(service, inProd)); got != test.after {
			t.Errorf("%+v after: got %t", test.target, got)
		}
	}
}

// TestLaterLabelsAreNotThereYet asks what a patch in base may select by a label of the built Service: prod sets env after
// it, and a patch may set any label that it mentions.
func TestLaterLabelsAreNotThereYet(t *testing.T) {
	for _, test := range []struct {
		patch, selector string
		want            bool
	}{
		{"[]", "env=prod", false},
		{"[]", "tier=front", true},
		{"[]", "other=a", true}, // whoever sets it
		{"[]", "other=b", false},
		{"[{op: add, path: /metadata/labels/env, value: prod}]", "env=prod", true},
		{"{apiVersion: v1, kind: Service, metadata: {name: web, labels: {env: prod}}}", "env=prod", true},
	} {
		paths := findIn(t, "-- prod/kustomization.yaml --\nresources: [../base]\nlabels: [{pairs: {env: prod}}]\n-- base/kustomization.yaml --\nresources: [web.yaml]\n"+
			"patches: [{target: {name: web}, patch: \""+test.patch+"\"}]\n-- base/web.yaml --\n{apiVersion: v1, kind: Service, metadata: {name: web, labels: {tier: front}}}\n")
		c := paths.Candidate(&paths.All[0], 0)
		c.Built = objectOf("Service", "", "web")
		c.Built.SetLabels(map[string]string{"tier": "front", "env": "prod", "other": "a"})
		selector, err := buildpath.NewSelector(&types.Selector{LabelSelector: test.selector})
		if err != nil {
			t.Fatal(err)
		}
		if got := (buildpath.Patch{Selector: selector}).Changes(c); got != test.want {
			t.Errorf("%s after %s: got %t", test.selector, test.patch, got)
		}
	}
}

// TestSelectorsOfNamespaces has selectors that match a namespace by a pattern.
func TestSelectorsOfNamespaces(t *testing.T) {
	for _, test := range []struct {
		target types.Selector
		want   bool
	}{
		{types.Selector{ResId: resid.ResId{Namespace: "shop"}}, true},
		{types.Selector{ResId: resid.ResId{Name: ".*"}}, true}, // a Namespace, too
		{types.Selector{ResId: resid.ResId{Gvk: resid.Gvk{Kind: "Service"}, Name: ".*"}}, false},
		{types.Selector{ResId: resid.ResId{Name: "web"}}, false},
		{types.Selector{LabelSelector: "tier=front"}, false},
	} {
		selector, err := buildpath.NewSelector(&test.target)
		if err != nil {
			t.Fatal(err)
		}
		if got := selector.MatchesNamespaces(); got != test.want {
			t.Errorf("%+v: got %t", test.target, got)
		}
	}
	for _, wrong := range []types.Selector{{LabelSelector: "a in b"}, {AnnotationSelector: "="}, {ResId: resid.ResId{Name: "("}}} {
		if _, err := buildpath.NewSelector(&wrong); err == nil {
			t.Errorf("%+v is valid", wrong)
		}
	}
}

// TestEffectsOfPatches has patches that may rename their targets, may rename or remove them, and copy values.
func TestEffectsOfPatches(t *testing.T) {
	for _, test := range []struct {
		patch                            string
		renames, changesIdentity, copies bool
	}{
		{`[{op: replace, path: /metadata/name, value: other}]`, true, true, false},
		{`[{op: replace, path: /metadata, value: {}}]`, true, true, false},
		{`[{op: copy, from: /metadata/name, path: /spec/a}]`, true, true, true},
		{`[{op: move, from: /spec/a, path: /spec/b}]`, false, false, true},
		{`[{op: replace, path: /spec/name, value: other}]`, false, false, false},
		{`{metadata: {annotations: {internal.config.kubernetes.io/previousNames: a}}}`, true, true, false},
		{`{metadata: {annotations: {config.kubernetes.io/local-config: 'true'}}}`, false, false, false},
		{`{apiVersion: v1, kind: Service, metadata: {name: web, annotations: {config.kubernetes.io/index: '1'}}}`, true, true, false},
		{`{apiVersion: v1, kind: Service, metadata: {name: web}, $patch: delete}`, false, true, false},
		{`{apiVersion: v1, kind: Service, metadata: {name: web, $patch: replace}}`, false, true, false},
	} {
		paths := findIn(t, "-- prod/kustomization.yaml --\nresources: [web.yaml]\npatches: [{target: {name: web}, patch: \""+test.patch+"\"}]\n-- prod/web.yaml --\n{apiVersion: v1, kind: Service, metadata: {name: web}}\n")
		p := paths.Patches["/prod"][0]
		if p.Renames() != test.renames || p.ChangesIdentity() != test.changesIdentity || p.Copies() != test.copies {
			t.Errorf("%s: got %t, %t, %t", test.patch, p.Renames(), p.ChangesIdentity(), p.Copies())
		}
	}
}

func find(t *testing.T) *buildpath.Paths { return findIn(t, repository) }

func findIn(t *testing.T, archive string) *buildpath.Paths {
	t.Helper()
	s := sources.Read(t, t.TempDir(), txtar.Parse([]byte(archive)).Files, "/prod")
	if len(s.Problems) > 0 {
		t.Fatal(s.Problems)
	}
	return buildpath.Find(s, "/prod")
}

func objectOf(kind, namespace, name string) manifest.Object {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind}}
	o.SetNamespace(namespace)
	o.SetName(name)
	return manifest.Object{Unstructured: o}
}
