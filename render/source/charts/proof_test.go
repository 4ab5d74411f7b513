package charts

import (
	"strings"
	"testing"
)

// Two charts with the values of a user, and the files whose change no rendering shows.
func TestUnprovenNamesWhatNoRenderingShows(t *testing.T) {
	const (
		always  = "kind: A\nvalue: {{ .Values.a }}\n"
		asks    = "{{ if lookup \"v1\" \"Namespace\" \"\" \"a\" }}kind: B\nvalue: {{ .Values.b }}{{ end }}\n"
		item    = "{{ if lookup \"v1\" \"Namespace\" \"\" \"a\" }}kind: B\nvalue: {{ index .Values \"b\" \"c\" }}{{ end }}\n"
		anyItem = "{{ $n := \"a\" }}{{ if lookup \"v1\" \"Namespace\" \"\" \"a\" }}kind: B\nvalue: {{ index .Values $n }}{{ end }}\n"
		deep    = "{{ if lookup \"v1\" \"Namespace\" \"\" \"a\" }}kind: B\nvalue: {{ .Values.b }}{{ end }}\n"
		calls   = "{{ if lookup \"v1\" \"A\" \"\" \"a\" }}{{ include \"b\" . }}{{ end }}"
		called  = "{{ define \"b\" }}kind: B\nvalue: {{ .Values.b }}\nother: {{ .Values.c }}{{ end }}"
		idle    = "{{ if .Values.b }}kind: B\n{{ end }}\n"
		values  = "a: 1\nb: false\n"
	)
	for name, test := range map[string]struct {
		before, after []string // files
		set           string   // values after
		want          string
	}{
		"nothing":               {[]string{"templates/x.yaml", asks}, []string{"templates/x.yaml", asks}, values, ""},
		"a template that runs":  {[]string{"templates/x.yaml", always}, []string{"templates/x.yaml", always + "more: 1\n"}, values, ""},
		"a comment":             {[]string{"templates/x.yaml", asks}, []string{"templates/x.yaml", asks + "{{/* a */}}"}, values, ""},
		"the cluster":           {[]string{"templates/x.yaml", always}, []string{"templates/x.yaml", asks}, values, "x.yaml"},
		"no longer the cluster": {[]string{"templates/x.yaml", asks}, []string{"templates/x.yaml", always}, values, "x.yaml"},
		"an upgrade": {[]string{"templates/x.yaml", always}, []string{"templates/x.yaml", always + "more: {{ .Release.IsUpgrade }}\n"},
			values, "x.yaml"},
		"a name in a text": {[]string{"templates/x.yaml", always},
			[]string{"templates/x.yaml", always + "more: {{ index .Release \"Revision\" }}\n"}, values, "x.yaml"},
		"all of the release": {[]string{"templates/x.yaml", always},
			[]string{"templates/x.yaml", always + "more: {{ index .Release (lower \"A\") }}\n"}, values, "x.yaml"},
		"a branch that did not run":            {[]string{"templates/x.yaml", always}, []string{"templates/x.yaml", idle}, values, "x.yaml"},
		"a value that runs":                    {[]string{"templates/x.yaml", always + asks}, []string{"templates/x.yaml", always + asks}, "a: 2\nb: false\n", ""},
		"a value that may run":                 {[]string{"templates/x.yaml", asks}, []string{"templates/x.yaml", asks}, "a: 1\nb: true\n", "x.yaml"},
		"an item beside it":                    {[]string{"templates/x.yaml", item}, []string{"templates/x.yaml", item}, "a: 2\nb: false\n", ""},
		"an item that may run":                 {[]string{"templates/x.yaml", item}, []string{"templates/x.yaml", item}, "a: 1\nb: {c: 1}\n", "x.yaml"},
		"a value of a definition that may run": {[]string{"templates/x.yaml", calls, "templates/_b.tpl", called}, []string{"templates/x.yaml", calls, "templates/_b.tpl", called}, "a: 1\nb: true\n", "_b.tpl"},
		"a value of a definition elsewhere":    {[]string{"templates/x.yaml", asks, "templates/_b.tpl", called}, []string{"templates/x.yaml", asks, "templates/_b.tpl", called}, "a: 1\nb: false\nc: 2\n", ""},
		"the same key below":                   {[]string{"templates/x.yaml", deep}, []string{"templates/x.yaml", deep}, "a: {b: {c: 2}}\nb: false\n", ""},
		"the same key in a context that is passed on": {[]string{"templates/x.yaml", deep + "{{ $c := dict \"Values\" .Values }}"},
			[]string{"templates/x.yaml", deep + "{{ $c := dict \"Values\" .Values }}"}, "a: {b: {c: 2}}\nb: false\n", ""},
		"the same key in another context": {[]string{"templates/x.yaml", deep + "{{ $c := dict \"Values\" .Values.a }}"},
			[]string{"templates/x.yaml", deep + "{{ $c := dict \"Values\" .Values.a }}"}, "a: {b: {c: 2}}\nb: false\n", "x.yaml"},
		"the same key of a chart in it": {[]string{"templates/x.yaml", always, "charts/c/Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n", "charts/c/templates/x.yaml", deep},
			[]string{"templates/x.yaml", always, "charts/c/Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n", "charts/c/templates/x.yaml", deep}, "a: 1\nb: false\nc: {b: 2}\n", "x.yaml"},
		"an item by a variable": {[]string{"templates/x.yaml", anyItem}, []string{"templates/x.yaml", anyItem}, "a: 2\nb: false\n", "x.yaml"},
		"a definition that may run": {[]string{"templates/x.yaml", "{{ if lookup \"v1\" \"A\" \"\" \"a\" }}{{ include \"b\" . }}{{ end }}", "templates/_b.tpl", "{{ define \"b\" }}1{{ end }}"},
			[]string{"templates/x.yaml", "{{ if lookup \"v1\" \"A\" \"\" \"a\" }}{{ include \"b\" . }}{{ end }}", "templates/_b.tpl", "{{ define \"b\" }}2{{ end }}"}, values, "_b.tpl"},
		"a file that may be read": {[]string{"templates/x.yaml", "{{ $f := .Files }}{{ if lookup \"v1\" \"A\" \"\" \"a\" }}{{ $f.Get \"f\" }}{{ end }}", "f", "1"},
			[]string{"templates/x.yaml", "{{ $f := .Files }}{{ if lookup \"v1\" \"A\" \"\" \"a\" }}{{ $f.Get \"f\" }}{{ end }}", "f", "2"}, values, "f"},
	} {
		was := settings(t, values, test.before...)
		is := settings(t, test.set, test.after...)
		if got := is.Unproven(was); !strings.HasSuffix(strings.Join(got, " "), test.want) || (len(got) > 0) != (test.want != "") {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
