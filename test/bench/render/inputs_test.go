//go:build linux

package render

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/gatehouse/kind/gatehouse"
)

// input is a repository with the environment prod, or with others.
type input struct {
	name  string
	write func(root string) error
	// build is the command that the others are built with, flags select them for render, and rendered
	// is the folder that render writes.
	build, flags, rendered string
	// edit changes a source file, if the input is to be watched. It returns the path of the rendered
	// file and its new text.
	edit func(root string) (file, content string, err error)
}

var inputs = []input{
	{name: "prod_of_this_repository", write: writeRepository},
	{name: "4,000_CRs_in_one_patched_file", write: writePatched},
	{name: "1,000_CRs_in_25_folders", write: writeFolders(1000, 25, mixed)},
	{name: "2,000_CRs_in_50_folders", write: writeFolders(2000, 50, mixed)},
	{name: "4,000_CRs_in_100_folders", write: writeFolders(4000, 100, mixed)},
	{name: "8,000_CRs_in_200_folders", write: writeFolders(8000, 200, mixed)},
	{name: "20,000_CRs_in_500_folders", write: writeFolders(20000, 500, mixed)},
	{name: "4,000_CRs_with_overridden_Deployments", write: writeOverridden},
	{name: "4,000_Ats_that_refer_to_ConfigMaps", write: writeReferences},
	{name: "1,000_plain_objects_in_25_folders", write: writeFolders(1000, 25, plain)},
	{name: "2,000_plain_objects_in_50_folders", write: writeFolders(2000, 50, plain)},
	{name: "4,000_plain_objects_in_100_folders", write: writeFolders(4000, 100, plain)},
	{name: "8,000_plain_objects_in_200_folders", write: writeFolders(8000, 200, plain)},
	{name: "20,000_plain_objects_in_500_folders", write: writeFolders(20000, 500, plain), edit: editConfigMap},
	{name: "100,000_plain_objects_in_100_folders", write: writeFolders(100000, 100, plain)},
	{name: "5,000_ConfigMaps_in_one_file", write: writeConfigMaps},
	{name: "4,000_Deployments_that_refer_to_ConfigMaps_and_a_Secret", write: writeDeployments},
	{name: "12_MB_of_CustomResourceDefinitions", write: writeDefinitions},
	{
		name: "25_environments_of_900_plain_objects", write: writeEnvironments,
		build: "for e in environments/*; do kustomize build $e || exit; done", flags: "--all", rendered: "rendered",
	},
	{
		name: "25_environments_with_Namespace_images_and_patches", write: writeOneNamespaceEach,
		build: "for e in environments/env-*; do kustomize build $e || exit; done", flags: "--all", rendered: "rendered",
	},
	{
		name: "one_of_25_environments_after_an_edit", write: writeEdited,
		build: "kustomize build environments/env-0", flags: "--changed-since HEAD", rendered: "rendered/env-0",
	},
	{
		name: "one_of_25_environments_and_kubectl-validate", write: writeEnvironments,
		build: "kustomize build environments/env-0 -o all.yaml && kubectl-validate --version 1.30 all.yaml",
		flags: "--env env-0", rendered: "rendered/env-0",
	},
}

// writeRepository copies the source files of this repository.
func writeRepository(root string) error {
	for _, dir := range []string{"environments", "apis/crds"} {
		if err := os.CopyFS(filepath.Join(root, dir), os.DirFS(filepath.Join(repository, dir))); err != nil {
			return err
		}
	}
	return nil
}

// writePatched writes 4,000 CRs in one file, and an overlay with all common changes of each.
func writePatched(root string) error {
	const overlay = `namespace: checkout
labels:
- pairs: {team: checkout}
images:
- {name: memcached, newTag: 1.6.27-alpine3.19}
- {name: busybox, newTag: 1.37.1}
patches:
- target: {kind: At}
  patch: '[{"op": "add", "path": "/spec/activeDeadlineSeconds", "value": 600}]'
- target: {kind: Memcached}
  patch: '{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: any}, spec: {memoryLimit: 128Mi}}'
configurations: [config.yaml]
resources: [all.yaml]
`
	if err := writeFolder(prod(root), manifests(0, 4000, mixed), overlay); err != nil {
		return err
	}
	return copyConfiguration(root)
}

// writeOverridden writes 4,000 CRs in folders, and a patch of their rendered Deployments. The patch costs
// kustomize nothing, because it sees no Deployments.
func writeOverridden(root string) error {
	const component = `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- target: {kind: Deployment}
  patch: '[{"op": "add", "path": "/spec/template/spec/priorityClassName", "value": "high"}]'
`
	if err := writeFolders(4000, 100, mixed)(root); err != nil {
		return err
	}
	return writeFile(filepath.Join(prod(root), "overrides"), "kustomization.yaml", component)
}

// writeReferences writes 4,000 Ats in folders. Each folder is a namespace and generates the ConfigMap of
// its Ats.
func writeReferences(root string) error {
	kustomization := func(folder string) string {
		return fmt.Sprintf(`namespace: %s
configMapGenerator:
- name: settings
  literals: [TEAM=%[1]s]
resources: [all.yaml]
`, folder)
	}
	if err := copyConfiguration(root); err != nil {
		return err
	}
	return writeOverlay(root, 4000, 100, "configurations: [config.yaml]\n", kustomization, referring)
}

