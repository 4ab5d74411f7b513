package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// readers are the YAML readers of rendered files: other tools and Gatehouse itself.
var readers = map[string]func(text []byte) (any, error){
	"kubectl": func(text []byte) (any, error) {
		b, err := sigsyaml.YAMLToJSONStrict(text)
		if err != nil {
			return nil, err
		}
		return fromJSON(b)
	},
	"kustomize": func(text []byte) (any, error) {
		node, err := kyaml.Parse(string(text))
		if err != nil {
			return nil, err
		}
		b, err := node.MarshalJSON()
		if err != nil {
			return nil, err
		}
		return fromJSON(b)
	},
	"YAML 1.2": func(text []byte) (content any, err error) {
		err = yaml.Unmarshal(text, &content)
		return content, err
	},
}

func fromJSON(b []byte) (content any, err error) {
	err = json.Unmarshal(b, &content)
	return content, err
}

// asJSON makes values comparable. Numbers of the same value are equal.
func asJSON(content any) string {
	b, err := json.Marshal(content)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// strangeText generates text with special meanings in YAML: surrounding spaces and line breaks,
// Unicode breaks and marks, control characters, indicators, long lines.
func strangeText() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			" ", "  ", "\n", "\n\n", "\r\n", "\r", "\t", "\u0085", "\u2028", "\u2029", "\ufeff", "\u00a0", "\x00", "\x07", "\x1b", "\x7f", "\u009f", "\ufffe", "\uffff", "\U0001F600",
			"a", "b c", "é", "-", "- ", "--- ", "...", "#", " #", ": ", ":", "'", "\"", "\\", "|", ">", "%", "@", "`", "!", "&", "*", "{", "}", "[", "]", ",", "?", "? ", "=", "~",
			"1", "0x1F", "0o12", "012", "1_000", "12:30:45", "1e3", "1e400", ".5", "1.", ".inf", ".nan", "2027-01-01", "2027-01-01 10:00:00", "yes", "no", "null", "true", "y",
			strings.Repeat("words and ", 12), strings.Repeat("x", 100), strings.Repeat("x", 130),
		}),
		rapid.String(),
	)
	return rapid.Map(rapid.SliceOfN(piece, 0, 5), func(pieces []string) string { return strings.Join(pieces, "") })
}

func strangeObject() *rapid.Generator[map[string]any] {
	var value *rapid.Generator[any]
	deferred := rapid.Deferred(func() *rapid.Generator[any] { return value })
	mapping := rapid.MapOfN(strangeText(), deferred, 0, 4)
	value = rapid.OneOf(
		rapid.Map(strangeText(), func(s string) any { return s }),
		rapid.Map(strangeText(), func(s string) any { return s }),
		rapid.Map(rapid.Int64(), func(i int64) any { return i }),
		rapid.Map(rapid.Float64(), func(f float64) any { return f + 0 }), // no -0
		rapid.Just[any](nil),
		rapid.Map(mapping, func(m map[string]any) any { return m }),
		rapid.Map(rapid.SliceOfN(deferred, 0, 3), func(s []any) any { return s }),
	)
	return mapping
}

func TestEveryReaderReadsTheWrittenObject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := strangeObject().Draw(t, "object")
		written, err := Object{Unstructured: &unstructured.Unstructured{Object: content}}.YAML()
		if err != nil {
			t.Fatal(err)
		}
		for name, read := range readers {
			got, err := read(written)
			if err != nil || asJSON(got) != asJSON(content) {
				t.Fatalf("%s: error %v, reads\n%s\nof\n%s\nwant\n%s", name, err, asJSON(got), written, asJSON(content))
			}
		}
	})
}

// keyPieces make keys without a consistent order in the YAML library.
var keyPieces = rapid.SliceOfN(rapid.SampledFrom([]string{"1", "12", "0", "00", "9", "a", "B", "_", ":", "-", ".", "/", "Gi", "X", "٣", "é", ""}), 1, 5)

// The order of the keys must not depend on the random iteration of maps.
func TestKeyOrderIsDeterministic(t *testing.T) {
	if compareKeys("1Gi", "6X_C") >= 0 || compareKeys("6X_C", "12:30:45") >= 0 || compareKeys("12:30:45", "1Gi") >= 0 {
		t.Error("the library's order of these is transitive: simplify sortedKeys")
	}
	rapid.Check(t, func(t *rapid.T) {
		content := map[string]any{}
		for _, pieces := range rapid.SliceOfN(keyPieces, 2, 30).Draw(t, "keys") {
			content[strings.Join(pieces, "")] = "x"
		}
		want := sortedKeys(content)
		for range 10 {
			if got := sortedKeys(maps.Clone(content)); !slices.Equal(got, want) {
				t.Fatalf("%q, then %q", want, got)
			}
		}
	})
}

// Pairs of keys, and keys with a consistent order, are in the library's order.
func TestKeyOrderIsTheLibrarys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := strings.Join(keyPieces.Draw(t, "a"), ""), strings.Join(keyPieces.Draw(t, "b"), "")
		if a == b {
			return
		}
		content := map[string]any{a: "x", b: "x"}
		want, err := yamlv2.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := yamlv2.Marshal(ordered(content)); err != nil || string(got) != string(want) {
			t.Fatalf("error %v, got\n%s\nwant\n%s", err, got, want)
		}
	})
	content := map[string]any{}
	for i := range 40 {
		for _, format := range []string{"key%d", "key-%d", "%d", "tls.crt%d", "app.kubernetes.io/name%d", "Key_%d"} {
			content[fmt.Sprintf(format, i)] = int64(i)
		}
	}
	want, err := yamlv2.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Object{Unstructured: &unstructured.Unstructured{Object: content}}.YAML()
	if err != nil || string(got) != string(want) {
		t.Errorf("error %v, got\n%s\nwant\n%s", err, got, want)
	}
}
