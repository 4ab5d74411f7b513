package charts

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/fetched"
)

// archiveOf returns an archive of some files.
func archiveOf(t *testing.T, files map[string]string) string {
	t.Helper()
	var content bytes.Buffer
	zipped := gzip.NewWriter(&content)
	w := tar.NewWriter(zipped)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if w.Close() != nil || zipped.Close() != nil {
		t.Fatal("close")
	}
	return content.String()
}

func TestMissingDependenciesAreFetchedAtTheirLockedVersion(t *testing.T) {
	const dependencies = "dependencies:\n- {name: sub, version: 1.x, repository: 'https://example.com', alias: a}\n- {name: sub, version: 1.x, repository: 'https://example.com', alias: b}\n"
	files := tree{
		"/charts/app/Chart.yaml":         "apiVersion: v2\nname: app\nversion: 1.0.0\n" + dependencies,
		"/charts/app/templates/app.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n",
	}
	entry := Entry{HelmChart: types.HelmChart{Name: "app", ReleaseName: "app"}, Home: "/charts", Folder: "/"}
	_, problems := Render(files, entry, Cluster{Kubernetes: "1.37.0"})
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "lacks charts that it depends on, sub 1.x, sub 1.x: add --fetch, or run `helm dependency build`") {
		t.Errorf("%v", problems)
	}
	files["/charts/app/Chart.lock"] = "dependencies:\n- {name: sub, version: 1.2.0, repository: 'https://example.com'}\n"
	files["/.fetched/sub-1.2.0"] = archiveOf(t, map[string]string{"sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.2.0\n", "sub/templates/sub.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Chart.Name }}'}\n"})
	rendered, problems := Render(files, entry, Cluster{Kubernetes: "1.37.0"})
	for _, name := range []string{"app", "'a'", "'b'"} {
		if !strings.Contains(string(rendered.Content), "name: "+name+"}") || len(problems) > 0 {
			t.Errorf("no %s: %v\n%s", name, problems, rendered.Content)
		}
	}
}

// What is in Git LFS may be right: nobody has looked.
func TestAPointerOfGitLFSIsLacking(t *testing.T) {
	files := tree{
		"/charts/app/Chart.yaml":           "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"/charts/app/charts/sub-1.2.0.tgz": "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 3\n",
	}
	entry := Entry{HelmChart: types.HelmChart{Name: "app", ReleaseName: "app"}, Home: "/charts", Folder: "/"}
	rendered, problems := Render(files, entry, Cluster{Kubernetes: "1.37.0"})
	want := "pointer of Git LFS: charts/app/charts/sub-1.2.0.tgz"
	if !slices.Equal(rendered.Lacking, []string{want}) || len(problems) != 1 || problems[0].Code == "" {
		t.Errorf("%q, %v", rendered.Lacking, problems)
	}
}

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

func (t tree) Fetch(from fetched.Source) (fetched.Files, error) {
	if file := "/.fetched/" + from.Chart + "-" + from.Version + from.Range; t[file] != "" {
		return fetched.Files{Path: file, Resolved: from.Version}, nil
	}
	return fetched.Files{}, fetched.ErrNotFetching
}

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

