package node

import (
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/manifest"
)

// parse returns the node of a document.
func parse(t *testing.T, text string) *yaml.Node {
	t.Helper()
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	return document.Content[0]
}

const deployment = `kind: Deployment
metadata:
  name: web
spec:
  Replicas: 2
  template:
    spec:
      containers:
      - name: app
        image: app:1
      - name: proxy
        image: proxy:2
`

func TestLineIsThatOfTheFieldOrTheMappingAroundIt(t *testing.T) {
	document := parse(t, deployment)
	for want, keys := range map[int][]string{
		1:  {"kind"},
		3:  {"metadata", "name"},
		2:  {"metadata", "namespace"},
		5:  {"spec", "replicas"}, // kustomize folds the case
		10: {"spec", "template", "spec", "containers", "0", "image"},
		12: {"spec", "template", "spec", "containers", "1", "image"},
		11: {"spec", "template", "spec", "containers", "1", "ports"},
	} {
		if got := Line(document, keys...); got != want {
			t.Errorf("%v is at line %d, want %d", keys, got, want)
		}
	}
	if got := Line(nil, "kind"); got != 0 {
		t.Errorf("without a document the line is %d", got)
	}
}

func TestAtFindsTheNodeWithTheValue(t *testing.T) {
	const operations = `
- {op: replace, path: /spec/replicas, value: many}
- {op: add, path: /spec/template, value: {metadata: {labels: {a/b: c}}}}
- {op: remove, path: /spec/paused}
- {op: add, path: /spec/list/-, value: {name: x}}
- {op: add, path: /metadata/annotations/a~1b, value: y}
`
	for _, test := range []struct {
		document string
		keys     []string
		value    manifest.Value
		line     int // 0 for none
	}{
		{deployment, []string{"spec", "replicas"}, manifest.Value{Is: int64(2)}, 5},
		{deployment, []string{"spec", "replicas"}, manifest.Value{Is: int64(3)}, 0},
		{deployment, []string{"spec", "replicas"}, manifest.Value{Type: "integer"}, 5},
		{deployment, []string{"spec", "replicas"}, manifest.Value{Type: "string"}, 0},
		{deployment, []string{"spec", "template", "spec", "containers", "0", "image"}, manifest.Value{Is: "proxy:2"}, 12},
		{deployment, []string{"spec", "template", "spec", "containers", "7", "image"}, manifest.Value{}, 0},
		{operations, []string{"spec", "replicas"}, manifest.Value{Is: "many"}, 2},
		{operations, []string{"spec", "template", "metadata", "labels", "a/b"}, manifest.Value{Is: "c"}, 3},
		{operations, []string{"spec", "paused"}, manifest.Value{}, 4},
		{operations, []string{"spec", "list", "3", "name"}, manifest.Value{Is: "x"}, 5},
		{operations, []string{"metadata", "annotations", "a/b"}, manifest.Value{Is: "y"}, 6},
		{operations, []string{"spec", "selector"}, manifest.Value{}, 0},
	} {
		line := 0
		if found := At(parse(t, test.document), test.keys, TestOf(test.value)); found != nil {
			line = found.Line
		}
		if line != test.line {
			t.Errorf("%v with %+v is at line %d, want %d", test.keys, test.value, line, test.line)
		}
	}
}

func TestAliasesStandForTheirNodes(t *testing.T) {
	document := parse(t, "a: &x {b: [1, c]}\nd: *x\ne: [*x]\n")
	if got := Text(document, "d", "b"); got != "" {
		t.Errorf("a list has the text %q", got)
	}
	if got := Text(Item(Field(document, "e"), 0), "b"); got != "" || Field(Item(Field(document, "e"), 0), "b") == nil {
		t.Error("an item that is an alias has no fields")
	}
	if got := slices.Collect(Scalars(document)); !slices.Equal(got, []string{"a", "b", "1", "c", "d", "b", "1", "c", "e", "b", "1", "c"}) {
		t.Errorf("the scalars are %v", got)
	}
	if got := slices.Collect(All(document)); len(got) != 12 {
		t.Errorf("there are %d nodes: an alias counts once", len(got))
	}
}

func TestRemoveKeepsTheOtherEntriesInOrder(t *testing.T) {
	document := parse(t, "a: 1\nb: 2\nc: 3\nd: 4\n")
	Remove(document, "a", "c", "x")
	Remove(nil, "a")
	var keys []string
	for key := range Entries(document) {
		keys = append(keys, key.Value)
	}
	if !slices.Equal(keys, []string{"b", "d"}) {
		t.Errorf("the keys are %v", keys)
	}
}

func TestFieldsFoldCaseAndTextSkipsNull(t *testing.T) {
	document := parse(t, "Name: a\nname: b\nNAME: ~\nlist: [x]\n")
	if got := Fields(document, "name"); len(got) != 3 {
		t.Errorf("there are %d fields", len(got))
	}
	if Text(document, "NAME") != "" || Text(document, "name") != "b" || Text(document, "none", "below") != "" {
		t.Error("the text of null is empty, and each other text is of its own key")
	}
	if items := Items(Field(document, "name")); len(items) != 1 || items[0].Value != "b" {
		t.Errorf("a scalar is its own only item, not %v", items)
	}
	if Item(Field(document, "list"), 1) != nil {
		t.Error("there is no second item")
	}
}
