package charts

import (
	"path"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/types"
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
		was := released(t, values, ofFolder(test.before))
		is := released(t, test.set, ofFolder(test.after))
		if got := is.Unproven(was); !strings.HasSuffix(strings.Join(got, " "), test.want) || (len(got) > 0) != (test.want != "") {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// Two versions of an archive, whose values only its author and the release set.
func TestUnprovenOfAnArchiveFollowsWhatAsked(t *testing.T) {
	const (
		always  = "kind: A\nvalue: {{ .Values.a }}\n"
		idle    = "{{ if .Values.b }}kind: B\n{{ end }}"
		asks    = "{{ if .Capabilities.APIVersions.Has \"b.example.com/v1\" }}kind: C\n{{ end }}"
		mayAsk  = "{{ if .Values.b }}" + asks + "{{ end }}"
		answer  = "{{ define \"answer\" }}{{ if lookup \"v1\" \"A\" \"\" \"a\" }}yes{{ end }}{{ end }}"
		decides = "{{ if include \"answer\" . }}kind: B\nvalue: {{ .Values.b }}{{ end }}"
	)
	version := func(constraint string) string {
		return "{{ if semverCompare \"" + constraint + "\" .Capabilities.KubeVersion.Version }}kind: D\n{{ end }}"
	}
	for name, test := range map[string]struct {
		before, after []string
		set           string // values after
		want          string
	}{
		"a branch that the values leave out":      {[]string{"x", always}, []string{"x", always + idle}, "", ""},
		"a question that the values leave out":    {[]string{"x", always}, []string{"x", always + mayAsk}, "", ""},
		"a question that runs":                    {[]string{"x", always}, []string{"x", always + asks}, "", "x.yaml"},
		"a Kubernetes that none is":               {[]string{"x", always}, []string{"x", always + version("< 1.30-0")}, "", ""},
		"a Kubernetes that may be":                {[]string{"x", always}, []string{"x", always + version("< 1.36-0")}, "", "x.yaml"},
		"an API of Kubernetes":                    {[]string{"x", always}, []string{"x", always + "{{ if .Capabilities.APIVersions.Has \"policy/v1beta1\" }}kind: C\n{{ end }}"}, "", ""},
		"a kind of another project":               {[]string{"x", always}, []string{"x", always + "{{ if .Capabilities.APIVersions.Has \"b.example.com/v1/B\" }}kind: C\n{{ end }}"}, "", "x.yaml"},
		"an API in the values":                    {[]string{"x", always}, []string{"x", always + "{{ if .Capabilities.APIVersions.Has .Values.api }}kind: C\n{{ end }}"}, "api: b.example.com/v1", "x.yaml"},
		"an API behind another":                   {[]string{"x", always}, []string{"x", always + "{{ if .Capabilities.APIVersions.Has \"b.example.com/v1\" }}{{ if $.Capabilities.APIVersions.Has \"c.example.com/v1\" }}kind: C\n{{ end }}{{ end }}"}, "", "x.yaml"},
		"an API that changes nothing":             {[]string{"x", always}, []string{"x", always + "{{ if .Capabilities.APIVersions.Has \"b.example.com/v1\" }}{{ end }}"}, "", ""},
		"the list of APIs":                        {[]string{"x", always}, []string{"x", always + "{{ if has \"b.example.com/v1\" .Capabilities.APIVersions }}{{ end }}"}, "", "x.yaml"},
		"an upgrade that makes the same":          {[]string{"x", always}, []string{"x", always + "{{ if .Release.IsUpgrade }}{{ end }}"}, "", ""},
		"an upgrade":                              {[]string{"x", always}, []string{"x", always + "u: {{ .Release.IsUpgrade }}\n"}, "", "x.yaml"},
		"a name that chance makes":                {[]string{"x", always}, []string{"x", always + "u: {{ randAlphaNum 3 }}\n"}, "", "x.yaml"},
		"a name in place of chance":               {[]string{"x", always}, []string{"x", always + "u: {{ default (randAlphaNum 3) .Values.t }}\n"}, "", ""},
		"a branch in another file":                {[]string{"x", asks, "y", ""}, []string{"x", asks, "y", idle}, "", ""},
		"a branch in the file that asks":          {[]string{"x", asks}, []string{"x", idle + asks}, "", "x.yaml"},
		"a branch of a definition that it calls":  {[]string{"x", asks + "\n# {{ include \"i\" . }}", "_i", "{{ define \"i\" }}{{ end }}"}, []string{"x", asks + "\n# {{ include \"i\" . }}", "_i", "{{ define \"i\" }}" + idle + "{{ end }}"}, "", "_i.yaml"},
		"a branch in another file, by values":     {[]string{"x", asks + "{{ $_ := set .Values \"c\" 1 }}", "y", ""}, []string{"x", asks + "{{ $_ := set .Values \"c\" 1 }}", "y", idle}, "", "y.yaml"},
		"a text that may call each definition":    {[]string{"x", asks + "\n# {{ tpl .Values.t . }}", "_i", "{{ define \"i\" }}{{ end }}"}, []string{"x", asks + "\n# {{ tpl .Values.t . }}", "_i", "{{ define \"i\" }}" + idle + "{{ end }}"}, "", "_i.yaml"},
		"a text that calls no file":               {[]string{"x", asks + "\n# {{ tpl .Values.t . }}", "y", ""}, []string{"x", asks + "\n# {{ tpl .Values.t . }}", "y", idle}, "", ""},
		"a text that may call each file":          {[]string{"x", asks + "\n# {{ tpl .Values.t . }}", "y", ""}, []string{"x", asks + "\n# {{ tpl .Values.t . }}", "y", idle}, "t: '{{ include (print .Template.BasePath \"/y.yaml\") . }}'", "y.yaml"},
		"a file that the file calls":              {[]string{"x", asks + "{{ $_ := include (print $.Template.BasePath \"/y.yaml\") . }}", "y", ""}, []string{"x", asks + "{{ $_ := include (print $.Template.BasePath \"/y.yaml\") . }}", "y", idle}, "", "y.yaml"},
		"a file beside the one that it calls":     {[]string{"x", asks + "{{ $_ := include (print $.Template.BasePath \"/y.yaml\") . }}", "y", "", "z", ""}, []string{"x", asks + "{{ $_ := include (print $.Template.BasePath \"/y.yaml\") . }}", "y", "", "z", idle}, "", ""},
		"a definition beside one that asks":       {[]string{"x", decides, "_i", answer}, []string{"x", decides, "_i", answer + "{{ define \"i\" }}" + idle + "{{ end }}"}, "", ""},
		"a value in a branch of the caller":       {[]string{"x", decides, "_i", answer}, []string{"x", decides, "_i", answer}, "b: true", "x.yaml"},
		"notes that ask":                          {[]string{"NOTES.txt", "a"}, []string{"NOTES.txt", "b" + asks}, "", ""},
		"a file that nothing reads":               {[]string{"x", asks, "../README.md", "a"}, []string{"x", asks, "../README.md", "b"}, "", ""},
		"a file of a branch that the values omit": {[]string{"x", "{{ if .Values.b }}{{ .Files.Get \"f\" }}{{ end }}", "../f", "a"}, []string{"x", "{{ if .Values.b }}{{ .Files.Get \"f\" }}{{ end }}", "../f", "b"}, "", ""},
		"a file of a branch by an answer":         {[]string{"x", asks + "{{ if .Values.b }}{{ .Files.Get \"f\" }}{{ end }}", "../f", "a"}, []string{"x", asks + "{{ if .Values.b }}{{ .Files.Get \"f\" }}{{ end }}", "../f", "b"}, "", "/f"},
	} {
		was := released(t, "", ofArchive(t, test.before))
		is := released(t, test.set, ofArchive(t, test.after))
		got := strings.Join(is.Unproven(was), " ")
		if !strings.HasSuffix(got, test.want) || (got != "") != (test.want != "") {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// ofFolder returns a chart in a folder.
func ofFolder(files []string) tree {
	all := tree{"/app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n"}
	for i := 0; i < len(files); i += 2 {
		all["/app/"+files[i]] = files[i+1]
	}
	return all
}

// ofArchive returns a chart in an archive.
func ofArchive(t *testing.T, templates []string) tree {
	t.Helper()
	files := map[string]string{"app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"app/values.yaml": "a: 1\nb: false\nt: text\n"}
	for i := 0; i < len(templates); i += 2 {
		name := templates[i]
		if path.Ext(name) == "" && !strings.HasPrefix(name, "..") {
			name += ".yaml"
		}
		files[path.Join("app/templates", name)] = templates[i+1]
	}
	return tree{"/app.tgz": archiveOf(t, files)}
}

// released returns the settings of a release of Helm with the values in a text.
func released(t *testing.T, set string, files tree) *Settings {
	t.Helper()
	archive := "/app.tgz"
	if files[archive] == "" {
		archive = "/app"
	}
	files["/set.yaml"] = set
	e := Entry{HelmChart: types.HelmChart{Name: "app", ReleaseName: "web"},
		Installed: &Installed{Archive: archive, Files: []string{"/set.yaml"}, HasCluster: true}}
	oldest := Cluster{Kubernetes: "1.34.0", APIVersions: []string{"v1"}}
	rendered, problems := Render(files, e, Cluster{Kubernetes: "1.37.0", APIVersions: []string{"v1"}, Others: []Cluster{oldest}})
	for _, p := range problems {
		t.Log(p)
	}
	return rendered.Settings
}
