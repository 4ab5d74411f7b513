//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.com/gatehouse/kind/gatehouse"
)

// input is an environment, prod, to build.
type input struct {
	name string
	// runs is how often each command is run: what is printed is the median.
	runs int
	// write makes the environment below a root.
	write func(root string) error
}

var inputs = []input{
	{"this repository's prod", 5, writeRepository},
	{"4,000 CRs in one patched file", 1, writePatched},
	{"4,000 CRs in 200 folders", 1, func(root string) error { return writePlain(root, 4000) }},
	{"4,000 CRs, Deployments overridden", 1, writeOverridden},
	{"20,000 CRs in 1,000 folders", 1, func(root string) error { return writePlain(root, 20000) }},
	{"4,000 Ats that refer to ConfigMaps", 1, writeReferences},
}

// perFolder is how many CRs a folder has.
const perFolder = 20

// writeRepository copies what this repository's environments are built from.
func writeRepository(root string) error {
	for _, dir := range []string{"environments", "apis/crds"} {
		if err := os.CopyFS(filepath.Join(root, dir), os.DirFS(dir)); err != nil {
			return err
		}
	}
	return nil
}

// writePatched writes 4,000 CRs in one file, and an overlay that changes all of
// them in every way that overlays usually do.
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
	if err := writeFile(prod(root), "all.yaml", manifests(0, 4000, mixed)); err != nil {
		return err
	}
	if err := writeFile(prod(root), "kustomization.yaml", overlay); err != nil {
		return err
	}
	return copyConfiguration(root)
}

// writePlain writes n CRs in folders that do nothing but list them.
func writePlain(root string, n int) error {
	kustomization := func(string) string { return "resources: [all.yaml]\n" }
	return writeFolders(root, n, "", kustomization, mixed)
}

// writeOverridden writes 4,000 CRs in 200 folders, and a patch of what they are
// rendered to. It costs kustomize nothing: there are no Deployments to patch yet.
func writeOverridden(root string) error {
	const component = `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- target: {kind: Deployment}
  patch: '[{"op": "add", "path": "/spec/template/spec/priorityClassName", "value": "high"}]'
`
	if err := writePlain(root, 4000); err != nil {
		return err
	}
	return writeFile(filepath.Join(prod(root), "overrides"), "kustomization.yaml", component)
}

// writeReferences writes 4,000 Ats in 200 folders, each a namespace whose Ats refer
// to a ConfigMap that is generated there.
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
	return writeFolders(root, 4000, "configurations: [config.yaml]\n", kustomization, referring)
}

// writeFolders writes n CRs in folders, each with a kustomization, and an overlay
// that lists the folders.
func writeFolders(root string, n int, overlay string, kustomization func(folder string) string, manifest func(i int) string) error {
	var list strings.Builder
	list.WriteString(overlay + "resources:\n")
	for i := range n / perFolder {
		folder := fmt.Sprintf("team-%d", i)
		dir := filepath.Join(prod(root), folder)
		if err := writeFile(dir, "all.yaml", manifests(i*perFolder, perFolder, manifest)); err != nil {
			return err
		}
		if err := writeFile(dir, "kustomization.yaml", kustomization(folder)); err != nil {
			return err
		}
		list.WriteString("- " + folder + "\n")
	}
	return writeFile(prod(root), "kustomization.yaml", list.String())
}

// copyConfiguration writes what kustomize has to know of the kinds' fields.
func copyConfiguration(root string) error {
	return writeFile(prod(root), "config.yaml", string(gatehouse.All().KustomizeConfig()))
}

func writeFile(dir, name, content string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600) // #nosec G703 -- below a temporary folder
}

// manifests is a file of n CRs, numbered from first.
func manifests(first, n int, manifest func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(manifest(first + i))
	}
	return b.String()
}

// mixed is a Memcached or, every other time, an At.
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

// referring is an At that refers to the ConfigMap settings.
func referring(i int) string {
	return at(i, ", envFrom: [{configMapRef: {name: settings}}]")
}

// at is an At with further fields.
func at(i int, fields string) string {
	return fmt.Sprintf(`---
apiVersion: cnat.programming-kubernetes.info/v1alpha1
kind: At
metadata: {name: job-%d, namespace: shop}
spec: {schedule: "2027-01-01T00:00:00Z", command: "echo %[1]d", image: "busybox:1.37"%s}
`, i, fields)
}