// writeFolders writes n objects in folders, each with a namespace and labels.
func writeFolders(n, folders int, manifest func(i int) string) func(root string) error {
	return func(root string) error {
		kustomization := func(folder string) string {
			return fmt.Sprintf("namespace: %s\nlabels: [{pairs: {team: %[1]s}, includeSelectors: true}]\nresources: [all.yaml]\n", folder)
		}
		return writeOverlay(root, n, folders, "", kustomization, manifest)
	}
}

// editConfigMap changes the first ConfigMap of writeFolders.
func editConfigMap(root string) (file, content string, err error) {
	content = "hello at " + time.Now().Format(time.RFC3339Nano)
	all := strings.Replace(manifests(0, 40, plain), "hello 2", content, 1)
	file = filepath.Join(root, "rendered/prod/team-0/configmap-settings-2.yaml")
	return file, content, writeFile(filepath.Join(prod(root), "team-0"), "all.yaml", all)
}

// writeConfigMaps writes 5,000 ConfigMaps in one file.
func writeConfigMaps(root string) error {
	configMap := func(i int) string { return plain(3*i + 2) }
	return writeFolder(prod(root), manifests(0, 5000, configMap), "namespace: shop\nresources: [all.yaml]\n")
}

// writeDeployments writes 4,000 Deployments that each refer to one of 400 generated ConfigMaps, and
// all to one generated Secret.
func writeDeployments(root string) error {
	var overlay strings.Builder
	overlay.WriteString("namespace: shop\nresources: [all.yaml]\nsecretGenerator: [{name: token}]\nconfigMapGenerator:\n")
	for i := range 400 {
		fmt.Fprintf(&overlay, "- {name: settings-%d, literals: [value=%[1]d]}\n", i)
	}
	referring := func(i int) string {
		return deployment(i, fmt.Sprintf(", envFrom: [{configMapRef: {name: settings-%d}}, {secretRef: {name: token}}]", i%400))
	}
	return writeFolder(prod(root), manifests(0, 4000, referring), overlay.String())
}

// writeDefinitions writes six CustomResourceDefinitions of 11,111 fields each.
func writeDefinitions(root string) error {
	const definition = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things%[1]d.example.com}
spec:
  group: example.com
  names: {kind: Thing%[1]d, listKind: Thing%[1]dList, plural: things%[1]d, singular: thing%[1]d}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
%[2]s`
	spec := schema("            ", 4)
	all := manifests(0, 6, func(i int) string { return fmt.Sprintf(definition, i, spec) })
	return writeFolder(prod(root), all, "resources: [all.yaml]\n")
}

// schema returns the schema of a field, with ten fields in it unless depth is 0.
func schema(indent string, depth int) string {
	text := indent + "description: Kubernetes describes each field, in one sentence or in more.\n"
	if depth == 0 {
		return text + indent + "type: string\n"
	}
	var b strings.Builder
	b.WriteString(text + indent + "type: object\n" + indent + "properties:\n")
	for i := range 10 {
		fmt.Fprintf(&b, "%s  field%d:\n%s", indent, i, schema(indent+"    ", depth-1))
	}
	return b.String()
}

// writeEnvironments writes 9 bases of 100 plain objects, and 25 environments with an overlay of each base.
func writeEnvironments(root string) error {
	const overlay = `namespace: %[1]s-env-%[2]d
labels: [{pairs: {env: env-%[2]d}}]
patches:
- target: {kind: Deployment}
  patch: '[{"op": "replace", "path": "/spec/replicas", "value": %[3]d}]'
resources: [../../../apps/%[1]s]
`
	environment := func(e int) string { return filepath.Join(root, "environments", fmt.Sprintf("env-%d", e)) }
	var list strings.Builder
	list.WriteString("resources:\n")
	for i := range 9 {
		app := fmt.Sprintf("app-%d", i)
		base := fmt.Sprintf("labels: [{pairs: {app.kubernetes.io/part-of: %s}}]\nresources: [all.yaml]\n", app)
		if err := writeFolder(filepath.Join(root, "apps", app), manifests(i*100, 100, plain), base); err != nil {
			return err
		}
		for e := range 25 {
			if err := writeFile(filepath.Join(environment(e), app), "kustomization.yaml", fmt.Sprintf(overlay, app, e, e%5+1)); err != nil {
				return err
			}
		}
		list.WriteString("- " + app + "\n")
	}
	for e := range 25 {
		if err := writeFile(environment(e), "kustomization.yaml", list.String()); err != nil {
			return err
		}
	}
	return nil
}

// writeOneNamespaceEach writes 300 bases of 3 plain objects, and 25 environments with all of them: each in a namespace
// with its Namespace object, and with its name as a label, an image and 30 patches of its own.
func writeOneNamespaceEach(root string) error {
	environments := filepath.Join(root, "environments")
	for i := range 300 {
		base := filepath.Join(environments, "base", fmt.Sprintf("app-%d", i))
		all := strings.ReplaceAll(manifests(i*3, 3, plain), "nginx", fmt.Sprintf("registry.example.org/web-%d", i))
		if err := writeFolder(base, all, "resources: [all.yaml]\n"); err != nil {
			return err
		}
	}
	for e := range 25 {
		name := fmt.Sprintf("env-%d", e)
		var overlay strings.Builder
		fmt.Fprintf(&overlay, "namespace: %[1]s\nlabels: [{pairs: {environment: %[1]s}}]\n"+
			"images: [{name: registry.example.org/web-1, newTag: \"1.%[2]d\"}]\nresources:\n- all.yaml\n", name, e)
		for i := range 300 {
			fmt.Fprintf(&overlay, "- ../base/app-%d\n", i)
		}
		overlay.WriteString("patches:\n")
		for i := 0; i < 900; i += 30 {
			fmt.Fprintf(&overlay, "- target: {kind: Deployment, name: web-%d}\n"+
				"  patch: '[{\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": %d}]'\n", i, e%3+3)
		}
		namespace := fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}\n", name)
		if err := writeFolder(filepath.Join(environments, name), namespace, overlay.String()); err != nil {
			return err
		}
	}
	return nil
}

// writeEdited writes 25 environments, commits them with their rendered files, and edits an overlay.
func writeEdited(root string) error {
	const script = `cd "$0" && render --all && git init -q && git add . &&
