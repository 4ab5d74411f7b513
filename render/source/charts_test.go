package source

import (
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func TestObjectsOfChartsAreMarked(t *testing.T) {
	for _, metadata := range []string{
		"metadata:\n  name: a\n", "metadata:\n  name: a\n  annotations:\n    b: c\n", "metadata:\n  annotations:\n  name: a\n", "metadata:\n  name: a\n  annotations: null # none\n",
		"metadata:\n  annotations: {}\n  name: a\n", "metadata:\n  annotations: {b: c}\n  name: a\n", "metadata: {name: a}\n", "metadata: {name: a, annotations: {b: c}}\n",
	} {
		content := "# Source: a\napiVersion: v1\nkind: ConfigMap\n" + metadata
		marked := markObjects(parseManifest("a.yaml", []byte(content), joinAnnotations, false))[0]
		object, err := yaml.Parse(string(marked.Content))
		if err != nil {
			t.Errorf("%s: %v", metadata, err)
			continue
		}
		annotations := object.GetAnnotations()
		if annotations["internal.config.kubernetes.io/helm-generated"] != "true" || strings.Contains(metadata, "b: c") && annotations["b"] != "c" || object.GetName() != "a" {
			t.Errorf("%q becomes %q", metadata, marked.Content)
		}
	}
}
