package charts

import (
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
)

// settings returns the settings of a file of values, set, for a chart with some files.
func settings(t *testing.T, set string, files ...string) *Settings {
	t.Helper()
	all := tree{"/set.yaml": set, "/charts/app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n"}
	for i := 0; i < len(files); i += 2 {
		content := files[i+1]
		if strings.HasSuffix(files[i], "/a.yaml") && !strings.Contains(content, "\n") {
			content = "# " + content // it writes no object
		}
		all["/charts/app/"+files[i]] = content
	}
	e := Entry{HelmChart: types.HelmChart{Name: "app", ReleaseName: "web", ValuesFile: "set.yaml"}, Home: "/charts", Folder: "/", File: "kustomization.yaml", Node: &yaml.Node{Kind: yaml.MappingNode, Line: 1}}
	rendered, problems := Render(all, e, Cluster{Kubernetes: "1.37.0"})
	for _, p := range problems {
		t.Log(p)
	}
	return rendered.Settings
}

func TestUnreadNamesNoValueThatATemplateReads(t *testing.T) {
	const dependency = "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n- {name: db, version: 1.0.0, alias: store, condition: \"store.enabled,global.stores\", tags: [back], import-values: [data, {child: deep.c, parent: d}]}\n"
	const db = "apiVersion: v2\nname: db\nversion: 1.0.0\n"
	for name, test := range map[string]struct {
		set   string
		files []string
		want  string
	}{
		"field":               {"a: {b: 1, c: 2}\nd: 3", []string{"templates/a.yaml", "{{.Values.a.b}}"}, "a.c d"},
		"whole mapping":       {"a: {b: 1}\nx: {y: {z: 1}}", []string{"templates/a.yaml", "{{toYaml .Values.a}}"}, "x"},
		"false condition":     {"a: {b: {c: 1}}", []string{"templates/a.yaml", "{{if false}}{{toYaml .Values.a.b}}{{end}}"}, ""},
		"condition":           {"a: {b: 1}\nc: true", []string{"templates/a.yaml", "{{if and .Values.a (not .Values.c)}}{{end}}"}, "a.b"},
		"with":                {"a: {b: 1, c: 2}", []string{"templates/a.yaml", "{{with .Values.a}}{{.b}}{{else}}{{.Values.x}}{{end}}"}, "a.c"},
		"else with":           {"a: 1\nb: 2\nc: 3", []string{"templates/a.yaml", "{{with .Values.a}}{{else with .Values.b}}{{$.Values.c}}{{end}}"}, ""},
		"range":               {"a: [{b: 1}]\nm: {k: {v: 1}}", []string{"templates/a.yaml", "{{range .Values.a}}{{.b}}{{end}}{{range $k, $v := .Values.m}}{{$k}}{{end}}"}, ""},
		"range of a list":     {"a: {x: 1, z: 2}\nb: {x: 1}", []string{"templates/a.yaml", "{{range $one := list .Values.a .Values.b}}{{$one.x}}{{end}}"}, "a.z"},
		"variable":            {"a: {b: 1, c: 2}", []string{"templates/a.yaml", "{{$a := .Values.a}}{{range list 1}}{{$a.b}}{{end}}"}, "a.c"},
		"assigned variable":   {"a: {b: 1}\nc: {b: 2}", []string{"templates/a.yaml", "{{$a := .Values.a}}{{range list 1 2}}{{$a.b}}{{$a = $.Values.c}}{{end}}"}, ""},
		"values in variable":  {"a: {b: 1, c: 2}", []string{"templates/a.yaml", "{{$v := .Values}}{{$v.a.b}}"}, "a.c"},
		"all values":          {"a: {b: 1}", []string{"templates/a.yaml", "{{.Values | toYaml}}"}, ""},
		"root as a whole":     {"a: {b: 1}", []string{"templates/a.yaml", "{{toYaml .}}"}, ""},
		"index":               {"a-b: {c: 1, d: 2}", []string{"templates/a.yaml", `{{index .Values "a-b" "c"}}{{(index .Values "a-b").e}}`}, "a-b.d"},
		"index by variable":   {"a: {b: {c: 1, d: 2}}", []string{"templates/a.yaml", `{{$k := "b"}}{{(index .Values.a $k).c}}`}, "a.b.d"},
		"get and hasKey":      {"a: {b: 1, c: 2, d: 3}", []string{"templates/a.yaml", `{{get .Values.a "b"}}{{if hasKey .Values.a "c"}}{{end}}`}, "a.d"},
		"dig":                 {"a: {b: {c: 1}}", []string{"templates/a.yaml", `{{dig "b" "c" 3 .Values.a}}`}, ""},
		"default":             {"a: {b: 1, c: 2}\nd: {b: 1}", []string{"templates/a.yaml", `{{(.Values.d | default .Values.a).b}}`}, ""},
		"include":             {"a: {b: 1}\nc: 1", []string{"templates/_h.tpl", `{{define "h"}}{{.Values.a.b}}{{end}}`, "templates/a.yaml", `{{include "h" . | quote}}`}, "c"},
		"unused include":      {"a: 1", []string{"templates/_h.tpl", `{{define "h"}}{{.Values.a}}{{end}}`, "templates/a.yaml", `{{.Values.b}}`}, ""},
		"include of a value":  {"a: {b: 1, c: 1}", []string{"templates/_h.tpl", `{{define "h"}}{{.b}}{{end}}`, "templates/a.yaml", `{{template "h" .Values.a}}`}, "a.c"},
		"include of a dict":   {"a: {b: 1, c: 1}\nd: 1", []string{"templates/_h.tpl", `{{define "h"}}{{.one.b}}{{.root.Values.d}}{{end}}`, "templates/a.yaml", `{{include "h" (dict "one" .Values.a "root" $)}}`}, "a.c"},
		"merged dict":         {"a: {b: 1, c: 1}\nd: 1", []string{"templates/_h.tpl", `{{define "h"}}{{.b}}{{.Values.d}}{{end}}`, "templates/a.yaml", `{{$d := dict "x" 1}}{{$_ := merge $d .Values.a .}}{{include "h" $d}}`}, ""},
		"include by a name":   {"a: 1", []string{"templates/_h.tpl", `{{define "app.h"}}{{.Values.a}}{{end}}`, "templates/a.yaml", `{{include (printf "%s.h" .Chart.Name) .}}`}, ""},
		"recursion":           {"a: {b: 1, c: 2}", []string{"templates/_h.tpl", `{{define "h"}}{{.b}}{{include "h" .}}{{include "h" .next}}{{end}}`, "templates/a.yaml", `{{include "h" .Values.a}}`}, ""},
		"tpl":                 {"a: {b: 1, c: 2}\nt: '{{ .Values.a.b }}'", []string{"templates/a.yaml", `{{tpl .Values.t .}}`}, "a.c"},
		"tpl of a key":        {"a: 1\nt: {'{{ .Values.a }}': x}", []string{"templates/a.yaml", `{{tpl (toYaml .Values.t) .}}`}, ""},
		"tpl of a file":       {"a: 1\nb: 1", []string{"templates/a.yaml", `{{tpl (.Files.Get "f.txt") .}}`, "f.txt", "{{.Values.a}}"}, "b"},
		"tpl of a default":    {"a: 1\nb: 1", []string{"templates/a.yaml", `{{tpl .Values.t .}}`, "values.yaml", "t: '{{.Values.a}}'"}, "b"},
		"tpl of a literal":    {"a: 1\nb: 1", []string{"templates/a.yaml", `{{tpl "{{.Values.a}}" .}}`}, "b"},
		"tpl of a part":       {"a: 1\nt: ['{{ if .Values.a }}', '{{ end }}']", []string{"templates/a.yaml", `{{tpl (toYaml .Values.t) .}}`}, ""},
		"escaped template":    {"a: 1\nb: 1", []string{"templates/a.yaml", `{{tpl (include "t" .) .}}`, "templates/_h.tpl", "{{define \"t\"}}{{ `{{` }} .Values.a {{ `}}` }}{{end}}"}, "b"},
		"method":              {"a: {b: 1}", []string{"templates/a.yaml", `{{.Values.PathValue "a.b"}}`}, ""},
		"null":                {"a: null\nb: null", []string{"templates/a.yaml", `{{if .Values.a}}{{.Values.a.b}}{{end}}`}, "b"},
		"notes":               {"a: 1", []string{"templates/NOTES.txt", `{{.Values.a}}`}, ""},
		"merge keys":          {"x-all: &all {b: 1}\na: {<<: *all, c: 2}", []string{"templates/a.yaml", `{{.Values.a.b}}`}, "a.c x-all"},
		"pick":                {"a: {b: 1}", []string{"templates/a.yaml", `{{range $k, $v := pick .Values.a "b"}}{{end}}`}, ""},
		"set":                 {"a: {b: {c: 1}}", []string{"templates/a.yaml", `{{$_ := set .Values "d" .Values.a.b}}{{.Values.d.c}}`}, ""},
		"a broken template":   {"a: 1", []string{"templates/a.yaml", `{{if}}`}, ""},
		"alias":               {"store: {a: 1, b: 1, enabled: false}\ndb: {a: 1}", []string{"Chart.yaml", dependency, "charts/db/Chart.yaml", db, "charts/db/templates/a.yaml", "{{.Values.a}}"}, "store.b"},
		"global and tags":     {"global: {a: 1, b: 1, stores: 1}\ntags: {back: true, front: true}\nstore: {global: {a: 2, c: 1}}", []string{"Chart.yaml", dependency, "charts/db/Chart.yaml", db, "charts/db/templates/a.yaml", "{{.Values.global.a}}"}, "global.b store.global.c tags.front"},
		"import-values":       {"store: {exports: {data: {x: 1}}, deep: {c: {y: 1}, z: 1}}", []string{"Chart.yaml", dependency, "charts/db/Chart.yaml", db}, "store.deep.z"},
		"of a dependency":     {"db: {a: 1, b: 1}", []string{"charts/db/Chart.yaml", db, "templates/a.yaml", "{{.Values.db.a}}{{.Subcharts.db.Values.c}}"}, "db.b"},
		"library":             {"a: 1\nlib: {a: 1}", []string{"charts/lib/Chart.yaml", "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n", "charts/lib/templates/_a.tpl", `{{define "lib.a"}}{{.Values.a}}{{end}}`, "templates/a.yaml", `{{include "lib.a" .}}`}, "lib"},
		"a later declaration": {"a: {b: 1}\nc: {b: 1, d: 1}", []string{"templates/a.yaml", "{{$x := .Values.c}}{{if .Values.a}}{{$x := .Values.a}}{{$x.b}}{{else}}{{$x.b}}{{end}}"}, "c.d"},
	} {
		if unread := strings.Join(unreadOf(settings(t, test.set, test.files...)), " "); unread != test.want {
			t.Errorf("%s: unread %q, want %q", name, unread, test.want)
		}
	}
}

