package settings

import (
	"encoding/json"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"example.com/gatehouse/render/manifest"
)

func TestALinkIsAnError(t *testing.T) {
	s := Read(tree{fstest.MapFS{File: {Data: []byte("other.yaml"), Mode: fs.ModeSymlink}, "other.yaml": {Data: []byte("all: {}")}}})
	if len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Message, "is no regular file") {
		t.Errorf("%+v", s.Problems)
	}
}

// tree is files in memory.
type tree struct{ fstest.MapFS }

func read(content string) Settings {
	return Read(tree{fstest.MapFS{File: {Data: []byte(content)}}})
}

func TestAWrongFileHasErrorsAtItsLines(t *testing.T) {
	for content, want := range map[string]string{
		"":                              "",
		"# nothing\n":                   "",
		"all: {kubernetes: \"1.36\"}\n": "",
		"entires: []\n":                 `1: unknown field "entires": did you mean "entries"?`,
		"entries:\n- name: a/b\n  kubernets: \"1\"": `3: entries[0]: unknown field "kubernets": did you mean "kubernetes"?`,
		"entries:\n- kubernetes: \"1.36\"\n":        "2: entries[0]: has no name: write it",
		"all:\n  kubernetes: 1.36\n":                "2: all.kubernetes: is a number, and has to be a text: put it in quotes",
		"all:\n  kubernetes: \"1.12\"\n":            `2: all.kubernetes: "1.12" is not a version of Kubernetes that render knows`,
		"all:\n  runtimeConfig: policy/v1beta1\n":   `2: all.runtimeConfig: "policy/v1beta1" is not a beta version`,
		"entries: a\n":                      "1: entries: is a text, and has to be a list",
		"all:\n  elsewhere: [monitoring]\n": "2: all.elsewhere[0]: write the kind and the name, such as",
		"all:\n  leaveOut:\n  - code: MissingObjet\n    reason: a": `3: all.leaveOut[0].code: "MissingObjet" is unknown: did you mean`,
		"all:\n  leaveOut:\n  - code: MissingObject\n":             "3: all.leaveOut[0]: has no reason: write it",
		"all:\n  leaveOut: [{code: MissingObject, reason: ' '}]":   "2: all.leaveOut[0].reason: write the reason",
		"all:\n  values: {Secret a: {}}\n":                         `2: all.values: "Secret a": write the kind, the namespace`,
		"all:\n  values: {Secret a/b: {1a: x}}\n":                  `2: all.values[Secret a/b]: "1a": write the name of a variable`,
		"notEntries:\n- {name: 'a[', reason: x}\n":                 `2: notEntries[0].name: "a[": syntax error in pattern`,
		"all: {}\n---\nentries: []\n":                              "1: has several documents",
		"all: [\n":                                                 "1: malformed YAML",
		"all: {}\nall: {}\n":                                       "2: ",
	} {
		var found []string
		for _, p := range read(content).Problems {
			if p.Code != manifest.InvalidSettings || p.File != File {
				t.Errorf("%q: %+v", content, p)
			}
			found = append(found, strings.TrimPrefix(strings.ReplaceAll(p.String(), File+":", ""), ":"))
		}
		if len(found) > 1 || !strings.HasPrefix(strings.Join(found, "\n"), want) || want == "" && len(found) > 0 {
			t.Errorf("%q: got %q, want %q", content, found, want)
		}
	}
}

func TestAFileWithAnotherEndingIsAnError(t *testing.T) {
	s := Read(tree{fstest.MapFS{".gatehouse.yml": {}}})
	if len(s.Problems) != 1 || s.Problems[0].File != ".gatehouse.yml" {
		t.Errorf("%+v", s.Problems)
	}
}