git -c user.name=bench -c user.email=bench@example.com -c gc.auto=0 commit -q -m all &&
sed -i 's/app-0-env-0/edited/' environments/env-0/app-0/kustomization.yaml`
	if err := writeEnvironments(root); err != nil {
		return err
	}
	_, _, err := measure(context.Background(), limit, "sh", "-c", script, root)
	return err
}

// writeOverlay writes n objects in folders, each with a kustomization, and an overlay that lists the
// folders.
func writeOverlay(root string, n, folders int, overlay string, kustomization func(folder string) string, manifest func(i int) string) error {
	var list strings.Builder
	list.WriteString(overlay + "resources:\n")
	for i := range folders {
		folder := fmt.Sprintf("team-%d", i)
		all := manifests(i*n/folders, n/folders, manifest)
		if err := writeFolder(filepath.Join(prod(root), folder), all, kustomization(folder)); err != nil {
			return err
		}
		list.WriteString("- " + folder + "\n")
	}
	return writeFile(prod(root), "kustomization.yaml", list.String())
}

// copyConfiguration writes kustomize's configuration of the kinds' fields.
func copyConfiguration(root string) error {
	return writeFile(prod(root), "config.yaml", string(gatehouse.All().KustomizeConfig()))
}

// writeFolder writes a folder with a manifest, all.yaml, and a kustomization.
func writeFolder(dir, all, kustomization string) error {
	if err := writeFile(dir, "all.yaml", all); err != nil {
		return err
	}
	return writeFile(dir, "kustomization.yaml", kustomization)
}

func writeFile(dir, name, content string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600)
}

// manifests returns a file of n objects, numbered from first.
func manifests(first, n int, manifest func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(manifest(first + i))
	}
	return b.String()
}

// mixed returns a Memcached or, every other time, an At.
func mixed(i int) string {
	if i%2 == 0 {
		return fmt.Sprintf(`---
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: cache-%d, namespace: shop}
spec: {size: 2, image: "memcached:1.6.26-alpine3.19"}
`, i)
	}
	return at(i, "")
}

// plain returns a Deployment, a Service or a ConfigMap.
func plain(i int) string {
	switch i % 3 {
	case 0:
		return deployment(i, "")
	case 1:
		return fmt.Sprintf(`---
apiVersion: v1
kind: Service
metadata: {name: web-%d}
spec: {selector: {app: web-%d}, ports: [{port: 80, targetPort: 8080}]}
`, i, i-1)
	}
	return fmt.Sprintf(`---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings-%d}
data: {LOG_LEVEL: info, GREETING: "hello %[1]d"}
`, i)
}

// deployment returns a Deployment with further fields in its container.
func deployment(i int, fields string) string {
	return fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web-%d}
spec:
  replicas: 2
  selector: {matchLabels: {app: web-%[1]d}}
  template:
    metadata: {labels: {app: web-%[1]d}}
    spec:
      containers:
      - {name: web, image: "nginx:1.27", ports: [{containerPort: 8080}], resources: {requests: {cpu: 10m, memory: 32Mi}}%s}
`, i, fields)
}

// referring returns an At that refers to the ConfigMap settings.
func referring(i int) string {
	return at(i, ", envFrom: [{configMapRef: {name: settings}}]")
}

// at returns an At with further fields.
func at(i int, fields string) string {
	return fmt.Sprintf(`---
apiVersion: cnat.programming-kubernetes.info/v1alpha1
kind: At
metadata: {name: job-%d, namespace: shop}
spec: {schedule: "2027-01-01T00:00:00Z", command: "echo %[1]d", image: "busybox:1.37"%s}
`, i, fields)
}

// prod returns the folder of the environment prod.
func prod(root string) string { return filepath.Join(root, "environments", "prod") }