func TestFindingReadsEnds(t *testing.T) {
	deep := strings.Repeat(`{{$d = dict "a" $d "b" $d}}`, 60)
	for name, template := range map[string]string{
		"deep dict":    `{{$d := dict}}` + deep + `{{include "h" $d}}`,
		"recursion":    `{{define "h"}}{{include "h" (dict "x" .)}}{{include "h" (dict "y" .)}}{{end}}{{include "h" .}}`,
		"itself":       `{{$d := dict}}{{$_ := merge $d (dict "d" $d)}}{{include "h" $d}}{{define "h"}}{{$x := .d.d.d.d}}{{end}}`,
		"many texts":   `{{define "h"}}{{tpl .t .}}{{end}}` + strings.Repeat(`{{tpl .Values.t (dict "t" (tpl .Values.t .))}}`, 2000),
		"doubled list": `{{$l := list .Values.a}}` + strings.Repeat(`{{$l = list $l $l}}`, 200) + `{{define "h"}}{{end}}{{include "h" $l}}`,
	} {
		if unread := unreadOf(settings(t, "a: 1", "values.yaml", "t: '{{ tpl .Values.t . }}{{ tpl .t . }}'", "templates/a.yaml", template)); len(unread) > 1 {
			t.Error(name, unread)
		}
	}
}

