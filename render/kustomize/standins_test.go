package kustomize

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"example.com/gatehouse/render/memo"
)

// TestStandIns builds two environments with one memo. They differ in a namespace and a label, and perhaps in a tag.
func TestStandIns(t *testing.T) {
	for _, test := range []struct {
		name, kustomization, manifest string
		again                         int // parts that are built for the second environment
	}{
		{name: "both have the same parts"},
		{name: "a label selector", kustomization: "patches: [{target: {labelSelector: stage}, patch: '[{op: add, path: /metadata/annotations, value: {a: b}}]'}]"},
		{name: "a selector of one label", kustomization: "patches: [{target: {labelSelector: stage=early}, patch: '[{op: add, path: /metadata/annotations, value: {a: b}}]'}]", again: 4},
		{name: "a pattern of namespaces", kustomization: "patches: [{target: {namespace: sh.*}, patch: '[{op: add, path: /metadata/annotations, value: {a: b}}]'}]", again: 4},
		{name: "a source object has the namespace", manifest: "{apiVersion: v1, kind: ConfigMap, metadata: {name: d, namespace: shop}}", again: 1},
		{name: "an escaped namespace", manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: d, namespace: "sh\x6fp"}}`, again: 1},
		{name: "a part of a longer word", manifest: "{apiVersion: v1, kind: ConfigMap, metadata: {name: workshop}}"},
		{name: "a stand-in in a manifest", manifest: "{apiVersion: v1, kind: ConfigMap, metadata: {name: gatehouse-0-stand-in}}"},
		{name: "a copy of the namespace", kustomization: "replacements: [{source: {kind: ConfigMap, name: a, fieldPath: metadata.namespace, options: {delimiter: h, index: 1}}, targets: [{select: {name: b}, fieldPaths: [data.k]}]}]", again: 4},
		{name: "a pattern of Namespaces", kustomization: "patchesJson6902: [{target: {version: v1, kind: Namespace, name: sh.*}, patch: '[{op: add, path: /metadata/annotations, value: {a: b}}]'}]", manifest: "{apiVersion: v1, kind: Namespace, metadata: {name: d}}", again: 5},
		{name: "a pattern of other objects", kustomization: "patches: [{target: {kind: ConfigMap, name: sh.*}, patch: '[{op: add, path: /metadata/annotations, value: {a: b}}]'}]"},
		{name: "a copied label", kustomization: "patches: [{target: {kind: ConfigMap, name: a}, patch: '[{op: copy, from: /data/k, path: /data/l}]'}]", again: 4},
		{name: "labels in other fields", kustomization: "configMapGenerator: [{name: d, literals: [k=v]}]\ncomponents: [../../labels]", again: 4},
		{name: "a Namespace", manifest: "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", again: 1},
		{name: "a tag of one image", kustomization: "images: [{name: web, newTag: TAG}]", manifest: "{apiVersion: v1, kind: Pod, metadata: {name: d}, spec: {containers: [{name: web, image: 'web:1'}]}}", again: 1},
		{name: "a tag of no image", kustomization: "images: [{name: registry.io/web, newTag: TAG}]", manifest: "{apiVersion: v1, kind: Pod, metadata: {name: d}, spec: {containers: [{name: web, image: 'registry.io/web-2:1'}]}}"},
		{name: "a dot that matches any character", kustomization: "images: [{name: registry.io/web, newTag: TAG}]", manifest: "{apiVersion: v1, kind: Pod, metadata: {name: d}, spec: {containers: [{name: web, image: 'registry-io/web'}]}}", again: 1},
		{name: "an image of a patch", kustomization: "images: [{name: web, newTag: TAG}]\npatches: [{target: {kind: Pod}, patch: '[{op: add, path: /spec/containers/0/image, value: web}]'}]", manifest: "{apiVersion: v1, kind: Pod, metadata: {name: d}, spec: {containers: [{name: web, image: other}]}}", again: 2},
		{name: "an image of another entry", kustomization: "images: [{name: other, newName: web}, {name: web, newTag: TAG}]", manifest: "{apiVersion: v1, kind: Pod, metadata: {name: d}, spec: {containers: [{name: web, image: other}]}}", again: 1},
		{name: "a pattern of images", kustomization: "images: [{name: we., newTag: TAG}]", again: 3},
		{name: "an image that is no text", kustomization: "images: [{name: web, newTag: TAG}]", manifest: "{apiVersion: v1, kind: Pod, metadata: {name: d}, spec: {containers: [{name: web, image: [web]}]}}", again: 1},
		{name: "origins", kustomization: "buildMetadata: [originAnnotations]", again: 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, again := &memo.Memo{}, 0
			for _, values := range [][]string{{"shop", "early"}, {"store", "late"}} {
				archive := txtar.Parse([]byte("-- environments/prod/kustomization.yaml --\n" +
					"namespace: " + values[0] + "\nlabels: [{pairs: {stage: " + values[1] + "}}]\nresources: [../../config, ../../base]\n" +
					strings.ReplaceAll(test.kustomization, "TAG", values[1]) + "\n" +
					"-- labels/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nlabels: [{pairs: {x: " + values[1] + "}, fields: [{path: data, kind: ConfigMap}]}]\n" +
					"-- base/kustomization.yaml --\nresources: [all.yaml]\n-- base/all.yaml --\n" +
					"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}\n---\n" +
					"{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {k: v}}\n---\n" +
					"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {k: v}}\n---\n" + test.manifest + "\n"))
				s := readSources(t, t.TempDir(), archive)
				paths, d := divide(s, 1)
				before := m.Len()
				if difference := buildWhole(s).diff(buildDivided(m, paths, d)); difference != "" {
					t.Error(difference)
				}
				again = m.Len() - before
			}
			if again != test.again {
				t.Errorf("%d parts are built again, want %d", again, test.again)
			}
		})
	}
}
