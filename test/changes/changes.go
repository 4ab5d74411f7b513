// Package changes has changes of environments, and the effects of a review, as short texts for tests.
package changes

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/effect"
)

// Objects returns the objects in YAML documents.
func Objects(t *testing.T, documents string) (objects []manifest.Object) {
	t.Helper()
	for document := range strings.SplitSeq(documents, "---\n") {
		u := &unstructured.Unstructured{}
		encoded, err := yaml.YAMLToJSON([]byte(document))
		if err == nil && strings.TrimSpace(document) != "" {
			err = u.UnmarshalJSON(encoded)
		}
		if err != nil {
			t.Fatal(err, document)
		}
		if u.Object != nil {
			objects = append(objects, manifest.Object{Unstructured: u})
		}
	}
	return objects
}

// Between returns the change of an environment between two texts of YAML documents.
func Between(t *testing.T, before, after string) *compare.Comparison {
	t.Helper()
	return compare.New(gatehouse.All(), "prod", compare.Input{Objects: Objects(t, before)}, compare.Input{Objects: Objects(t, after)})
}

// Lines returns effects as texts: "Deployment ns/a: is added | its risk".
func Lines(effects []effect.Effect) (lines []string) {
	for _, e := range effects {
		line := e.Object.String() + ": " + e.What.Plain()
		if e.Risk != "" {
			line += " | " + e.Risk.Plain()
		}
		lines = append(lines, line)
	}
	return lines
}

// Deployment returns a Deployment of the Namespace ns with a label, a port of the name web, and fields of its Pods.
func Deployment(name, label string, fields ...string) string {
	return fmt.Sprintf(
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s, namespace: ns}, spec: {selector: {matchLabels: {id: %[1]s}}, template: {metadata: {labels: {id: %[1]s, app: %s}}, spec: {%s containers: [{name: c, image: i, ports: [{name: web, containerPort: 80}]}]}}}}
---
`, name, label, strings.Join(fields, ""))
}
