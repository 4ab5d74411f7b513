package review

import (
	"flag"
	"fmt"
	"maps"
	"math/rand"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/scheme"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/known"
)

var everyField = flag.Bool("every-field", false, "change all fields of all types, and not a part of them: it takes a minute")

// Each field of each built-in type is changed alone. The review names the object and the field with its
// values, whatever the rules know.
func TestReviewTellsEveryField(t *testing.T) {
	types, fields := 0, 0
	for _, before := range builtIn(t) {
		types++
		fields += tellsChanges(t, before)
	}
	if types < 50 || fields < 300 {
		t.Errorf("only %d types and %d fields", types, fields)
	}
}

// builtIn returns an object of each built-in type with all its fields.
func builtIn(t *testing.T) (objects []*unstructured.Unstructured) {
	const seed = 1
	f := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(seed), scheme.Codecs).NilChance(0).NumElements(1, 1).MaxDepth(12)
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
		objects = append(objects, before)
	}
	return objects
}

// Whatever looks ordinary in any field of any built-in type: of all changes these alone are known. A status is, as the
// API server ignores it.
func TestNoFieldIsKnownByAccident(t *testing.T) {
	if !*everyField {
		t.Skip("it takes minutes: run it with -every-field after a change of the table of known changes")
	}
	const want = `
metadata.annotations.description: Deployment.apps
metadata.annotations[kubernetes.io/description]: Deployment.apps
metadata.labels.chart: all
metadata.labels[app.kubernetes.io/part-of]: ConfigMap ControllerRevision.apps CronJob.batch DaemonSet.apps Deployment.apps Job.batch Pod ReplicaSet.apps Service ServiceAccount StatefulSet.apps
metadata.labels[app.kubernetes.io/version]: all
metadata.labels[helm.sh/chart]: all
spec.failedJobsHistoryLimit: CronJob.batch
spec.replicas: Deployment.apps ReplicaSet.apps
spec.revisionHistoryLimit: DaemonSet.apps Deployment.apps StatefulSet.apps
spec.successfulJobsHistoryLimit: CronJob.batch
spec.template.spec.containers[].image: Deployment.apps
spec.template.spec.initContainers[].image: Deployment.apps
`
	all, kinds, count := map[string]sets.Set[string]{}, sets.Set[string]{}, 0
	for _, o := range builtIn(t) {
		delete(o.Object, "status")
		found, changed := knownFields(t, o)
		for _, field := range found {
			all[field] = all[field].Union(sets.New(compare.KindOf(o)))
		}
		kinds.Insert(compare.KindOf(o))
		count += changed
	}
	got := "\n"
	for _, field := range slices.Sorted(maps.Keys(all)) {
		names := strings.Join(sets.List(all[field]), " ")
		if all[field].Equal(kinds) {
			names = "all"
		}
		got += field + ": " + names + "\n"
	}
	if got != want || count < 3000 {
		t.Errorf("known of %d changes:%s", count, got)
	}
}

// knownFields returns the fields of an object that a rule knows after any change that looks ordinary.
func knownFields(t *testing.T, object *unstructured.Unstructured) (found []string, changed int) {
	t.Helper()
	labels := map[string]string{"helm.sh/chart": "a-1", "chart": "a-1", "app.kubernetes.io/version": "1", "app.kubernetes.io/part-of": "a", "team": "a"}
	object.SetLabels(labels)
	labels["description"], labels["kubernetes.io/description"], labels["checksum/a"], labels["rollme"] = "a", "a", "a", "a"
	object.SetAnnotations(labels)
	ordinary := [][2]any{{"a", "b"}, {"registry.example.com/a:1.2.0", "registry.example.com/a:1.3.0"}, {"1.2.0", "1.3.0"}, {"100m", "150m"}, {"1Gi", "2Gi"}, {int64(4), int64(5)}, {int64(5), int64(4)}, {true, false}, {"a", nil}, {nil, "a"}}
	var all []compare.Change
	const part = 9 // of the fields of Pods
	for i, path := range leaves(nil, object.Object) {
		if isLeftOut := !*everyField && i%part != 0 && path[len(path)-1] != "image"; isLeftOut && isShared(path) && path[0] != "metadata" {
			continue
		}
		for _, pair := range ordinary {
			isPod := path[0] == "spec" && (object.GetKind() == "Pod" || strings.HasSuffix(fmt.Sprint(path[:2]), "template]"))
			if isIdentity(path) || object.GetKind() != "Deployment" && (isPod || isShared(path) && path[1] != "labels") {
				continue
			}
			before := object.DeepCopy()
			setLeaf(before.Object, path, func(any) any { return pair[0] })
			after := before.DeepCopy()
			setLeaf(after.Object, path, func(any) any { return pair[1] })
			all = append(all, compare.Change{Before: before, After: after})
		}
	}
	w := compare.Differences{Kinds: gatehouse.All()}.With(compare.Facts{}) // without refusals: a refused change is a risk
	for _, c := range all {
		for _, f := range c.Fields() {
			if changed++; known.Is(w, c, f) {
				found = append(found, index.ReplaceAllString(f.Path, "ontainers[]"))
			}
		}
	}
	return found, changed
}

// index matches the index of a container in a path.
var index = regexp.MustCompile(`ontainers\[[^\]]*\]`)