func TestALaterEntryWins(t *testing.T) {
	s := read(`
all: {kubernetes: "1.34", elsewhere: [Namespace a], values: {Secret a/a: {A: all}, Secret a/b: {B: all}}}
entries:
- {name: "clusters/*", kubernetes: "1.35", elsewhere: [Namespace b]}
- {name: clusters/eu, kubernetes: "1.36", values: {Secret a/a: {A: eu}}, leaveOut: [{code: OfKind, reason: x}]}
- {name: ./deploy, runtimeConfig: resource.k8s.io/v1beta2}
notEntries: [{name: "archive", reason: old}, {name: "*/examples", reason: shown}, {name: "hub@dev", reason: off}]
`)
	if len(s.Problems) > 0 {
		t.Fatal(s.Problems)
	}
	for name, want := range map[string]string{"prod": "1.34", "clusters/us": "1.35", "clusters/eu": "1.36", "./deploy": "1.34"} {
		if got := s.Of(name).Kubernetes; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	eu := s.Of("clusters/eu")
	if !slices.Equal(eu.Elsewhere, []string{"Namespace a", "Namespace b"}) || eu.Values["Secret a/a"]["A"] != "eu" ||
		eu.Values["Secret a/b"]["B"] != "all" || !eu.LeavesOut("OfKind") || s.Of("prod").LeavesOut("OfKind") ||
		s.Of("./deploy").RuntimeConfig == "" {
		t.Errorf("%+v", eu)
	}
	for name, want := range map[string]bool{"archive": true, "archive/a/b": true, "archives": false, "a/archive": false,
		"apps/examples/x": true, "./hub@dev": true, "./hub": false, ".": false} {
		if got := s.WhyNone(name) != ""; got != want {
			t.Errorf("%s is none: %t", name, got)
		}
	}
}

func TestAReviewSaysWhatIsLeftOut(t *testing.T) {
	before := `
all: {leaveOut: [{code: OfKind, reason: x}]}
entries: [{name: a/b}]
`
	for after, want := range map[string]string{
		"# a comment\n" + before:                                                                        "",
		before + "notEntries: [{name: a, reason: old}]\n":                                               "leaves out the folder a: old",
		strings.Replace(before, "x}]}", "x}, {code: RunsAgain, reason: y}]}", 1):                        "leaves out RunsAgain of all entries: y",
		strings.Replace(before, "x}]}", "x}], elsewhere: [Namespace x]}", 1):                            "Namespace x is elsewhere for all entries",
		strings.Replace(before, "a/b}", "a/b, leaveOut: [{code: OfKind, reason: z}]}", 1):               "leaves out OfKind of a/b: z",
		strings.Replace(before, "entries: [{name: a/b}]", "", 1):                                        "no longer names a/b",
		strings.Replace(before, "{name: a/b}", "{name: a/b, kubernetes: \"1.36\"}", 1):                  "it decides what is judged",
		strings.Replace(before, "all: {leaveOut: [{code: OfKind, reason: x}]}", "", 1):                  "it decides what is judged",
		strings.Replace(before, "{name: a/b}", "{name: a/b}, {name: c/*, values: {Secret a/b: {}}}", 1): "it decides what is judged",
	} {
		got := Review(read(before), read(after)).Plain()
		if !strings.HasSuffix(got, want) || want == "" && got != "" || len(read(after).Problems) > 0 {
			t.Errorf("%s: %q, want %q", after, got, want)
		}
	}
}

// The schema has each field of the types, and no other.
func TestSchemaHasTheFieldsOfTheTypes(t *testing.T) {
	compare := func(at string, typ reflect.Type, of map[string]any) {
		t.Helper()
		var want, got []string
		for _, field := range reflect.VisibleFields(typ) {
			if name := field.Tag.Get("json"); name != "" && name != "-" {
				want = append(want, name)
			}
		}
		for name := range of["properties"].(map[string]any) {
			got = append(got, name)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %q, and the type %q", at, got, want)
		}
	}
	var root map[string]any
	if err := json.Unmarshal(schemaFile, &root); err != nil {
		t.Fatal(err)
	}
	at := func(of map[string]any, keys ...string) map[string]any {
		for _, key := range keys {
			of = of[key].(map[string]any)
		}
		return of
	}
	cluster := at(root, "$defs", "cluster")
	compare("settings", reflect.TypeFor[Settings](), root)
	compare("cluster", reflect.TypeFor[Cluster](), cluster)
	compare("notEntries", reflect.TypeFor[Folder](), at(root, "properties", "notEntries", "items"))
	compare("leaveOut", reflect.TypeFor[Message](), at(cluster, "properties", "leaveOut", "items"))
	compare("clusters", reflect.TypeFor[Registered](), at(cluster, "properties", "clusters", "items"))
	compare("generators", reflect.TypeFor[Generator](), at(cluster, "properties", "generators", "items"))
}
