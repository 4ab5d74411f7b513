package applicationset

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/manifest"
)

const generatorFiles = `
-- boxes/a.yaml --
lanes: [north, south]
size: {deep: 1, big: 1000000, none: null, empty: []}
-- boxes/b/c.yaml --
lanes: [east]
-- boxes/b/.hidden.yaml --
lanes: [west]
-- docks/north/x.yaml --
-- docks/north/deep/x.yaml --
-- docks/.git-like/x.yaml --
-- docs/wrong.yaml --
text
-- one.json --
{"path": {"deep": "kept"}, "a": "x"}
`

// Generators make the parameters that those of Argo CD make, as its own tests have them: the names and projects of
// Applications.
func TestGenerators(t *testing.T) {
	list := func(elements string) string { return "{list: {elements: [" + elements + "]}}" }
	matrix := func(first, second string) string { return "{matrix: {generators: [" + first + ", " + second + "]}}" }
	for name, test := range map[string]struct{ generator, name, project, want string }{
		// Lists.
		"a number":          {list("{a: x, port: 80}"), "{{a}}", "", "error: spec.generators[0].list.elements[0].port: Invalid value: 80: is no text"},
		"a value":           {list("{a: x, values: {b: z}}"), "{{a}}", "{{values.b}}", "x z"},
		"a value of values": {list("{a: x, values: {b: {c: z}}}"), "{{a}}", "", "error: spec.generators[0].list.elements[0].values.b: Invalid value"},
		"values of a text":  {list("{a: x, values: z}"), "{{a}}", "{{values}}", "error: spec.generators[0].list.elements[0].values: Invalid value: \"z\": is no mapping"},
		"a mapping":         {list("{a: x, b: {c: z}}"), "{{a}}", "", "error: spec.generators[0].list.elements[0].b: Invalid value"},
		"elements in a text": {"{list: {elements: [{a: x}], elementsYaml: \"- {a: z, n: 1}\"}}", "{{a}}", "{{n}}",
			"x {{n}}, z {{n}}"},
		"elements in a wrong text": {"{list: {elementsYaml: \"a: z\"}}", "{{a}}", "", "error: spec.generators[0].list.elementsYaml: Invalid value"},
		"numbers of Go templates":  {list("{a: x, b: 1000000, c: 8080}"), "go:{{.a}}", "{{.b}} {{.c}}", "x 1e+06 8080"},

		// Texts without Go templates.
		"braces of several lines": {list("{a: x}"), "{{a}}", "{{\na}}", "x {{\na}}"},
		"braces that do not end":  {list("{a: x}"), "{{a}}", "{{a}} {{", "error: spec.template.spec.project: Invalid value: a template begins with {{"},
		"braces in braces":        {list("{a: x}"), "{{a}}", "{{ {{a}} }}", "x {{ {{a}} }}"},
		"one brace":               {list("{a: x}"), "{{a}}", "{a} {{ a }}", "x {a} x"},

		// Files and folders.
		"items of a file": {"{git: {files: [{path: boxes/a.yaml}]}}", "{{lanes.0}}", "{{lanes.1}} {{size.deep}} {{size.big}} {{size.none}} {{size.empty}}",
			"north south 1 1e+06 <nil> {{size.empty}}"},
		"a star over folders, and hidden files": {"{git: {files: [{path: \"boxes/*.yaml\"}]}}", "{{lanes.0}}", "{{path}}", "north boxes, west boxes/b, east boxes/b"},
		"a folder of files":                     {"{git: {files: [{path: boxes/b}]}}", "{{lanes.0}}", "", "west, east"},
		"excluded files":                        {"{git: {files: [{path: boxes}, {path: \"*/.*\", exclude: true}]}}", "{{lanes.0}}", "", "north, east"},
		"a class of characters":                 {"{git: {files: [{path: \"boxes/[!b].yaml\"}, {path: \"boxes[/]b/[[:alpha:]].yaml\"}]}}", "{{lanes.0}}", "", "north, east"},
		"a broken pattern":                      {"{git: {files: [{path: \"boxes/[a\"}]}}", "x", "", "error: no file of this repository matches boxes/[a"},
		"a file that is no mapping":             {"{git: {files: [{path: docs/*}]}}", "x", "", "error: spec.generators[0].git.files: Invalid value: \"docs/wrong.yaml\""},
		"the path above a parameter":            {"{git: {files: [{path: one.json}]}}", "{{a}}", "{{path}} {{path[0]}} {{path.basenameNormalized}} {{path.deep}} {{path.filename}}", "x . .  kept one.json"},
		"a prefix":                              {"{git: {files: [{path: one.json}], pathParamPrefix: my}}", "{{a}}", "{{my.path}} {{my.path.filename}} {{path.deep}} {{my.path[0]}}", "x . one.json kept ."},
		"a prefix of Go templates":              {"{git: {directories: [{path: docks/*}], pathParamPrefix: my}}", "go:{{.my.path.basename}}", "{{index .my.path.segments 0}}{{.path}}", "north docks<no value>"},
		"two stars of folders are one level":    {"{git: {directories: [{path: \"docks/**\"}]}}", "{{path.basename}}", "", "north"},
		"folders without hidden ones":           {"{git: {directories: [{path: \"docks/*\"}, {path: \"docks/*/*\"}]}}", "{{path.basename}}", "", "north, deep"},
		"neither files nor folders":             {"{git: {}}", "x", "", "error: spec.generators[0].git: Required value"},
		"values, which do not know each other":  {"{git: {directories: [{path: docks/north}], values: {a: \"{{path}}\", b: \"{{values.a}}\"}}}", "x", "{{values.a}} {{values.b}}", "x docks/north {{values.a}}"},

		// A matrix.
		"a parameter of both, as Go templates":   {matrix(list("{a: x, o: {b: 1}}"), list("{a: z, c: q, o: {b: 2, d: 3}}")), "go:{{.a}}", "{{.c}} {{.o.b}} {{.o.d}}", "x q 1 3"},
		"an equal parameter of both":             {matrix(list("{a: x}"), list("{a: x, b: z}")), "{{a}}", "{{b}}", "x z"},
		"a parameter of both":                    {matrix(list("{a: x}"), list("{a: z}")), "{{a}}", "", "error: spec.generators[0].matrix.generators: Invalid value: \"a\""},
		"a parameter in a list":                  {matrix(list("{a: x}"), list("{b: \"{{a}}-z\"}")), "{{b}}", "", "x-z"},
		"a parameter in elements of a text":      {matrix("{git: {files: [{path: boxes/a.yaml}]}}", "{list: {elementsYaml: \"{{ toJson .lanes }}\"}}"), "go:x", "", "error: spec.generators[0].matrix.generators[1].list.elementsYaml"},
		"a list in elements of a text":           {matrix(list("{all: [{b: x}, {b: z}]}"), "{list: {elementsYaml: \"{{ toJson .all }}\"}}"), "go:{{.b}}", "", "x, z"},
		"a parameter in a path":                  {matrix(list("{a: north}, {a: none}"), "{git: {directories: [{path: \"docks/{{a}}\"}]}}"), "{{path.basename}}", "", "north"},
		"a value of both generators":             {matrix(list("{a: north}"), "{git: {directories: [{path: docks/north}], values: {v: \"{{.a}} {{.path.basename}}\", w: \"{{.a}}\"}}}"), "go:{{.a}}", "{{.values.v}} {{.values.w}}", "north <no value> north north"},
		"a value of three generators":            {matrix(list("{a: x}"), matrix(list("{b: z}"), "{git: {directories: [{path: docks/north}], values: {v: \"{{.a}} {{.b}} {{.path.basename}}\"}}}")), "go:{{.a}}", "{{.values.v}}", "x <no value> <no value> north"},
		"a matrix of three":                      {"{matrix: {generators: [" + list("{}") + "," + list("{}") + "," + list("{}") + "]}}", "x", "", "error: spec.generators[0].matrix.generators: Invalid value: 3"},
		"a matrix with a generator of two kinds": {matrix(list("{a: x}"), "{list: {elements: [{b: z}]}, git: {files: [{path: one.json}]}}"), "x", "", "error: spec.generators[0].matrix.generators[1]: Invalid value"},
		"a matrix of another repository":         {matrix(list("{a: x}"), "{git: {directories: [{path: \"elsewhere/{{a}}\"}]}}"), "x", "", "error: no folder of this repository matches elsewhere/x"},

		// Kinds and selectors.
		"two kinds":                      {"{git: {files: [{path: one.json}]}, list: {elements: [{a: z}]}}", "{{a}}", "", "z, x"},
		"no kind":                        {"{clusters: null, selector: {}}", "x", "", "error: a generator is none of"},
		"no keys of a merge":             {"{merge: {generators: [" + list("{}") + "," + list("{}") + "]}}", "x", "", "error: spec.generators[0].merge.mergeKeys: Required value"},
		"a merge of one":                 {"{merge: {mergeKeys: [a], generators: [" + list("{}") + "]}}", "x", "", "error: spec.generators[0].merge.generators: Invalid value: 1"},
		"a selector of an address":       {"{list: {elements: [{a: x, url: \"https://a\"}, {a: z, url: \"https://b\"}]}, selector: {matchLabels: {url: \"https://b\"}}}", "{{a}}", "", "z"},
		"a selector of a deep parameter": {"{list: {elements: [{a: x, l: {m: 1}}, {a: z, l: {m: 2}}]}, selector: {matchExpressions: [{key: l.m, operator: In, values: [\"2\"]}]}}", "go:{{.a}}", "", "z"},
		"a selector of a missing one":    {"{list: {elements: [{a: x}, {a: z, b: q}]}, selector: {matchExpressions: [{key: b, operator: DoesNotExist}, {key: a, operator: NotIn, values: [z]}]}}", "{{a}}", "", "x"},
		"a wrong selector":               {"{list: {elements: [{a: x}]}, selector: {matchExpressions: [{key: b, operator: Is}]}}", "{{a}}", "", "error: spec.generators[0].selector.matchExpressions[0].operator: Invalid value: \"Is\""},
		"two of one name":                {list("{a: x, b: z}, {a: x, b: q}, {a: q}"), "{{a}}", "", "q; spec.template.metadata.name: Invalid value: \"x\": 2 Applications have this name"},

		// Functions of Argo CD.
		"slugify":                  {list("{a: \"North_ Dock.2 / East\"}"), "go:{{ slugify .a }}", "", "north-dock-2-east"},
		"slugify to a length":      {list("{a: \"feat/a_really+awesome_feature_to_test\"}"), "go:{{ .a | slugify 23 }}", "{{ .a | slugify 23 false }}", "feat-a-really-awesome feat-a-really-awesome-f"},
		"slugify one word":         {list("{a: abcdef}"), "go:{{ slugify 3 .a }}", "", "abc"},
		"slugify without a length": {list("{a: abcdef}"), "go:{{ slugify \"3\" .a }}", "", "error: spec.template.metadata.name: Invalid value"},
		"normalize a long text":    {list("{a: " + strings.Repeat("-", 252) + "bb}"), "go:{{ normalize .a }}", "", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			goTemplate, isGo := strings.CutPrefix(test.name, "go:")
			spec := map[string]any{"goTemplate": isGo, "template": map[string]any{
				"metadata": map[string]any{"name": goTemplate}, "spec": map[string]any{"project": test.project}}}
			var generator any
			if err := yaml.Unmarshal([]byte(test.generator), &generator); err != nil {
				t.Fatal(err)
			}
			spec["generators"] = []any{generator}
			o := manifest.Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{"spec": spec}}}
			all, err := Expand(o, filesOf(generatorFiles), Known{})
			var made []string
			for _, u := range all {
				project, _, _ := unstructured.NestedString(u.Object, "spec", "project")
				made = append(made, strings.TrimSuffix(u.GetName()+" "+project, " "))
			}
			got := strings.Join(made, ", ")
			switch {
			case err != nil && got != "":
				got += "; " + err.Error()
			case err != nil:
				got = "error: " + err.Error()
			}
			if got != test.want && (err == nil || !strings.HasPrefix(got, test.want)) {
				t.Errorf("%s\nwant %s", got, test.want)
			}
		})
	}
}

