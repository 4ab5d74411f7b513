package setup

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/kustomize"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

// The overlay sets each field that a delivery object can set, too.
const overlays = `
-- own/kustomization.yaml --
resources: [all.yaml, ../base]
namespace: own
namePrefix: own-
nameSuffix: -own
labels: [{pairs: {own: label, team: own}}]
images: [{name: nginx, newName: registry.example.com/nginx, newTag: "1"}]
replicas: [{name: web, count: 2}]
components: [../components/first]
configMapGenerator: [{name: files, files: [text.txt, key=text.txt], envs: [own.env]}]
patches: [{path: patch.yaml}]
-- own/patch.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: other, annotations: {own: patch}}
-- own/text.txt --
text
-- own/own.env --
A=b
-- own/all.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: other}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      serviceAccountName: web
      containers: [{name: web, image: "nginx:0", envFrom: [{configMapRef: {name: files}}]}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web}
-- base/kustomization.yaml --
resources: [cluster.yaml]
-- base/cluster.yaml --
apiVersion: v1
kind: Namespace
metadata: {name: own}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: web, namespace: other}]
-- bare/kustomization.yaml --
resources: [../own/all.yaml, ../base]
configMapGenerator: [{name: files, literals: [a=b]}]
-- files/all.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: web, labels: {a: b}, annotations: {c: d}}
-- files/below/more.yml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: other}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:0"}]}
-- files/folder/kustomization.yaml --
resources: [service.yaml]
-- files/folder/service.yaml --
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}], selector: {app: web}}
-- components/first/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches: [{target: {kind: Deployment}, patch: "- {op: add, path: /spec/minReadySeconds, value: 5}"}]
-- components/second/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
commonAnnotations: {component: second}
`

// fluxValues are values of the fields of a Kustomization.
var fluxValues = map[string][]string{
	"targetNamespace":         {"shop"},
	"namePrefix":              {"eu-"},
	"nameSuffix":              {"-x"},
	"components":              {"[../components/second]", "[../components/second, ../components/first]"},
	"images":                  {`[{name: nginx, newTag: "2"}]`, `[{name: nginx, newName: mirror.example.com/nginx}]`, `[{name: nginx, digest: "sha256:` + strings.Repeat("ab", 32) + `"}]`, `[{name: registry.example.com/nginx, newTag: "3"}]`},
	"commonMetadata":          {"{labels: {team: flux}}", "{annotations: {own: flux, more: yes it is}}", "{labels: {team: flux, app: flux}, annotations: {a: b}}"},
	"patches":                 {`[{patch: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 7}}", target: {kind: Deployment}}]`, `[{patch: "- {op: replace, path: /metadata/name, value: other}", target: {kind: Deployment}}, {patch: "- {op: add, path: /metadata/labels, value: {team: patch}}", target: {kind: Service}}]`, `[{patch: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: other}, spec: {template: {spec: {containers: [{name: web, image: 'nginx:9'}]}}}}"}]`},
	"ignoreMissingComponents": {"true"},
}

// The environment has the objects of Flux for each field and for combinations.
func TestEnvironmentHasTheObjectsOfFlux(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	fields := []string{"targetNamespace", "namePrefix", "nameSuffix", "components", "images", "commonMetadata", "patches", "ignoreMissingComponents"}
	for _, overlay := range []string{"own", "bare", "files"} {
		var specs []string
		for _, field := range fields {
			for _, value := range fluxValues[field] {
				if overlay == "own" {
					specs = append(specs, "  "+field+": "+value+"\n")
				}
			}
		}
		for range 7 {
			spec := ""
			for _, field := range fields {
				if values := fluxValues[field]; random.IntN(2) == 0 {
					spec += "  " + field + ": " + values[random.IntN(len(values))] + "\n"
				}
			}
			specs = append(specs, spec)
		}
		for _, spec := range specs {
			t.Run(overlay, func(t *testing.T) {
				object := "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: app}\nspec:\n  path: " + overlay + "\n" + spec
				made, dir := initFrom(t, object)
				expected := fluxObjects(t, dir, object)
				rendered := renderedObjects(t, dir)
				for _, c := range compare.New(&registry.Kinds{}, "app", compare.Input{Objects: expected}, compare.Input{Objects: rendered}).Changes {
					t.Errorf("%s:\n%s%s %s: %v", overlay, spec, c.Action(), c.Object(), c.Fields())
				}
				const after = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: app}\nspec:\n  path: ./rendered/app\n"
				if strings.Contains(fmt.Sprint(made.Problems), "kustomize's output") || string(made.Delivery) != after {
					t.Errorf("%v\n%s", made.Problems, made.Delivery)
				}
			})
		}
	}
}

// initFrom creates the environments of delivery objects in a new repository.
func initFrom(t *testing.T, objects string) (*Result, string) {
	t.Helper()
	dir := t.TempDir()
	if output, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	for _, file := range append(txtar.Parse([]byte(overlays)).Files, txtar.File{Name: "delivery.yaml", Data: []byte(objects)}) {
		name := filepath.Join(dir, file.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, file.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kinds, err := registry.New(gatehouse.Kinds...)
	if err != nil {
		t.Fatal(err)
	}
	made, err := Init(t.Context(), dir, Options{Kinds: kinds, From: filepath.Join(dir, "delivery.yaml"), CI: NoCI}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return made, dir
}

// fluxObjects returns the objects that Flux applies. It changes the overlay.
func fluxObjects(t *testing.T, dir, object string) []manifest.Object {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(object), &content); err != nil {
		t.Fatal(err)
	}
	path, _, _ := unstructured.NestedString(content, "spec", "path")
	folder := filepath.Join(dir, path)
	if _, err := kustomize.NewGenerator(dir, unstructured.Unstructured{Object: content}).WriteFile(folder); err != nil {
		t.Fatal(err)
	}
	resources, err := kustomize.SecureBuild(dir, folder, false)
	if err != nil {
		t.Fatal(err)
	}
	output, err := resources.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	objects, problems := tree.Objects("app", []tree.File{{Content: output}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for field, set := range map[string]func(o *unstructured.Unstructured, common map[string]string){
		"labels": func(o *unstructured.Unstructured, common map[string]string) { o.SetLabels(join(o.GetLabels(), common)) },
		"annotations": func(o *unstructured.Unstructured, common map[string]string) {
			o.SetAnnotations(join(o.GetAnnotations(), common))
		},
	} {
		if common, ok, _ := unstructured.NestedStringMap(content, "spec", "commonMetadata", field); ok {
			for _, o := range objects {
				set(o.Unstructured, common)
			}
		}
	}
	return objects
}

func join(own, common map[string]string) map[string]string {
	if own == nil {
		own = map[string]string{}
	}
	for name, value := range common {
		own[name] = value
	}
	return own
}

func renderedObjects(t *testing.T, dir string) []manifest.Object {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	files, err := tree.Read(root, "app")
	if err != nil {
		t.Fatal(err)
	}
	objects, problems := tree.Objects("app", files)
	if len(problems) > 0 || len(objects) == 0 {
		t.Fatal(problems)
	}
	return objects
}