func TestSettingsHavePositions(t *testing.T) {
	s := settings(t, "replicas: 3\nimage:\n  tag: '3'\n  name: web\nports:\n- {port: 80}\n- {port: 81}\nsame: web\n",
		"values.yaml", "auth: {existingSecret: ''}\ntls: {existingTlsSecret: ''}\n",
		"templates/a.yaml", "replicas: {{ .Values.replicas }}\ntag: {{ .Values.image.tag }}\nboth: {{ .Values.image.name }}-{{ .Values.same }}\nports:\n{{- range .Values.ports }}\n- port: {{ .port }}\n{{- end }}\nimage: {{ toYaml .Values.image | nindent 2 }}\n",
		"templates/secret.yaml", "{{ if not .Values.auth.existingSecret }}\nkind: Secret\n{{ end }}\n", "templates/other.yaml", "kind: Secret\n")
	for _, test := range []struct {
		line              int
		field, text, want string
	}{
		{1, "spec.replicas", "3", "replicas (set.yaml:1)"},
		{2, "spec.tag", "3", "image.tag (set.yaml:3)"},
		{2, "spec.tag", "4", ""},
		{3, "spec.name", "web", "image.name (set.yaml:4)"},
		{3, "spec.both", "web", ""},
		{6, "spec.ports.1.port", "81", "ports.1.port (set.yaml:7)"},
		{8, "image.tag", "3", "image.tag (set.yaml:3)"},
	} {
		cause, ok := s.Cause(Position{"/charts/app/templates/a.yaml", test.line}, test.line, strings.Split(test.field, "."), test.text)
		if got := cause.String(); ok != (test.want != "") || ok && got != test.want {
			t.Errorf("%v: %s %t", test, got, ok)
		}
	}
	for file, want := range map[string][]string{"secret": {"auth.existingSecret"}, "other": {"auth.existingSecret", "tls.existingTlsSecret"}} {
		if names := s.SecretNames(Position{"/charts/app/templates/" + file + ".yaml", 1}); !slices.Equal(names, want) {
			t.Errorf("%s: %v, want %v", file, names, want)
		}
	}
}

func unreadOf(s *Settings) []string {
	if s == nil { // the chart has problems
		return nil
	}
	never, _ := s.Unread()
	return never
}

// A value of a branch that does not run is neither read nor without a reader.
func TestValuesOfIdleTemplatesAreNamed(t *testing.T) {
	const template = `{{if .Values.ingress.enabled}}{{.Values.ingress.host}}{{range .Values.ingress.paths}}{{.}}{{end}}{{end}}{{.Values.name}}`
	for set, want := range map[string]string{
		"ingress: {enabled: false, host: a, paths: [b], more: c}": "ingress.host ingress.paths",
		"ingress: {enabled: true, host: a, paths: [b]}":           "",
		"{name: a, other: b}":                                     "",
	} {
		_, idle := settings(t, set, "values.yaml", "ingress: {enabled: false}", "templates/a.yaml", template).Unread()
		if got := strings.Join(idle, " "); got != want {
			t.Errorf("%s: %q, want %q", set, got, want)
		}
	}
}
