package charts

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/kustomize/api/types"
)

// printed are the files of a chart that prints its values.
var printed = tree{
	"/charts/app/Chart.yaml": `{apiVersion: v2, name: app, version: 1.0.0-rc.1+b, appVersion: "1.10", kubeVersion: ">=1.30", keywords: [a, b],
maintainers: [{name: m, email: m@example.com}, {name: n}], annotations: {"a.b/c": "1"}, deprecated: true, sources: []}`,
	"/charts/app/values.yaml": `
text: a
texts: ["", " ", "%s %d", "{{ .Values.text }}", "<no value>", "line\nline\n", "1.10", "é\u202e"]
numbers: [0, -1, 1.0, 1.5, 1e6, 1e21, 100000000, 9223372036854775807, 18446744073709551615, -0.0, 0x1F, 1_000]
others: [true, false, null, {}, [], [[]], 2024-01-01, 2024-01-01T10:00:00Z]
keys: {"": 1, "a b": 2, "1": 3, "true": 4, "null": 5, "a.b": 6, YAML: 7, AsMap: 8, "é": 9, "a\nb": 10}
global: {zone: a}
"odd key": {"x y": null}
AsMap: taken
`,
	"/charts/app/files/a.txt": "one\ntwo\n",
	"/charts/app/files/b":     "",
}

// execute returns the text of a template by Helm's engine or, with a run, by the rewritten template. A text that
// changes on each run is "changing".
func execute(t *testing.T, template string, r *run) (text string, err error) {
	t.Helper()
	printed["/charts/app/templates/a.yaml"] = template
	e := Entry{HelmChart: types.HelmChart{Name: "app", ReleaseName: "web"}, Home: "/charts", File: "kustomization.yaml"}
	c, top := printedTop(t, e)
	if r == nil {
		files, err := engine.Engine{}.RenderWithContext(t.Context(), c.Chart, top)
		return files["app/templates/a.yaml"], err
	}
	c.nameTemplates()
	r.addresses = []string{fmt.Sprintf("%p", top["Capabilities"])}
	r.rewriteAll(c)
	_, _, problems := e.execute(nil, c, r, top)
	if len(r.changing) > 0 {
		return "changing", nil
	}
	text, isThere := r.files["app/templates/a.yaml"]
	if !isThere {
		return "", fmt.Errorf("%v", problems)
	}
	return text, nil
}

// printedTop returns the chart, and the value that is the dot of its templates.
func printedTop(t *testing.T, e Entry) (*loaded, common.Values) {
	t.Helper()
	c, err := load(printed, e)
	if err != nil {
		t.Fatal(err)
	}
	capabilities, err := e.capabilities(Cluster{Kubernetes: "1.37.0", APIVersions: []string{"v1", "apps/v1"}})
	if err != nil {
		t.Fatal(err)
	}
	top, err := util.ToRenderValues(c.Chart, c.Values, common.ReleaseOptions{Name: "web", Namespace: "default", Revision: 1, IsInstall: true}, capabilities)
	if err != nil {
		t.Fatal(err)
	}
	return c, top
}