// A patch changes an Application as a strategic merge patch of Argo CD's type does, and the finalizer is there unless
// objects stay.
func TestPatchOfTemplate(t *testing.T) {
	for name, test := range map[string]struct{ template, patch, policy, want string }{
		"empty":             {"", " ", "", "finalizers: [" + finalizer + "]"},
		"nothing":           {"", "null", "", "finalizers: [" + finalizer + "]"},
		"a finalizer":       {"", "metadata: {finalizers: [other]}", "", "finalizers: [other, " + finalizer + "]"},
		"own finalizers":    {"finalizers: [other]", "", "", "finalizers: [other]"},
		"objects that stay": {"", "", "preserveResourcesOnDeletion: true", ""},
		"a label":           {"labels: {a: x}", "metadata: {labels: {b: z}}", "preserveResourcesOnDeletion: true", "labels: {a: x, b: z}"},
		"another value":     {"", "spec: {source: {helm: {valuesObject: {b: 2, c: {d: 1}}}}}", "", "finalizers: [" + finalizer + "]\nvalues: {a: {n: 1}, b: 2, c: {d: 1}}"},
		"a value again":     {"", "spec: {source: {helm: {valuesObject: {a: {m: 2}}}}}", "", "error: spec.templatePatch: Invalid value: a of valuesObject is in the template as well"},
		"a broken patch":    {"", "{spec: {}}", "", "error: spec.templatePatch: Invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			content := "spec:\n  generators: [{list: {elements: [{a: x}]}}]\n  syncPolicy: {" + test.policy + "}\n" +
				"  template:\n    metadata:\n      name: x\n      " + test.template +
				"\n    spec: {source: {helm: {valuesObject: {a: {n: 1}}}}}\n  templatePatch: '" + test.patch + "'"
			o := manifest.Object{Unstructured: &unstructured.Unstructured{}}
			if err := yaml.Unmarshal([]byte(content), &o.Object); err != nil {
				t.Fatal(err)
			}
			all, err := Expand(o, nil, Known{})
			if err != nil {
				if got := "error: " + err.Error(); !strings.HasPrefix(test.want, "error: ") || !strings.HasPrefix(got, test.want) {
					t.Errorf("%s\nwant %s", got, test.want)
				}
				return
			}
			var want map[string]any
			if err := yaml.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			values, _, _ := unstructured.NestedMap(all[0].Object, "spec", "source", "helm", "valuesObject")
			got := map[string]any{"values": values, "labels": all[0].GetLabels(), "finalizers": all[0].GetFinalizers()}
			for key, value := range want {
				wanted, _ := yaml.Marshal(value)
				if found, _ := yaml.Marshal(got[key]); string(found) != string(wanted) {
					t.Errorf("%s: %s\nwant %s", key, found, wanted)
				}
			}
			if len(all[0].GetFinalizers()) > 0 && want["finalizers"] == nil {
				t.Errorf("finalizers: %s", all[0].GetFinalizers())
			}
		})
	}
}

