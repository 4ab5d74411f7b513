package render

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
)

// edited returns the files of an environment of many objects, some of them changed by later stages, and
// of another environment on top of it.
func edited(t *testing.T) map[string]string {
	t.Helper()
	const defaults = `patches:
- target: {kind: CustomResourceDefinition, name: ats.cnat.programming-kubernetes.info}
  patch: '[{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/startingDeadlineSeconds/default", "value": 60}]'
- target: {kind: CustomResourceDefinition, name: memcacheds.cache.example.com}
  patch: '[{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/image/default", "value": "memcached:1"}]'
`
	files := map[string]string{
		"staging/kustomization.yaml":        "resources: [../prod]\nnamePrefix: staging-\n",
		"prod/kustomization.yaml":           "resources: [one, two, three, all.yaml, crd.yaml, policy.yaml, ats.yaml, memcacheds.yaml]\nnamespace: shop\nimages: [{name: memcached, newName: m}]\n# metadata\n" + defaults,
		"prod/one/kustomization.yaml":       "resources: [all.yaml]\nlabels: [{pairs: {team: one}}]\n",
		"prod/two/kustomization.yaml":       "resources: [all.yaml]\nconfigMapGenerator: [{name: generated, literals: [a=b]}]\n",
		"prod/three/kustomization.yaml":     "resources: [all.yaml]\n# fields\n",
		"prod/overrides/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{target: {kind: Deployment}, patch: '[{\"op\": \"add\", \"path\": \"/spec/minReadySeconds\", \"value\": 5}]'}]\n",
		"prod/all.yaml": `
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {pod-security.kubernetes.io/warn: baseline}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {}}, spec: {replicas: 2, selector: {matchLabels: {a: web}}, template: {metadata: {annotations: {}, labels: {a: web}}, spec: {containers: [{name: web, image: nginx, envFrom: [{configMapRef: {name: generated}}]}]}}}}
---
{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: sessions, labels: {}}, spec: {size: 2}}
---
{apiVersion: cnat.programming-kubernetes.info/v1alpha1, kind: At, metadata: {name: job}, spec: {schedule: "2027-01-01T00:00:00Z", command: echo}}
---
{apiVersion: example.com/v1, kind: Thing, metadata: {name: thing}, spec: {size: 1, none: null}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: r, annotations: {config.kubernetes.io/local-config: "false", for: CustomResourceDefinition}}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}}
`,
		"prod/crd.yaml": `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com, annotations: {config.kubernetes.io/local-config: "true"}}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer, maximum: 3, default: 1}, none: {type: string}}}}}}}]
`,
		"prod/policy.yaml": `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}
  validations: [{expression: object.spec.replicas < 4, message: few}]
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: few}, spec: {policyName: few, validationActions: [Deny]}}
`,
	}
	for name, file := range map[string]string{"ats": "cnat.programming-kubernetes.info_ats", "memcacheds": "cache.example.com_memcacheds"} {
		content, err := os.ReadFile("../apis/crds/" + file + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		files["prod/"+name+".yaml"] = string(content)
	}
	for _, folder := range []string{"one", "two", "three"} {
		var b strings.Builder
		for i := range 40 { // enough for a build in parts
			fmt.Fprintf(&b, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: %s-%d}, data: {a: b}}\n", folder, i)
		}
		files["prod/"+folder+"/all.yaml"] = b.String()
	}
	return files
}

// edits lists texts that replace each other.
var edits = [][]string{
	{"size: 1", "size: 2", "size: 3", "size: 9"},
	{"replicas: 2", "replicas: 3", "replicas: 7", "replica: 2"},
	{"maximum: 3", "maximum: 1", "maximum: a"},
	{"default: 1", "default: 2"},
	{"object.spec.replicas < 4", "object.spec.replicas < 3"},
	{`local-config: "true"`, `local-config: "false"`},
	{"warn: baseline", "enforce: restricted"},
	{"name: one-3", "name: one-2", "name: one-x"},
	{"data: {a: b}", "data: {a: c}", "data: {a: 1}", "data: {a: [}"},
	{"team: one", "team: two"},
	{"a=b", "a=c"},
	{"\n---\n", "\n---\n---\n"},
	{"none: null", "none: text"},
	{"labels: {}", "labels: {a: b}"},
	{"# metadata", `metadata: {annotations: {gatehouse.example.com/kubernetes: "1.34"}}`},
	{"# fields", "nameSuffix: -s", "commonAnnotations: {a: b}"},
	{"newName: m", "newTag: a"},
	{`"value": 60`, `"value": 90`},
	{"memcached:1", "memcached:2"},
	{"none: {type: string}", "none: {type: string, nullable: true}"},
	{"minReadySeconds", "progressDeadlineSeconds", "none"},
}

// edit changes one of the files, or restores its first content.
func edit(t *testing.T, random *rand.Rand, files map[string]string) {
	t.Helper()
	names := slices.Sorted(maps.Keys(files))
	for {
		name, texts := names[random.IntN(len(names))], edits[random.IntN(len(edits))]
		from, to := texts[random.IntN(len(texts))], texts[random.IntN(len(texts))]
		changed := strings.Replace(files[name], from, to, 1+random.IntN(2))
		if random.IntN(3) == 0 {
			changed = edited(t)[name]
		}
		if changed != files[name] {
			files[name] = changed
			return
		}
	}
}

// With a memo, rendering after each of many edits has the same result as without.
func TestMemoChangesNoRendering(t *testing.T) {
	root := t.TempDir()
	kinds := gatehouse.All()
	random := rand.New(rand.NewPCG(1, 2))
	m := &memo.Memo{}
	files, rendered := edited(t), 0
	const runs = 40
	for range runs {
		for name, content := range files {
			file := filepath.Join(root, "environments", name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		got, want := updateOutcome(t, root, kinds, m), updateOutcome(t, root, kinds, nil)
		if got != want {
			t.Fatalf("%s\nwant\n%s", got, want)
		}
		if strings.Contains(got, "configmap") {
			rendered++
		}
		edit(t, random, files)
	}
	if rendered < runs/4 || rendered == runs {
		t.Errorf("%d of %d edits leave something to render, so this tests little", rendered, runs)
	}
}

// updateOutcome returns the problems and files of an update as text.
func updateOutcome(t *testing.T, root string, kinds *registry.Kinds, m *memo.Memo) string {
	t.Helper()
	repository, err := Open(root, kinds, Options{Memo: m})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	update, err := NewUpdate(t.Context(), repository, Selection{All: true}, func(string, string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer update.Close()
	var b strings.Builder
	for _, p := range update.problems() {
		fmt.Fprintf(&b, "%s (field %q, warning %t)\n", p, p.Field, p.Warning)
	}
	for _, e := range update.Environments {
		if manifest.HasErrors(e.Problems) {
			continue
		}
		fmt.Fprintln(&b, e.Name, e.Objects, e.Sources)
		for _, f := range e.Plan.Files() {
			fmt.Fprintf(&b, "%s\n%s\n", f.Path, f.Content)
		}
	}
	return b.String()
}
