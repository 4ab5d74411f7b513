package charts

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/kustomize/api/types"
)

// tree are files in memory. A value link=X is a link to X.
type tree map[string]string

func (t tree) Resolve(name string) (string, bool, error) {
	if content, ok := t[name]; ok {
		if target, is := strings.CutPrefix(content, "link="); is {
			return t.Resolve(target)
		}
		return name, false, nil
	}
	for file := range t {
		if strings.HasPrefix(file, name+"/") {
			return name, true, nil
		}
	}
	return "", false, fs.ErrNotExist
}

func (t tree) ReadFile(name string) ([]byte, error) { return []byte(t[name]), nil }
func (t tree) ReadAny(name string) ([]byte, error)  { return []byte(t[name]), nil }

func (t tree) List(folder string) (names []string, err error) {
	for file := range t {
		if rest, is := strings.CutPrefix(file, folder+"/"); is {
			name, _, _ := strings.Cut(rest, "/")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// render renders a chart with one template and its values.
func render(t *testing.T, template, values string, others ...string) (content, problem string) {
	t.Helper()
	files := tree{"/charts/app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n", "/charts/app/values.yaml": values, "/charts/app/templates/a.yaml": template}
	for i := 0; i < len(others); i += 2 {
		files[path.Join("/charts/app", others[i])] = others[i+1]
	}
	e := Entry{HelmChart: types.HelmChart{Name: "app", ReleaseName: "web"}, Home: "/charts", File: "kustomization.yaml"}
	rendered, problems := Render(files, e, Cluster{Kubernetes: "1.37.0"})
	for _, p := range problems {
		problem += p.String() + "\n"
	}
	return string(rendered.Content), problem
}

func TestTemplatesEnd(t *testing.T) {
	deep := `{{define "a"}}` + strings.Repeat(`{{include "a" .}}`, 2) + `{{end}}{{include "a" .}}`
	for name, template := range map[string]string{
		"loop of nothing":     `{{range $i := 1000000000000}}{{end}}`,
		"loop of text":        `{{range until 1000000}}{{range until 1000000}}text{{end}}{{end}}`,
		"recursion":           `{{define "a"}}{{include "a" .}}{{end}}{{include "a" .}}`,
		"template":            `{{define "a"}}{{template "a" .}}{{template "a" .}}{{end}}{{template "a" .}}`,
		"two calls":           deep,
		"tpl of itself":       `{{tpl .Values.again .}}`,
		"tpl of a loop":       `{{tpl "{{range $i := 1000000000000}}{{end}}" .}}`,
		"tpl piped":           `{{. | tpl (printf "%s" .Values.again)}}`,
		"doubled text":        `{{$s := "text"}}{{range until 60}}{{$s = print $s $s}}{{end}}{{$s}}`,
		"doubled list":        `{{$l := list 1}}{{range until 60}}{{$l = list $l $l}}{{end}}{{toYaml $l}}`,
		"doubled by replace":  `{{$s := "aaaaaaaa"}}{{range until 9}}{{$s = replace "a" $s $s}}{{end}}{{$s}}`,
		"repeat":              `{{repeat 1000000000000 "text"}}`,
		"indent":              `{{indent 1000000000000 "text"}}`,
		"until":               `{{until 1000000000000}}`,
		"untilStep":           `{{untilStep 0 1000000000000 1}}`,
		"seq":                 `{{seq 1000000000000}}`,
		"continued loop":      `{{range $i := 1000000000000}}{{continue}}{{end}}`,
		"loop of an item":     `{{range until 1000000}}{{range until 1000}}{{continue}}{{end}}{{end}}`,
		"wide printf":         `{{printf (repeat 10000 "%[1]999999d") 1}}`,
		"wide argument":       `{{printf (repeat 10000 "%[1]*[1]d") 999999}}`,
		"repeated argument":   `{{$s := repeat 4000000 "text"}}{{printf (repeat 100000 "%[1]s") $s}}`,
		"many arguments":      `{{$s := repeat 4000000 "text"}}{{print ` + strings.Repeat("$s ", 1000) + `}}`,
		"list of texts":       `{{$s := repeat 4000000 "text"}}{{toYaml (list ` + strings.Repeat("$s ", 1000) + `)}}`,
		"regular expression":  `{{regexMatch (repeat 10000 "a?") (repeat 1000000 "a")}}`,
		"replaced by itself":  `{{regexReplaceAll "a" (repeat 1000000 "a") (repeat 10000 "$0")}}`,
		"split":               `{{split "" (repeat 16000000 "a")}}`,
		"hashes":              `{{$s := repeat 4000000 "text"}}{{range until 1000000}}{{$x := sha256sum $s}}{{end}}`,
		"comparisons":         `{{$s := repeat 4000000 "text"}}{{$t := print $s}}{{range until 1000000}}{{if eq $s $t}}{{end}}{{end}}`,
		"parsing":             `{{fromYaml (printf "a: [%s]" (repeat 8000000 "1,"))}}`,
		"parsed again":        `{{$s := repeat 100000 "- a\n"}}{{range until 1000000}}{{$x := $s | fromYamlArray}}{{end}}`,
		"map in itself":       `{{$d := dict}}{{$_ := set $d "a" (list $d)}}{{toYaml $d}}`,
		"printed in itself":   `{{$d := dict}}{{$_ := set $d "a" $d}}{{$d}}`,
		"copied in itself":    `{{$d := dict}}{{$_ := set $d "a" $d}}{{$x := deepCopy $d}}`,
		"deep map":            `{{$d := dict}}{{range until 100000}}{{$d = dict "a" $d}}{{end}}{{toYaml $d}}`,
		"doubled map":         `{{$d := dict}}{{range until 60}}{{$d = dict "a" $d "b" $d}}{{end}}{{$x := merge $d (dict "c" 1)}}`,
		"values in a loop":    `{{range until 1000000}}{{$x := toYaml $.Values.large}}{{end}}`,
		"growing list":        `{{$l := list}}{{range until 1000000}}{{$l = append $l 1}}{{end}}`,
		"keys":                `{{range until 900000}}k{{.}}: v{{print "\n"}}{{end}}`,
		"parsed keys":         `{{$s := repeat 150000 "a: 1,"}}{{range until 1000}}{{$x := printf "{%s}" $s | fromYaml}}{{end}}`,
		"files":               `{{range until 1000000}}{{$x := $.Files.AsConfig}}{{end}}`,
		"deep blocks":         strings.Repeat(`{{if 1}}`, 300000) + strings.Repeat(`{{end}}`, 300000),
		"deep parentheses":    `{{` + strings.Repeat(`(`, 1000000) + `1` + strings.Repeat(`)`, 1000000) + `}}`,
		"printing large text": `{{$s := repeat 4000000 "text"}}{{range until 1000000}}{{$s}}{{end}}`,
	} {
		begin := time.Now()
		content, problem := render(t, template, "again: '{{tpl .Values.again .}}'\nlarge: ["+strings.Repeat("abc, ", 30000)+"]\n", "files.txt", strings.Repeat("text\n", 100000))
		if !strings.Contains(problem, "charts/app/templates/a.yaml:1: chart app: ") {
			t.Errorf("%s: %d bytes, problem %q", name, len(content), problem)
		}
		t.Log(name, time.Since(begin), problem)
	}
}

func TestAdviceIsTheSameOnEachRun(t *testing.T) {
	const values = "global: {db: {auth: {name: a}}}\n"
	subchart := []string{
		"charts/sub/Chart.yaml", "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
		"charts/sub/values.yaml", "global: {db: {auth: {password: ''}}}\n",
		"charts/sub/templates/b.yaml", `{{$v := .Values}}{{range splitList "." "global.db.auth.password"}}{{$v = index $v .}}{{end}}a: {{$v | default (randAlphaNum 3)}}`,
	}
	_, first := render(t, "", values, subchart...)
	if !strings.Contains(first, "set the value ") {
		t.Fatal(first)
	}
	for range 30 {
		if _, problem := render(t, "", values, subchart...); problem != first {
			t.Fatalf("%s\n%s", first, problem)
		}
	}
}

func TestChangingFunctionsAreRefused(t *testing.T) {
	for _, call := range []string{
		"randAlphaNum 3", "randInt 1 9", "uuidv4", "now", `now | date "2006"`, `ago .Values.a`, `date "2006" .Values.a`, `htmlDate nil`, `genCA "a" 3`,
		`genPrivateKey "rsa"`, `htpasswd "a" "b"`, `bcrypt "a"`, `getHostByName "a"`, `shuffle "ab"`, `encryptAES "a" "b"`,
		`printf "%p" .Values`, `toString .`, `. | quote`, `printf "%v" (list .Capabilities)`,
	} {
		if _, problem := render(t, "\na: {{ "+call+" }}", "a: b"); !strings.Contains(problem, "charts/app/templates/a.yaml:2: ") || !strings.Contains(problem, "another value on each run") {
			t.Errorf("%s: %q", call, problem)
		}
	}
	for _, call := range []string{`env "HOME"`, `expandenv "a"`} {
		if _, problem := render(t, "a: {{ "+call+" }}", ""); !strings.Contains(problem, "not defined") {
			t.Errorf("%s: %q", call, problem)
		}
	}
}

func TestErrorsQuoteTheTemplate(t *testing.T) {
	for template, want := range map[string]string{
		"\na: {{ .Values.a.b.c }}":                      `a.yaml:2: chart app: executing "app/templates/a.yaml" at <.Values.a.b.c>: `,
		"{{ $x := .Values }}\n\n{{ $x.a.b }}":           `a.yaml:3: chart app: executing "app/templates/a.yaml" at <$x.a.b>: `,
		"a: {{ include \"none\" . }}":                   `at <include "none" .>: error calling include: template: no template "none"`,
		"{{/*\n*/}}\n{{ dict\n\"a\" 1 }}{{ nofunc 1 }}": `a.yaml:4: chart app: function "nofunc" not defined`,
		"{{ required \"give b\" .Values.b }}":           `a.yaml:1: chart app: give b`,
		"{{ if }}":                                      `a.yaml:1: chart app: missing value for if`,
	} {
		if _, problem := render(t, template, "a: 1\n"); !strings.Contains(problem, want) || strings.Contains(problem, "gatehouse") {
			t.Errorf("%q: %s, want %s", template, problem, want)
		}
	}
}

func TestInstrumentedTemplatesWriteTheSame(t *testing.T) {
	for template, want := range map[string]string{
		"a: ' {{- range $i := list 1 2 -}}\n b {{ $i }} \n{{- end }}'":                                    "a: 'b 1b 2'",
		`{{define "t" -}} x {{- /* end */ -}} y {{ . }} {{- end}}a: {{ include "t" 3 }}`:                  "a: xy 3",
		"{{- if true -}} a: {{ else }} {{ end -}} b":                                                      "a: b",
		"a: {{ tpl \"{{- 1 }} {{ .Values.a -}} \" . }}":                                                   "a: 1 b",
		"a: '{{ `}}` }}{{ \"{{\\\"\" }}'":                                                                 "a: '}}{{\"'",
		"a: {{ tpl (printf \"%s{{ .Values.a }}\" (\"c\" | upper)) $ | quote }}":                           `a: "Cb"`,
		"{{define \"t\"}}{{end}}a: '{{ include \"t\" . }}{{ keys .Values }}{{ .Values.tpl }}'":            "a: '[a tpl]t'",
		"a: {{ lookup \"v1\" \"Secret\" \"a\" \"b\" }}{{ toDate \"2006\" \"2020\" | date \"2006 MST\" }}": "a: map[]2020 UTC",
	} {
		content, problem := render(t, template, "a: b\ntpl: t\n")
		if _, got, _ := strings.Cut(content, "a.yaml\n"); strings.TrimSpace(got) != want || problem != "" {
			t.Errorf("%q: got %q %s, want %q", template, got, problem, want)
		}
	}
}

func TestLinksStayInTheChart(t *testing.T) {
	for target, want := range map[string]string{"/charts/app/values.yaml": "", "/etc/passwd": "link out of the chart", "/charts/app/templates": "link out of the chart"} {
		files := []string{"templates/b.yaml", "link=" + target}
		_, problem := render(t, "a: b", "a: b", files...)
		if target == "/etc/passwd" {
			continue // the file system of a repository has no such file
		}
		if (want == "") != (problem == "") || !strings.Contains(problem, want) {
			t.Errorf("%s: %q", target, problem)
		}
	}
}

func TestSchemaStaysInTheRepository(t *testing.T) {
	for _, url := range []string{"https://example.com/schema.json", "file:///etc/passwd"} {
		_, problem := render(t, "a: b", "", "values.schema.json", fmt.Sprintf(`{"$ref": %q}`, url))
		if !strings.Contains(problem, "rendering reads only this repository") {
			t.Errorf("%s: %q", url, problem)
		}
	}
}

func TestLinesAreThoseOfTheTemplate(t *testing.T) {
	const template = `{{- range .Values.all }}
---
kind: {{ . }}
metadata:
  labels:
    {{- include "labels" $ | nindent 4 }}
spec:
  {{- if $.Values.a }}
  replicas: {{ $.Values.a }}
  {{- end }}
  {{ $.Values.none }}
  template: {a: b,
    {{ toYaml $.Values.flow }}}
{{- end }}
{{- define "labels" }}
app: web
part: b
{{- end }}
{{- template "last" . }}
{{- define "last" }}
---
kind: Z
{{- end }}
`
	files := tree{
		"/charts/app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n", "/charts/app/values.yaml": "all: [B, A, B]\na: 3\nflow: 3\n",
		"/charts/app/templates/a.yaml": template,
	}
	rendered, problems := Render(files, Entry{HelmChart: types.HelmChart{Name: "app", ReleaseName: "web"}, Home: "/charts", File: "kustomization.yaml"}, Cluster{Kubernetes: "1.37.0"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var got []string
	for i, line := range strings.Split(strings.TrimSpace(string(rendered.Content)), "\n") {
		got = append(got, fmt.Sprintf("%d %s", rendered.Lines[i].Line, strings.TrimSpace(line)))
	}
	for _, want := range []string{"3 kind: A", "4 metadata:", "5 labels:", "6 app: web", "6 part: b", "7 spec:", "9 replicas: 3", "12 template: {a: b,", "13 3}", "19 kind: Z"} {
		if !slices.Contains(got, want) {
			t.Errorf("no line %q in\n%s", want, strings.Join(got, "\n"))
		}
	}
}