func TestAGeneratorThatAsksAServerMayBeKnown(t *testing.T) {
	for name, test := range map[string]struct {
		isGo             string
		generator, known string
		want             string
	}{
		"of pull requests": {"false", "pullRequest: {github: {}}", "{pullRequest: [{number: '1', head: {sha: a}}, {number: '2'}]}", "x-1-a x-2-{{head.sha}}"},
		"with Go":          {"true", "plugin: {values: {b: '{{.number}}'}}", "{plugin: [{number: 7, head: {sha: a}}]}", "x-7-a"},
		"in a matrix": {"false", "matrix: {generators: [{list: {elements: [{head.sha: b}]}}, {scmProvider: {}}]}",
			"{scmProvider: [{number: '1'}]}", "x-1-b"},
		"selected":        {"false", "pullRequest: {}\n  selector: {matchLabels: {number: '2'}}", "{pullRequest: [{number: '1'}, {number: '2'}]}", "x-2-{{head.sha}}"},
		"none":            {"false", "pullRequest: {}", "{pullRequest: []}", ""},
		"of another kind": {"false", "pullRequest: {}", "{plugin: [{number: '1'}]}", "error"},
	} {
		text := "{{number}}-{{head.sha}}"
		if test.isGo == "true" {
			text = "{{.number}}-{{.head.sha}}"
		}
		content := "spec:\n  goTemplate: " + test.isGo + "\n  generators:\n  - " + strings.ReplaceAll(test.generator, "\n", "\n  ") +
			"\n  template: {metadata: {name: 'x-" + text + "'}}\n"
		o := manifest.Object{Unstructured: &unstructured.Unstructured{}}
		var known Known
		if err := yaml.Unmarshal([]byte(content), &o.Object); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(test.known), &known.Parameters); err != nil {
			t.Fatal(err)
		}
		var names []string
		all, err := Expand(o, nil, known)
		for _, u := range all {
			names = append(names, u.GetName())
		}
		got := strings.Join(names, " ")
		if asks := AskingError(""); errors.As(err, &asks) {
			got = "error"
		} else if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// A generator whose files are not here hides no other one, and one that surely has none makes no Application.
func TestAGeneratorReadsItsOwnRepository(t *testing.T) {
	known := Known{Origin: application.Origin{URLs: []string{"https://git.example.com/acme/yard"}}}
	for name, test := range map[string]struct{ url, more, folder, want, err string }{
		"this repository":      {"https://git.example.com/acme/yard.git", "", "docks/*", "x- x-north", ""},
		"another repository":   {"https://git.example.com/acme/harbour", "", "docks/*", "x-", "its source is another repository: https://git.example.com/acme/harbour"},
		"another revision":     {"https://git.example.com/acme/yard", ", revision: v1.2.3", "docks/*", "x-", "its source is another revision: https://git.example.com/acme/yard"},
		"surely none":          {"https://git.example.com/acme/yard", "", "none/*", "x-", "sure: no folder of this repository matches none/*"},
		"perhaps of a mirror":  {"https://git.example.org/acme/yard", "", "none/*", "x-", "no folder of this repository matches none/*"},
		"a parameter is a URL": {"{{url}}", "", "docks/*", "x- x-north", ""},
	} {
		o := manifest.Object{Unstructured: &unstructured.Unstructured{}}
		content := "spec: {generators: [{git: {repoURL: '" + test.url + "', directories: [{path: " + test.folder + "}]" + test.more +
			"}}, {list: {elements: [{path.basename: ''}]}}], template: {metadata: {name: 'x-{{path.basename}}'}}}"
		if err := yaml.Unmarshal([]byte(content), &o.Object); err != nil {
			t.Fatal(err)
		}
		all, err := Expand(o, filesOf(generatorFiles), known)
		var names []string
		for _, u := range all {
			names = append(names, u.GetName())
		}
		slices.Sort(names)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if none := (NoMatchError{}); errors.As(err, &none) && none.IsSure {
			got = "sure: " + got
		}
		if is := strings.Join(names, " "); is != test.want || got != test.err {
			t.Errorf("%s: %q %q, want %q %q", name, is, got, test.want, test.err)
		}
	}
}
