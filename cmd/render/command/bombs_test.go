package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Input that would take more CPU time or memory than there is ends the process, in every part of rendering, with the
// place of the work. Nothing is written.
func TestBombsEndTheProcess(t *testing.T) {
	const config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"
	ok := fmt.Sprintf(config, "ok")
	chart := func(template string) map[string]string {
		return map[string]string{
			"kustomization.yaml":          "helmCharts: [{name: app, releaseName: web}]\n",
			"charts/app/Chart.yaml":       "apiVersion: v2\nname: app\nversion: 1.0.0\n",
			"charts/app/values.yaml":      "{}\n",
			"charts/app/templates/a.yaml": "{{/* */}}\n" + template + "\n",
		}
	}
	const inTemplate = "environments/prod/charts/app/templates/a.yaml:2: prod: reading: chart app: takes over "
	aliases := "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		aliases += fmt.Sprintf(
			"l%d: &l%d [%s]\n",
			i+1,
			i+1,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d, ", i), 10), ", "),
		)
	}
	replacements := ""
	for i := range 60 {
		replacements += fmt.Sprintf(
			"- {source: {kind: Widget, fieldPath: spec}, targets: [{select: {kind: Widget}, fieldPaths: [spec.k%d], options: {create: true}}]}\n",
			i,
		)
	}
	diamond := map[string]string{
		"kustomization.yaml":     "resources: [l0a, l0b]\n",
		"end/kustomization.yaml": "resources: [a.yaml]\n",
		"end/a.yaml":             ok,
	}
	for i := range 40 {
		for _, side := range []string{"a", "b"} {
			next := fmt.Sprintf("../l%da, ../l%db", i+1, i+1)
			if i == 39 {
				next = "../end"
			}
			diamond[fmt.Sprintf("l%d%s/kustomization.yaml", i, side)] = fmt.Sprintf(
				"namePrefix: %s-\nresources: [%s]\n",
				side,
				next,
			)
		}
	}
	list := "[" + strings.Repeat("1,", 99) + "1]"
	policy := `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  validations: [{expression: '` + list + ".all(a, " + list + ".all(b, " + list + `.all(c, a + b + c > 0)))'}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p, validationActions: [Deny]}
`
	for i := range 500 {
		policy += "---\n" + fmt.Sprintf(config, fmt.Sprintf("c%d", i))
	}
	const set = `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: s}
spec:
  goTemplate: true
  generators: [{list: {elements: [{a: b}]}}]
  template: {metadata: {name: "{{range until 1000000}}{{range until 1000000}}{{end}}{{end}}x"}}
`
	widget := "apiVersion: x.io/v1\nkind: Widget\nmetadata: {name: a}\nspec: {a: {b: c}}\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"loop of a template":  {chart(`{{range $i := 1000000000000}}{{end}}`), inTemplate},
		"pairs in a function": {chart(`{{$l := until 200000}}{{len (uniq $l)}}`), inTemplate},
		"text of a file":      {chart(`{{$s := repeat 1000000 "a"}}{{range until 100000}}{{$s}}{{end}}`), inTemplate},
		"mapping in itself":   {chart(`{{$d := dict}}{{$_ := set $d "a" $d}}{{toToml $d}}`), inTemplate},
		"loop of a generator": {map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": set}, "environments/prod: ApplicationSet s: prod: building: takes over "},
		"aliases":             {map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": ok + aliases}, "environments/prod: prod: "},
		"replacements":        {map[string]string{"kustomization.yaml": "resources: [a.yaml]\nreplacements:\n" + replacements, "a.yaml": widget}, "environments/prod: prod: building: after opening environments/prod/"},
		"folders":             {diamond, "environments/prod: prod: "},
		"schema of itself": {map[string]string{"kustomization.yaml": "resources: [a.yaml]\nopenapi: {path: s.json}\npatches: [{path: p.yaml}]\n", "a.yaml": widget, "p.yaml": widget,
			"s.json": `{"definitions": {"A": {"$ref": "#/definitions/A"}, "W": {"properties": {"spec": {"$ref": "#/definitions/A"}}, "x-kubernetes-group-version-kind": [{"group": "x.io", "version": "v1", "kind": "Widget"}]}}}`},
			"environments/prod: prod: building: after opening environments/prod/"},
		"loops of an expression": {map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": policy}, "environments/prod: ValidatingAdmissionPolicy p: prod: "},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, content := range test.files {
				path := filepath.Join(root, "environments/prod", file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			out, err := process(
				t,
				"",
				"--all",
				"--root",
				root,
				"--max-cpu",
				"1s",
				"--max-memory",
				"300Mi",
			).CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != exitError || !strings.Contains(string(out), test.want) ||
				!strings.Contains(string(out), ", raise --max-") {
				t.Errorf("%v: %.2000s\nwant exit code 2 and %s", err, out, test.want)
			}
			if _, err := os.Stat(filepath.Join(root, "rendered")); err == nil {
				t.Error("writes rendered/")
			}
		})
	}
}
