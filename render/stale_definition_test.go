package render

import (
	"strings"
	"testing"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/test/testkind"
)

// An environment with an older CustomResourceDefinition gets no objects of a version that its cluster does
// not serve.
func TestConvertRefusesVersionMissingInDefinition(t *testing.T) {
	kinds, err := registry.New(testkind.Kind)
	if err != nil {
		t.Fatal(err)
	}
	definition := string(testkind.Kind.CRD())
	old := strings.Replace(definition, "name: v1\n", "name: v1alpha1\n", 1)
	for text, want := range map[string]string{definition: "", old: "v1alpha1"} {
		root := write(t, `
-- environments/prod/kustomization.yaml --
resources: [all.yaml, crd.yaml]
-- environments/prod/all.yaml --
apiVersion: testing.example.com/v1
kind: Fleet
metadata: {name: f}
spec: {message: hello}
-- environments/prod/crd.yaml --
`+text)
		repository, err := Open(root, kinds, Options{})
		if err != nil {
			t.Fatal(err)
		}
		problems := repository.Load("prod", LoadOptions{}).Problems
		if want == "" && len(problems) > 0 || want != "" && (len(problems) != 1 || !strings.Contains(problems[0].String(), want)) {
			t.Errorf("%q: %v", want, problems)
		}
	}
}