func TestLargeTextsAreRefused(t *testing.T) {
	for name, template := range map[string]string{
		"recursion":                  `{{define "a"}}{{include "a" .}}{{end}}{{include "a" .}}`,
		"repeat":                     `{{repeat 1000000000000 "text"}}`,
		"indent":                     `{{indent 1000000000000 "text"}}`,
		"piped":                      `{{"text" | nindent 1000000000000}}`,
		"by replace":                 `{{$s := repeat 100000 "a"}}{{replace "a" $s $s}}`,
		"numbers":                    `{{until 1000000000000}}`,
		"doubled":                    `{{$s := "text"}}{{range until 60}}{{$s = print $s $s}}{{end}}`,
		"a list in itself, as YAML":  `{{$l := list 1}}{{range until 60}}{{$l = list $l $l}}{{end}}{{toYaml $l}}`,
		"a list in itself, as JSON":  `{{$l := list 1}}{{range until 60}}{{$l = list $l $l}}{{end}}{{toJson $l}}`,
		"a list in itself, as it is": `{{$l := list 1}}{{range until 60}}{{$l = list $l $l}}{{end}}{{$l}}`,
		"a mapping in itself":        `{{$d := dict}}{{$_ := set $d "a" $d}}{{$d}}`,
	} {
		content, problem := render(t, template, "")
		if !strings.Contains(problem, "charts/app/templates/a.yaml:1: chart app: ") {
			t.Errorf("%s: %d bytes, problem %q", name, len(content), problem)
		}
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
		`genPrivateKey "rsa"`, `htpasswd "a" "b"`, `bcrypt "a"`, `shuffle "ab"`, `encryptAES "a" "b"`,
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

func TestAdviceIsAValueThatHelps(t *testing.T) {
	const helpers = `{{ define "app.name" }}{{ .Values.nameOverride | default .Chart.Name }}{{ end }}
{{ define "app.cert" }}{{ $ca := genCA (include "app.name" .) 9 }}{{ $ca.Cert | b64enc }}{{ end }}`
	for template, want := range map[string]string{
		`a: {{ .Values.tls.bundle | default (include "app.cert" .) }}`:                                 "set the value tls.bundle,",
		`{{ if .Values.tls.enabled }}a: {{ include "app.cert" . }}{{ end }}`:                           "set the value tls.enabled,",
		`{{ if not .Values.tls.existing }}a: {{ randAlphaNum 8 }} {{ .Values.nameOverride }}{{ end }}`: "set the value tls.existing,",
		`a: {{ include "app.cert" . }}`:                                                                "set the values by which the chart does without",
		`a: {{ coalesce .Values.nameOverride .Values.tls.bundle "none" }}`:                             "",
		`a: {{ .Values.given | default (randAlphaNum 8) }}`:                                            "",
		`{{ $unused := now }}a: b`:                                                                     "",
		`a: {{ .Values.given | default (printf "%p" .Values) }}`:                                       "printing an address",
	} {
		_, problem := render(t, "\n"+template, "nameOverride: ''\ngiven: a\ntls: {bundle: '', enabled: true, existing: ''}\n", "templates/_h.tpl", helpers)
		if !strings.Contains(problem, want) || want == "" && problem != "" {
			t.Errorf("%s: %q, want %q", template, problem, want)
		}
	}
}

func TestProblemsOfOutputAreAtTheTemplate(t *testing.T) {
	for template, want := range map[string]string{
		"a: b\nc:\n  d: {{ .Values.text }}\n":               "a.yaml:3: chart app: malformed YAML: put the value in quotes",
		"a: b\n---\n{{ if true }}\na: b\n{{ end }}\na: c\n": "",
		"a: b\n---\n{{ include \"long\" . }}\n c: d\n":      "a.yaml:4: chart app: malformed YAML: the indentation",
	} {
		_, problem := render(t, template, "text: 'e: f: g'\n", "templates/_h.tpl", `{{ define "long" }}x: y{{ end }}`)
		if !strings.Contains(problem, want) || want == "" && problem != "" {
			t.Errorf("%q: %q, want %q", template, problem, want)
		}
	}
}

func TestEqualDocumentsHaveTheirOwnLines(t *testing.T) {
	files := tree{"/charts/app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"/charts/app/templates/a.yaml": "kind: B\na: b\n---\nkind: A\n---\nkind: B\na: b\n---\nkind: B\na: b\nc: d\n"}
	rendered, problems := Render(files, Entry{HelmChart: types.HelmChart{Name: "app", ReleaseName: "web"}, Home: "/charts"}, Cluster{Kubernetes: "1.37.0"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var lines []int
	for i, line := range strings.Split(string(rendered.Content), "\n") {
		if strings.HasPrefix(line, "kind: ") {
			lines = append(lines, rendered.Lines[i].Line)
		}
	}
	if slices.Sort(lines); !slices.Equal(lines, []int{1, 4, 6, 9}) {
		t.Errorf("lines %v", lines)
	}
}

func TestValuesAreCheckedBySchemas(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties": {"a": {"type": "integer"}}}`:                                                                                      "a: values.schema.json of the chart: got string, want integer",
		`{"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}`:                                               "a: values.schema.json of the chart: got string, want integer",
		`{"$defs": {"n": {"$ref": "#/$defs/m"}, "m": {"required": ["z"], "type": "object"}}, "properties": {"b": {"$ref": "#/$defs/n"}}}`: "b: values.schema.json of the chart: missing property 'z'",
		`{"properties": {"a": {"$ref": "https://example.com/a.json"}}}`:                                                                   "values.schema.json refers to https://example.com/a.json",
		`{"allOf": [{"properties": {"b": {"additionalProperties": false}}}]}`:                                                             "b.c: values.schema.json of the chart: additional properties 'c' not allowed",
	} {
		_, problem := render(t, "a: b", "a: text\nb: {c: d}\n", "values.schema.json", schema)
		if !strings.Contains(problem, want) || strings.Count(problem, "\n") != 1 {
			t.Errorf("%s: %q, want %q", schema, problem, want)
		}
	}
}

func TestValuesThatHelmIgnoresAreWarnings(t *testing.T) {
	files := tree{
		"/charts/app/Chart.yaml":              "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n- {name: sub, condition: 'sub.enabled,global.sub'}\n- {name: other, tags: [extra]}\n",
		"/charts/app/values.yaml":             "a: {b: {c: d}}\n",
		"/charts/app/charts/sub/Chart.yaml":   "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
		"/charts/app/charts/other/Chart.yaml": "apiVersion: v2\nname: other\nversion: 1.0.0\n",
		"/values.yaml":                        "tags: {extra: 1}\nsub:\n  enabled: 'true'\nglobal: {sub: true}\na:\n  b: text\na.b.c: 1\nx.y: 1\n",
		"/twice.yaml":                         "a: 1\nb: 2\na: 3\n",
		"/malformed.yaml":                     "a: 1\nb: c: d\n",
	}
	for file, want := range map[string]string{
		"values.yaml": "values.yaml:1: warning: chart app: tags.extra: has to be true or false, without quotes: Helm ignores 1 of a condition or tag\n" +
			"values.yaml:3: warning: chart app: sub.enabled: has to be true or false, without quotes: Helm ignores \"true\" of a condition or tag\n" +
			"values.yaml:6: warning: chart app: a.b: is a mapping in values.yaml of the chart, and another value here\n" +
			"values.yaml:7: warning: chart app: [a.b.c]: is one key with dots, and the chart has a mapping: write a: {b: {c: ...}}\n",
		"twice.yaml":     "twice.yaml:3: values of chart app: malformed YAML: the key \"a\" is in line 1 as well: remove one, or write - before the first key of a list item, or --- between objects\n",
		"malformed.yaml": "malformed.yaml:2: values of chart app: malformed YAML: put the value in quotes: a colon before a space, or at the end, would make a key of it\n",
	} {
		for _, e := range []types.HelmChart{{ValuesFile: file}, {AdditionalValuesFiles: []string{file}}} {
			e.Name, e.ReleaseName = "app", "web"
			_, problems := Render(files, Entry{HelmChart: e, Home: "/charts", Folder: "/"}, Cluster{Kubernetes: "1.37.0"})
			got := ""
			for _, p := range manifest.SortProblems(problems) {
				got += p.String() + "\n"
			}
			if got != want {
				t.Errorf("%s:\n%s\nwant\n%s", file, got, want)
			}
		}
	}
}

func TestAChartThatAsksTheClusterMayFailHereAlone(t *testing.T) {
	const asking = `{{ if .Values.wrong }}{{ fail "wrong" }}{{ end }}{{ if not (lookup "v1" "Secret" "a" "b") }}{{ fail "no secret" }}{{ end }}`
	for values, isOwn := range map[string]bool{"wrong: true": false, "wrong: false": true} {
		files := tree{"/charts/app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n", "/charts/app/templates/a.yaml": asking, "/charts/app/values.yaml": values}
		_, problems := Render(files, Entry{HelmChart: types.HelmChart{Name: "app", ReleaseName: "web"}, Installed: &Installed{Archive: "/charts/app"}}, Cluster{Kubernetes: "1.37.0"})
		if len(problems) != 1 || (problems[0].Code == manifest.ChartRuleOfRender) != isOwn {
			t.Errorf("%s: %v", values, problems)
		}
	}
}

// source-controller puts the merged files of values in the place of the values of a chart.
func TestFilesOfValuesAreTheDefaults(t *testing.T) {
	files := tree{"/charts/app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"/charts/app/values.yaml": "own: chart\nset: chart\n", "/charts/app/prod.yaml": "set: prod\n",
		"/charts/app/templates/a.yaml": "own: {{ .Values.own }}\nset: {{ .Values.set }}\ntop: {{ .Values.top }}\n"}
	for name, test := range map[string]struct {
		files       []string
		areDefaults bool
		want        string
	}{
		"defaults":            {files: []string{"prod.yaml"}, areDefaults: true, want: "own: \nset: prod\ntop: 1"},
		"defaults of both":    {files: []string{"values.yaml", "prod.yaml"}, areDefaults: true, want: "own: chart\nset: prod\ntop: 1"},
		"above the defaults":  {files: []string{"prod.yaml"}, want: "own: chart\nset: prod\ntop: 1"},
		"all of them missing": {files: []string{"none.yaml"}, areDefaults: true, want: "own: \nset: \ntop: 1"},
	} {
		rendered, problems := Render(files, Entry{HelmChart: types.HelmChart{Name: "app", ReleaseName: "web"},
			Installed: &Installed{Archive: "/charts/app", Values: map[string]any{"top": 1}, Files: test.files,
				FilesAreDefaults: test.areDefaults, IgnoreMissing: true}}, Cluster{Kubernetes: "1.37.0"})
		if got := string(rendered.Content); len(problems) > 0 || !strings.Contains(got, test.want) {
			t.Errorf("%s: %s %v, want %q", name, got, problems, test.want)
		}
	}
}

// A library may copy all values and make all objects in one line of a template.
func TestCopiedValuesAreCauses(t *testing.T) {
	files := tree{"/charts/app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"/charts/app/templates/_l.tpl": `{{ define "init" }}{{ $_ := set . "Values" (fromYaml (toYaml .Values)) }}{{ end }}
{{ define "all" }}{{ range .Values.parts }}
---
{{ toYaml . }}
{{- end }}{{ end }}`,
		"/charts/app/templates/a.yaml": `{{ include "init" . }}{{ include "all" . }}`}
	values := map[string]any{"parts": map[string]any{"main": map[string]any{"replicas": 7, "policy": "Sometimes"},
		"side": map[string]any{"replicas": 8, "limit": 8}}, "other": "same text", "another": "same text"}
	rendered, problems := Render(files, Entry{HelmChart: types.HelmChart{Name: "app", ReleaseName: "web"}, Installed: &Installed{Archive: "/charts/app", Values: values}}, Cluster{Kubernetes: "1.37.0"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	at := Position{"/charts/app/templates/a.yaml", 1}
	for _, test := range []struct{ field, text, want string }{
		{"spec.replicas", "7", "parts.main.replicas"}, {"spec.replicas", "8", "parts.side.replicas"},
		{"spec.imagePullPolicy", "Sometimes", "parts.main.policy"}, {"spec.port", "7", "parts.main.replicas"}, {"spec.a", "same text", ""},
		{"spec.b", "none", ""},
	} {
		cause, ok := rendered.Settings.Cause(at, at.Line, strings.Split(test.field, "."), test.text)
		if got := manifest.JoinField(cause.Keys); ok != (test.want != "") || ok && got != test.want {
			t.Errorf("%s %s: %q %v, want %q", test.field, test.text, got, ok, test.want)
		}
	}
}

func TestChartsAskForCustomKindsAlone(t *testing.T) {
	const asks = "{{ .Capabilities.APIVersions.Has \"a.example.com/v1beta1/B\" }}\n"
	const names = "{{/* apps/v1 https://example.com/values /v1 x.example.com/v2 */}}\n"
	const printed = "{{ .Capabilities.APIVersions.Has (printf \"a.example.com/v1/%s\" .Values.kind) }}\n"
	const unknown = "{{ .Capabilities.APIVersions.Has .Values.version }}\n"
	for template, want := range map[string]string{names: "", asks: "a.example.com/v1beta1", names + asks: "a.example.com/v1beta1",
		names + printed: "a.example.com/v1", names + asks + unknown: "a.example.com/v1beta1 x.example.com/v2"} {
		c := &loaded{Chart: &chart.Chart{Templates: []*common.File{{Name: "a.yaml", Data: []byte(template)}}}}
		if got := strings.Join(c.asked(), " "); got != want {
			t.Errorf("%s: %s, want %s", template, got, want)
		}
	}
}

// A controller runs `helm dependency build`, which takes the charts of other folders of the repository.
func TestMissingDependenciesOfTheRepositoryAreAdded(t *testing.T) {
	files := tree{
		"/apps/app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n" +
			"- {name: sub, version: 1.x, repository: 'file://../../charts/sub', alias: a}\n" +
			"- {name: sub, version: 1.x, repository: 'file://../../charts/sub/', alias: b}\n",
		"/charts/sub/Chart.yaml":          "apiVersion: v2\nname: sub\nversion: 1.2.0\n",
		"/charts/sub/.helmignore":         "left.yaml\n",
		"/charts/sub/templates/sub.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Chart.Name }}'}\n",
		"/charts/sub/templates/left.yaml": "left",
	}
	entry := Entry{HelmChart: types.HelmChart{Name: "app", ReleaseName: "app"}, Installed: &Installed{Archive: "/apps/app"}}
	rendered, problems := Render(files, entry, Cluster{Kubernetes: "1.37.0"})
	for _, name := range []string{"'a'", "'b'"} {
		if !strings.Contains(string(rendered.Content), "name: "+name+"}") || len(problems) > 0 {
			t.Errorf("no %s: %v\n%s", name, problems, rendered.Content)
		}
	}
	files["/charts/sub/templates/sub.yaml"] = "{{ fail \"no\" }}"
	_, problems = Render(files, entry, Cluster{Kubernetes: "1.37.0"})
	if len(problems) != 1 || problems[0].File != "charts/sub/templates/sub.yaml" {
		t.Errorf("%v", problems)
	}
	for from, to := range map[string]string{"1.2.0": "2.0.0", "name: sub": "name: other"} {
		other := maps.Clone(files)
		other["/charts/sub/Chart.yaml"] = strings.Replace(files["/charts/sub/Chart.yaml"], from, to, 1)
		rendered, problems := Render(other, entry, Cluster{Kubernetes: "1.37.0"})
		if len(rendered.Lacking) == 0 || len(problems) != 1 || !strings.Contains(problems[0].Message, "lacks charts") {
			t.Errorf("%s: %q, %v", to, rendered.Lacking, problems)
		}
	}
	files["/apps/app/Chart.yaml"] = strings.ReplaceAll(files["/apps/app/Chart.yaml"], "../../charts", "/charts")
	if rendered, problems := Render(files, entry, Cluster{Kubernetes: "1.37.0"}); len(rendered.Lacking) == 0 {
		t.Errorf("an absolute path: %v", problems)
	}
}
