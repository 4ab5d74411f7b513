package review

import (
	"flag"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/world"
)

var everyField = flag.Bool("every-field", false, "change all fields of all types, and not a part of them: it takes a minute")

// Each field of each built-in type is changed alone. The review names the object and the field with its
// values, whatever the rules know.
func TestReviewTellsEveryField(t *testing.T) {
	const seed = 1
	f := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(seed), scheme.Codecs).NilChance(0).NumElements(1, 1).MaxDepth(12)
	types, fields := 0, 0
	for gvk := range scheme.Scheme.AllKnownTypes() {
		// Of a CustomResourceDefinition the fuzzer writes texts where JSON has to be. A library adds it.
		if gvk.Group == "apiextensions.k8s.io" || strings.Contains(gvk.Version, "beta") && gvk.Group == "apps" || gvk.Group == "extensions" || gvk.Version == runtime.APIVersionInternal || strings.HasSuffix(gvk.Kind, "List") || strings.HasSuffix(gvk.Kind, "Options") || gvk.Kind == "WatchEvent" {
			continue
		}
		object, err := scheme.Scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		f.Fill(object)
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			t.Fatal(gvk, err)
		}
		before := &unstructured.Unstructured{Object: content}
		if _, ok := content["metadata"]; !ok {
			continue // not an object of its own
		}
		before.SetGroupVersionKind(gvk)
		before.SetNamespace("ns")
		before.SetName("a")
		types++
		fields += tellsChanges(t, before)
	}
	if types < 50 || fields < 300 {
		t.Errorf("only %d types and %d fields", types, fields)
	}
}

func isIdentity(path []any) bool {
	name := fmt.Sprint(path)
	return slices.Contains([]string{"[apiVersion]", "[kind]", "[metadata name]", "[metadata namespace]"}, name)
}

// isShared reports whether many kinds have a field: in their metadata, or in a template of Pods.
func isShared(path []any) bool {
	i := slices.Index(path, any("template"))
	return path[0] == "metadata" || i >= 0 && i+1 < len(path) && path[i+1] == "spec"
}

// tellsChanges changes each field of an object in a copy of its own, and fails unless the review tells
// each. It returns the number of fields.
func tellsChanges(t *testing.T, object *unstructured.Unstructured) int {
	t.Helper()
	type field struct {
		path    []any
		was, is string
	}
	e, fields := diff.EnvironmentDiff{Name: "prod", Kinds: gatehouse.All()}, map[manifest.ID]field{}
	const part = 9
	for i, path := range leaves(nil, object.Object) {
		if !*everyField && i%part != 0 || isIdentity(path) || object.GetKind() != "Deployment" && isShared(path) {
			continue
		}
		before := object.DeepCopy()
		before.SetName(fmt.Sprint("a-", i))
		after := before.DeepCopy()
		was, is := replaceLeaf(after.Object, path)
		e.Changes = append(e.Changes, diff.Change{Before: before, After: after})
		fields[world.IDOf(after)] = field{path, was, is}
	}
	told := map[manifest.ID]bool{}
	for _, effect := range effects(e, time.Time{}) {
		field, said := fields[effect.Object], effect.What.Plain()
		last := ""
		for _, step := range field.path {
			if name, ok := step.(string); ok {
				last = name
			}
		}
		isNamed := slices.ContainsFunc(effect.Fields, func(path string) bool { return strings.Contains(path, last) })
		if isNamed && (object.GetKind() == "Secret" || strings.Contains(said, field.was) && strings.Contains(said, field.is)) {
			told[effect.Object] = true
		}
	}
	for id, field := range fields {
		if !told[id] {
			t.Errorf("%s: the change of %v is not told: %s → %s", object.GroupVersionKind(), field.path, field.was, field.is)
		}
	}
	return len(fields)
}

// leaves returns the paths of the scalars of an object.
func leaves(path []any, value any) (paths [][]any) {
	switch value := value.(type) {
	case map[string]any:
		for key, child := range value {
			paths = append(paths, leaves(append(slices.Clone(path), key), child)...)
		}
	case []any:
		for i, child := range value {
			paths = append(paths, leaves(append(slices.Clone(path), i), child)...)
		}
	case nil:
	default:
		paths = append(paths, path)
	}
	return paths
}

// replaceLeaf replaces a scalar by another of its type and returns the texts of both.
func replaceLeaf(content any, path []any) (was, is string) {
	for _, step := range path[:len(path)-1] {
		if key, ok := step.(string); ok {
			content = content.(map[string]any)[key]
		} else {
			content = content.([]any)[step.(int)]
		}
	}
	parent, step := reflect.ValueOf(content), path[len(path)-1]
	set := func(v any) { parent.SetMapIndex(reflect.ValueOf(step), reflect.ValueOf(v)) }
	var value any
	if i, ok := step.(int); ok {
		value = parent.Index(i).Interface()
		set = func(v any) { parent.Index(i).Set(reflect.ValueOf(v)) }
	} else {
		value = parent.MapIndex(reflect.ValueOf(step)).Interface()
	}
	var other any
	switch value := value.(type) {
	case string:
		other = "other"
	case bool:
		other = !value
	case int64:
		other = value + 1
	case float64:
		other = value + 1
	}
	set(other)
	return textIn(value), textIn(other)
}

// textIn returns the text of a short value that the review does not escape, and otherwise nothing.
func textIn(value any) string {
	text := fmt.Sprint(value)
	if len(text) > 10 || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= unicode.MaxASCII }) {
		return ""
	}
	return text
}