// expressions returns the operands of all that a template reaches below a value: keys, fields, items, and methods
// without arguments.
func expressions(at string, v reflect.Value) (all []string) {
	all = []string{at}
	for _, of := range []reflect.Type{v.Type(), reflect.PointerTo(v.Type())} {
		for i := range of.NumMethod() {
			if m := of.Method(i); m.Type.NumIn() == 1 && m.Type.NumOut() > 0 && (of == v.Type() || v.CanAddr()) {
				all = append(all, at+"."+m.Name)
			}
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			all = append(all, expressions(at, v.Elem())...)
		}
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(v.Type()) {
			if field.IsExported() {
				all = append(all, expressions(at+"."+field.Name, v.FieldByIndex(field.Index))...)
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			key := entries.Key().String()
			all = append(all, expressions(fmt.Sprintf("(index %s %s)", at, strconv.Quote(key)), entries.Value())...)
			if !strings.ContainsAny(key, " ./\n1") && key != "" {
				all = append(all, at+"."+key)
			}
		}
	case reflect.Slice:
		for i := range min(v.Len(), 20) {
			all = append(all, expressions(fmt.Sprintf("(index %s %d)", at, i), v.Index(i))...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Templates that print a value X. Those of ways accept nearly every value.
var (
	ways = []string{
		`{{ X }}`, `{{- with X }}{{ . }}{{ end }}`, `{{ $x := X }}{{ $x }}`, `{{ or X "none" }}`, `{{ and true X }}`, `{{ X | default "none" }}`,
		`{{ if X }}yes{{ end }}`, `{{ range list X }}{{ . }}{{ end }}`, `{{ range $i, $x := list X }}{{ $i }}{{ $x }}{{ end }}`, `{{ index (list X) 0 }}`,
		`{{ index (dict "x" X) "x" }}`, `{{ get (dict "x" X) "x" }}`, `{{ (dict "x" X).x }}`, `{{ define "a" }}{{ . }}{{ end }}{{ template "a" X }}`,
		`{{ define "b" }}{{ . }}{{ end }}{{ include "b" X }}`, `{{ define "c" }}{{ .x }}{{ end }}{{ include "c" (dict "x" X) }}`, `{{ tpl "{{ . }}" X }}`,
		`{{ X | toString }}`, `{{ X | quote }}`, `{{ X | toYaml }}`, `{{ X | toJson }}`, `{{ printf "%v %q" X X }}`, `{{ print X }}`, `{{ ternary X "none" true }}`,
		`{{ coalesce nil X }}`, `{{ list X }}`, `{{ dict "x" X }}`, `{{ X | kindOf }} {{ typeOf X }}`, `{{ (X) }}`, `{{ X | html }}`,
	}
	refusing = []string{`{{ required "none" X }}`, `{{ eq X X }}`, `{{ len X }}`, `{{ X.String }}`, `{{ with X }}{{ .String }}{{ end }}`, `{{ $x := X }}{{ $x.GitVersion }}`}
)

func TestEachValuePrintsAsInHelm(t *testing.T) {
	_, top := printedTop(t, Entry{HelmChart: types.HelmChart{Name: "app", ReleaseName: "web"}, Home: "/charts"})
	all := []string{
		".", ".Files", ".Template", ".Subcharts", ".Template.Name", ".Template.BasePath", ".Chart.IsRoot", ".Chart.Type", ".none", ".Values.none", ".Values.none.none",
		`(.Files.Get "files/a.txt")`, `(.Files.GetBytes "files/a.txt")`, `(.Files.Glob "files/*")`, `(.Files.Lines "files/a.txt")`, `.Files.AsConfig`, `.Files.AsSecrets`,
		`(index .Files "files/a.txt")`, `(.Capabilities.APIVersions.Has "v1")`, `(semver "1.2.3-a+b")`, `(semver "1.2.3").Minor`, `(toDate "2006" "2020")`,
		`(fromYaml "a: 1.0")`, `(fromJson "[")`, `(fromYamlArray "[1, 1.5, null]")`, `(fromToml "a = 1.0")`, `(urlParse "http://a@b/c")`, `(int64 3)`, `(float64 3)`,
		`1`, `1.0`, `1e21`, `0x1F`, `'a'`, `1i`, `true`, `"text"`, `(list nil)`, `(dict)`, `(tuple 1 "a" nil)`, `(index (list nil) 0)`, `(first (list nil))`,
	}
	for _, name := range []string{"Capabilities", "Release", "Chart", "Values"} {
		all = append(all, expressions("."+name, reflect.ValueOf(top[name]))...)
	}
	for _, expression := range all {
		if strings.HasSuffix(expression, ".Copy") { // a list of it prints an address
			continue
		}
		for _, way := range append(refusing, strings.Join(ways, "\n")) {
			compareWithHelm(t, strings.ReplaceAll(way, "X", expression))
		}
	}
}

// compareWithHelm runs a template. If Helm refuses one with many lines, each of its lines is run, too.
func compareWithHelm(t *testing.T, template string) {
	t.Helper()
	ours, ourErr := execute(t, template, newRun())
	want, err := execute(t, template, nil)
	lines := strings.Split(template, "\n")
	if len(lines) > 1 && (err != nil || ours == "changing") {
		for _, line := range lines {
			compareWithHelm(t, line)
		}
		return
	}
	if ours != "changing" && (ours != want || (ourErr == nil) != (err == nil)) {
		t.Errorf("%s: %q %v, Helm %q %v", template, ours, ourErr, want, err)
	}
}