// Any value of an object without a type is told when it becomes any other value, and the two never look alike.
func TestReviewTellsEveryValue(t *testing.T) {
	type absent struct{}
	values := []any{
		absent{}, nil, "null", "unset", "", " ", "\n", `""`, "a", "a ", " a", "a\u200b", `a\u200b`, "\u0430", "a\x00", "a\r\n", "a\n", "a\tb", "a b",
		true, "true", "yes", int64(0), int64(80), "80", " 80", 80.5, "80.5", "8e1",
		map[string]any{}, "{}", map[string]any{"b": nil}, `{"b":null}`, map[string]any{"b": map[string]any{}},
		[]any{}, "[]", []any{nil}, []any{nil, nil}, "[null]", []any{int64(1), nil}, []any{int64(1)}, []any{"1"}, []any{[]any{}},
		[]any{map[string]any{"name": "a"}}, []any{map[string]any{"name": nil}}, []any{map[string]any{"name": "a"}, nil},
		strings.Repeat("a", 2000), strings.Repeat("a", 2001), strings.Repeat("b\n", 900) + "c", strings.Repeat("b\n", 450) + "c" + strings.Repeat("b\n", 450),
	}
	places := map[string]func(value any) map[string]any{
		"field": func(value any) map[string]any { return map[string]any{"v": value} },
		"item":  func(value any) map[string]any { return map[string]any{"v": []any{"first", value, "last"}} },
		"named": func(value any) map[string]any {
			return map[string]any{"v": []any{map[string]any{"name": "one", "value": value}, map[string]any{"name": "two"}}}
		},
	}
	withoutAbsent := func(content map[string]any) map[string]any {
		if content["v"] == any(absent{}) {
			return map[string]any{}
		}
		list, _ := content["v"].([]any)
		list = slices.DeleteFunc(list, func(item any) bool { return item == any(absent{}) })
		for _, item := range list {
			if fields, _ := item.(map[string]any); fields["value"] == any(absent{}) {
				delete(fields, "value")
			}
		}
		if list != nil {
			content["v"] = list
		}
		return content
	}
	for place, in := range places {
		differences := compare.Differences{Kinds: gatehouse.All()}
		pairs := map[string]string{}
		object := func(name string, value any) *unstructured.Unstructured {
			o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.org/v1", "kind": "Widget"}}
			o.Object["spec"] = withoutAbsent(in(value))
			o.SetName(name)
			return o
		}
		for i, was := range values {
			for j, is := range values {
				if i != j {
					name := fmt.Sprintf("w-%d-%d", i, j)
					differences.Changes = append(differences.Changes, compare.Change{Before: object(name, was), After: object(name, is)})
					pairs[name] = fmt.Sprintf("%#v → %#v", was, is)
				}
			}
		}
		for _, found := range effects(differences.With(compare.Facts{Name: "prod"}), time.Time{}) {
			said := strings.Split(strings.TrimPrefix(found.What.Format(manifest.CodeSpan), "changes "), "; ")
			for _, field := range said {
				_, pair, _ := strings.Cut(field, ": ")
				if was, is, ok := strings.Cut(pair, " → "); ok && was != is {
					delete(pairs, found.Object.Name)
				}
			}
		}
		for name, pair := range pairs {
			t.Errorf("%s of a %s: %.200s is not told", name, place, pair)
		}
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
	differences := compare.Differences{Kinds: gatehouse.All()}
	fields := map[manifest.ID]field{}
	const part = 9
	add := func(name string, path []any, change func(content any, path []any) (was, is string)) {
		before := object.DeepCopy()
		before.SetName(name)
		after := before.DeepCopy()
		was, is := change(after.Object, path)
		differences.Changes = append(differences.Changes, compare.Change{Before: before, After: after})
		fields[compare.IDOf(after)] = field{path, was, is}
	}
	for i, path := range leaves(nil, object.Object) {
		if !*everyField && i%part != 0 || isIdentity(path) || object.GetKind() != "Deployment" && isShared(path) {
			continue
		}
		add(fmt.Sprint("a-", i), path, replaceLeaf)
		add(fmt.Sprint("null-", i), path, nullLeaf)
	}
	told := map[manifest.ID]bool{}
	for _, effect := range effects(differences.With(compare.Facts{Name: "prod"}), time.Time{}) {
		field, said := fields[effect.Object], effect.What.Plain()
		last := ""
		for _, step := range field.path {
			if name, ok := step.(string); ok {
				last = name
			}
		}
		if field.is == "null" && strings.Contains(said, `""`) { // a Go type has no null
			field.is = ""
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
	return setLeaf(content, path, func(value any) any {
		switch value := value.(type) {
		case bool:
			return !value
		case int64:
			return value + 1
		case float64:
			return value + 1
		}
		return "other"
	})
}

// nullLeaf replaces a scalar by null and returns the texts of both.
func nullLeaf(content any, path []any) (was, is string) {
	return setLeaf(content, path, func(any) any { return nil })
}

func setLeaf(content any, path []any, change func(value any) any) (was, is string) {
	for _, step := range path[:len(path)-1] {
		if key, ok := step.(string); ok {
			content = content.(map[string]any)[key]
		} else {
			content = content.([]any)[step.(int)]
		}
	}
	var value, other any
	switch step := path[len(path)-1].(type) {
	case int:
		items := content.([]any)
		value, other = items[step], change(items[step])
		items[step] = other
	case string:
		fields := content.(map[string]any)
		value, other = fields[step], change(fields[step])
		fields[step] = other
	}
	return textIn(value), textIn(other)
}

// textIn returns the text of a short value that the review does not escape, and otherwise nothing.
func textIn(value any) string {
	text := fmt.Sprint(value)
	if value == nil {
		text = "null"
	}
	if len(text) > 10 || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= unicode.MaxASCII }) {
		return ""
	}
	return text
}
