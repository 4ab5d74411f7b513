package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const thing = `kind: CustomResourceDefinition
spec:
  group: example.org
  names: {kind: Thing}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        description: A Thing.
        properties:
          spec:
            required: [parts]
            properties:
              parts:
                type: array
                description: Parts | of it.
                items: {type: object, properties: {size: {type: number, minimum: 0.5, description: Size is how big.}}}
              ports: {type: object, additionalProperties: {type: integer}}
              target: {x-kubernetes-int-or-string: true}
              key:
                type: object
                properties:
                  key: {type: string, description: The key of the secret to select from.  Must be a valid secret key.}
                  optional: {type: boolean, description: "Specify whether the Secret or its key\n must be defined"}
`

func TestReferenceSkipsFieldsOfKubernetesTypes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "thing.yaml")
	if err := os.WriteFile(file, []byte(thing), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(&out, []string{file}); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(out.String(), "## Thing\n\n")
	want := "`example.org/v1`. A Thing.\n\n| spec | | |\n| --- | --- | --- |\n" +
		"| `key` | SecretKeySelector |  |\n" +
		"| `parts` | list of object, required | Parts \\| of it. |\n" +
		"| `parts[].size` | number, at least 0.5 | Size is how big. |\n" +
		"| `ports` | map of integer |  |\n" +
		"| `target` | integer or string |  |\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestWrongFilesPrintNothing(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other.yaml")
	if err := os.WriteFile(other, []byte("kind: Pod\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		files []string
		want  string
	}{
		{[]string{filepath.Join(dir, "none.yaml")}, "none.yaml: no such file"},
		{[]string{other, other}, "other.yaml: not a CustomResourceDefinition"},
	} {
		var out bytes.Buffer
		if err := run(&out, test.files); err == nil || !strings.Contains(err.Error(), test.want) || out.Len() > 0 {
			t.Errorf("%v: %v, want %q, and printed %q", test.files, err, test.want, out.String())
		}
	}
}
