package verdict_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"example.com/gatehouse/render/manifest"
)

// example is a document of a table in testdata: an object, and changes of it. `$n` in it is the number
// of the object.
type example struct {
	Object map[string]any
	// But has changes by title: values of fields. A path names an item of a list like
	// spec.containers.0. A field after "no " is removed.
	But map[string]map[string]any
	// Cluster is like But, for objects that only the cluster refuses.
	Cluster map[string]map[string]any
}

// objectCase is an object to judge.
type objectCase struct {
	*unstructured.Unstructured
	number int
	title  string
	// isOfCluster reports whether the verdict depends on the cluster.
	isOfCluster bool
}

func (c objectCase) String() string {
	return fmt.Sprintf("%s %s: %s", c.GetAPIVersion(), c.GetKind(), c.title)
}

// readCases reads the objects of a table, and numbers them from a number.
func readCases(t *testing.T, file string, number int) (cases []objectCase) {
	t.Helper()
	for _, e := range readExamples(t, file) {
		add := func(title string, changes map[string]any, isOfCluster bool) {
			c := objectCase{number: number + len(cases), title: title, isOfCluster: isOfCluster}
			c.Unstructured = e.changed(t, c, changes)
			cases = append(cases, c)
		}
		add("as it is", nil, false)
		for _, title := range slices.Sorted(maps.Keys(e.But)) {
			add(title, e.But[title], false)
		}
		for _, title := range slices.Sorted(maps.Keys(e.Cluster)) {
			add(title, e.Cluster[title], true)
		}
	}
	return cases
}

func readExamples(t *testing.T, file string) (examples []example) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		decoder := yaml.NewDecoder(strings.NewReader(document))
		decoder.KnownFields(true)
		var e example
		if err := decoder.Decode(&e); err != nil {
			t.Fatalf("%s: %v in %s", file, err, document)
		}
		examples = append(examples, e)
	}
	return examples
}

// changed returns the object of an example with changes.
func (e example) changed(t *testing.T, c objectCase, changes map[string]any) *unstructured.Unstructured {
	t.Helper()
	content := plain(t, e.Object, c.number)
	if err := change(t, content, changes, c.number); err != nil {
		t.Fatalf("%s: %v", c.title, err)
	}
	return &unstructured.Unstructured{Object: content.(map[string]any)}
}

// change changes the object with a number.
func change(t *testing.T, content any, changes map[string]any, number int) error {
	t.Helper()
	for _, field := range slices.Sorted(maps.Keys(changes)) {
		name, isMissing := strings.CutPrefix(field, "no ")
		if err := put(content, manifest.SplitField(name), plain(t, changes[field], number), isMissing); err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
	}
	return nil
}

// plain converts a value to JSON values, and replaces `$n` by a number.
func plain(t *testing.T, value any, number int) (plain any) {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	numbered := strings.ReplaceAll(string(encoded), "$n", strconv.Itoa(number))
	if err := json.Unmarshal([]byte(numbered), &plain); err != nil {
		t.Fatal(err)
	}
	return runtime.DeepCopyJSONValue(plain)
}

// put sets or removes a field of an object or an item of a list.
func put(in any, keys []string, value any, remove bool) error {
	switch parent := in.(type) {
	case map[string]any:
		child, ok := parent[keys[0]]
		switch {
		case len(keys) == 1 && remove:
			if !ok {
				return fmt.Errorf("there is no %s", keys[0])
			}
			delete(parent, keys[0])
			return nil
		case len(keys) == 1:
			parent[keys[0]] = value
			return nil
		case child == nil:
			child = map[string]any{}
			parent[keys[0]] = child
		}
		return put(child, keys[1:], value, remove)
	case []any:
		i, err := strconv.Atoi(keys[0])
		switch {
		case err != nil || i >= len(parent):
			return fmt.Errorf("no item %s", keys[0])
		case len(keys) == 1:
			parent[i] = value
			return nil
		}
		return put(parent[i], keys[1:], value, remove)
	}
	return fmt.Errorf("%s: in a %T", keys[0], in)
}
