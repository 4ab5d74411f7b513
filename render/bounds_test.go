package render

import (
	"fmt"
	"strings"
	"testing"
)

const config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"

// bomb is YAML of a few hundred bytes that expands to 10 to the power of levels items.
func bomb(head string, levels int) string {
	text := head + "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < levels; i++ {
		text += fmt.Sprintf("l%d: &l%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d, ", i-1), 10), ", "))
	}
	return text
}

// repeated concatenates the texts of the first n numbers.
func repeated(count int, text func(i int) string) string {
	var all strings.Builder
	for i := range count {
		all.WriteString(text(i))
	}
	return all.String()
}

func inBlock(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n" }

func named(i int) string { return fmt.Sprintf(config, fmt.Sprintf("n%d", i)) + "---\n" }

// Small input that expands beyond memory, or to more than a day of work, is refused in every file that
// kustomize reads.
func TestRenderBoundsExpansion(t *testing.T) {
	ok := fmt.Sprintf(config, "ok")
	const patched = "resources: [a.yaml]\ntransformers: [t.yaml]\n"
	const transformer = "apiVersion: builtin\nkind: %s\nmetadata: {name: t}\n%s\n"
	diamond := map[string]string{"kustomization.yaml": "resources: [l0a, l0b]\n", "l21a/a.yaml": ok, "l21b/a.yaml": ok}
	for i := range 22 {
		next := "a.yaml"
		if i < 21 {
			next = fmt.Sprintf("../l%da, ../l%db", i+1, i+1)
		}
		for _, side := range []string{"a", "b"} {
			diamond[fmt.Sprintf("l%d%s/kustomization.yaml", i, side)] = fmt.Sprintf("namePrefix: %s-\nresources: [%s]\n", side, next)
		}
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"resource": {map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": bomb(ok, 9)},
			"a.yaml:9: the files of the environment stand for over 16 MiB more"},
		"path of a PatchTransformer": {map[string]string{"kustomization.yaml": patched, "a.yaml": ok, "p.yaml": bomb(ok, 9),
			"t.yaml": fmt.Sprintf(transformer, "PatchTransformer", "path: p.yaml")}, "p.yaml:9: the files of the environment stand for over 16 MiB more"},
		"path of a PatchTransformer and file of a generator": {map[string]string{"kustomization.yaml": patched + "configMapGenerator: [{name: c, files: [p.yaml]}]\n", "a.yaml": ok, "p.yaml": bomb(ok, 9),
			"t.yaml": fmt.Sprintf(transformer, "PatchTransformer", "path: p.yaml")}, "p.yaml:9: the files of the environment stand for over 16 MiB more"},
		"paths of a PatchStrategicMergeTransformer": {map[string]string{"kustomization.yaml": patched, "a.yaml": ok, "p.yaml": bomb(ok, 9),
			"t.yaml": fmt.Sprintf(transformer, "PatchStrategicMergeTransformer", "paths: [p.yaml]")}, "p.yaml:9: the files of the environment stand for over 16 MiB more"},
		"path of a ReplacementTransformer": {map[string]string{"kustomization.yaml": patched, "a.yaml": ok, "p.yaml": bomb("", 9),
			"t.yaml": fmt.Sprintf(transformer, "ReplacementTransformer", "replacements: [{path: p.yaml}]")}, "p.yaml:6: the files of the environment stand for over 16 MiB more"},
		"text of a transformer": {map[string]string{"kustomization.yaml": patched, "a.yaml": ok,
			"t.yaml": fmt.Sprintf(transformer, "PatchTransformer", "patch: |\n"+inBlock(bomb(ok, 9)))}, "t.yaml:13: the files of the environment stand for over 16 MiB more"},
		"text in a patch of a transformer": {map[string]string{"kustomization.yaml": "resources: [a.yaml]\ntransformers: [t]\n", "a.yaml": ok,
			"t/kustomization.yaml": "resources: [t.yaml]\npatches: [{path: p.yaml}]\n",
			"t/t.yaml":             fmt.Sprintf(transformer, "PatchTransformer", "patch: x"),
			"t/p.yaml":             fmt.Sprintf(transformer, "PatchTransformer", "patch: |\n"+inBlock(bomb(ok, 9)))}, "t/p.yaml:13: the files of the environment stand for over 16 MiB more"},
		"path of a transformer in a folder": {map[string]string{"kustomization.yaml": "resources: [a.yaml]\ntransformers: [t]\n", "a.yaml": ok, "p.yaml": bomb(ok, 9),
			"t/kustomization.yaml": "resources: [t.yaml]\npatches: [{path: p.yaml}]\n",
			"t/t.yaml":             fmt.Sprintf(transformer, "PatchTransformer", "patch: x"),
			"t/p.yaml":             fmt.Sprintf(transformer, "PatchTransformer", "patch: null\npath: p.yaml\n")}, "p.yaml:9: the files of the environment stand for over 16 MiB more"},
		"openapi":    {map[string]string{"kustomization.yaml": "resources: [a.yaml]\nopenapi: {path: o.yaml}\n", "a.yaml": ok, "o.yaml": bomb("", 9)}, "o.yaml:6: the files of the environment stand for over 16 MiB more"},
		"long text":  {map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": ok + "a: &a " + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*a,", 10_000) + "]\n"}, "a.yaml:5: the files of the environment stand for over 16 MiB more"},
		"merge keys": {map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": ok + "a: &a {" + repeated(1000, func(i int) string { return fmt.Sprintf("k%d: v, ", i) }) + "}\nb: {<<: [" + strings.Repeat("*a,", 1000) + "]}\n"}, "a.yaml:5: the files of the environment stand for over 16 MiB more"},
		"many small ones": {map[string]string{"kustomization.yaml": "resources: [a.yaml]\n",
			"a.yaml": repeated(1000, func(i int) string { return bomb(named(i)[:len(named(i))-len("---\n")], 4) + "---\n" })}, "a.yaml:257: the files of the environment stand for over 16 MiB more"},
		"deep flow":     {map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": ok + "a: " + strings.Repeat("{a: ", 9000) + strings.Repeat("}", 9000) + "\n"}, "a.yaml:4: nested over 200 levels deep"},
		"deep block":    {map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": ok + repeated(1000, func(i int) string { return strings.Repeat(" ", i) + "a:\n" })}, "a.yaml:204: nested over 200 levels deep"},
		"deep and wide": {map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": ok + "a: " + strings.Repeat("[", 190) + strings.Repeat("a,", 50_000) + strings.Repeat("]", 190) + "\n"}, "a.yaml:4: the files of the environment stand for over 16 MiB more"},
		"many keys":     {map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": ok + "a: {" + repeated(20_000, func(i int) string { return fmt.Sprintf("k%d: v, ", i) }) + "}\n"}, "a.yaml:4: the files of the environment stand for over 16 MiB more"},
		"diamond":       {diamond, "would be loaded again and again"},
		"many copies": {func() map[string]string {
			files := map[string]string{"kustomization.yaml": "resources:\n" + repeated(200, func(i int) string { return fmt.Sprintf("- f%d\n", i) }),
				"base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": repeated(100, named)}
			for i := range 200 {
				files[fmt.Sprintf("f%d/kustomization.yaml", i)] = fmt.Sprintf("namePrefix: p%d-\nresources: [../base]\n", i)
			}
			return files
		}(), "base/kustomization.yaml:1: environments/prod/base/a.yaml would be loaded again and again"},
	} {
		t.Run(name, func(t *testing.T) {
			var archive strings.Builder
			for file, content := range test.files {
				fmt.Fprintf(&archive, "-- environments/prod/%s --\n%s", file, strings.TrimSuffix(content, "\n")+"\n")
			}
			problems := problemsOf(run(t, write(t, archive.String())))
			if len(problems) != 1 || !strings.Contains(problems[0], test.want) {
				t.Errorf("problems %q, want one that has %q", problems, test.want)
			}
		})
	}
}

// Regular expressions and rules that would take minutes, or all memory, are refused before that.
func TestRenderBoundsExpressions(t *testing.T) {
	definition := func(schema string) string {
		return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: as.x.io}
spec:
  group: x.io
  scope: Namespaced
  names: {plural: as, singular: a, kind: A, listKind: AList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, ` + schema + `}}}}
`
	}
	policy := func(expression string) string {
		return `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  validations: [{expression: '` + expression + `'}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p, validationActions: [Deny]}
---
`
	}
	long := strings.Repeat("a{1000}", 3000)
	pattern := func(i int, of string) string {
		return fmt.Sprintf("f%d: {type: string, maxLength: 9, pattern: '%s'}, ", i, of)
	}
	rule := func(of string) string {
		return "properties: {a: {type: string, maxLength: 9}}, x-kubernetes-validations: [{rule: \"" + of + "\"}]"
	}
	lists := "[" + strings.Repeat("1,", 99) + "1]"
	for name, test := range map[string]struct{ content, want string }{
		"a pattern":         {definition("properties: {" + pattern(0, long) + "}"), "a.yaml:1: CustomResourceDefinition as.x.io: a regular expression compiles to over 100000 instructions"},
		"a nested pattern":  {definition("properties: {" + pattern(0, strings.Repeat("((a{10}){10}){10}", 200)) + "}"), "a regular expression compiles to over 100000 instructions"},
		"many patterns":     {definition("properties: {" + repeated(30, func(i int) string { return pattern(i, strings.Repeat("a{1000}", 45)) }) + "}"), "the regular expressions of the environment compile to over 1000000 instructions"},
		"a rule":            {definition(rule("self.a.matches('" + long + "')")), "a regular expression compiles to over 100000 instructions"},
		"an escaped rule":   {definition(rule(`self.a.matches('` + strings.Repeat(`\\x61\\x7b1000}`, 3000) + `')`)), "a regular expression compiles to over 100000 instructions"},
		"a joined rule":     {definition(rule("self.a.matches('" + strings.Repeat("a{10", 300) + "' + '00}')")), "a regular expression compiles to over 100000 instructions"},
		"a policy":          {policy(`object.metadata.name.matches("` + long + `")`), "a.yaml:1: ValidatingAdmissionPolicy p: a regular expression compiles to over 100000 instructions"},
		"loops of a policy": {policy(lists+".all(a, "+lists+".all(b, "+lists+".all(c, a + b + c > 0)))") + repeated(200, named), "a.yaml:1: ValidatingAdmissionPolicy p: its expressions take too long for all objects"},
	} {
		t.Run(name, func(t *testing.T) {
			archive := "-- environments/prod/kustomization.yaml --\nresources: [a.yaml]\n-- environments/prod/a.yaml --\n" + test.content
			problems := problemsOf(run(t, write(t, archive)))
			if len(problems) != 1 || !strings.Contains(problems[0], test.want) {
				t.Errorf("problems %.2000q, want one that has %q", problems, test.want)
			}
		})
	}
	usual := definition("properties: {" + repeated(300, func(i int) string {
		return pattern(i, `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$`)
	}) + "}")
	if problems := problemsOf(run(t, write(t, "-- environments/prod/kustomization.yaml --\nresources: [a.yaml]\n-- environments/prod/a.yaml --\n"+usual))); len(problems) > 0 {
		t.Error(problems)
	}
}
