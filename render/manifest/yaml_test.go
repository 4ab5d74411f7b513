package manifest

import (
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
	sigsyaml "sigs.k8s.io/yaml"
)

func checkYAML(t interface {
	Helper()
	Fatalf(string, ...any)
}, content map[string]any) {
	t.Helper()
	want, err := yaml.Marshal(content)
	if err != nil {
		t.Fatalf("%v", err)
	}
	got, err := Object{Unstructured: &unstructured.Unstructured{Object: content}}.YAML()
	if err != nil || string(got) != string(want) {
		t.Fatalf("error %v, got\n%s\nwant\n%s", err, got, want)
	}
}

func TestYAMLOfRenderedFilesIsTheLibrarys(t *testing.T) {
	files, err := filepath.Glob("../../rendered/*/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b, err := sigsyaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		var content map[string]any
		if err := json.Unmarshal(b, &content); err != nil {
			t.Fatal(err)
		}
		checkYAML(t, content)
	}
}

func TestYAMLOfAnyObjectIsTheLibrarys(t *testing.T) {
	words := rapid.SampledFrom([]string{
		"a", "b", "aa", "a-b", "a.b", "a/b", "a_b", "A", "B1", "a1", "a10", "a2", "y", "No", "on", "null", "~", "", " ", "a b", "a  b", "a ", " a", "-", "--", "---", "-a", "--a=b", "-1", "- a",
		"a:b", "a: b", "a:", ":a", "a#b", "a #b", "#a", "1", "1.5", "1e3", "0x1", "1_000", "1:20", "150Mi", "500m", "1Gi", "12:30:45", "2027-01-01", "2027-01-01T00:00:00Z", ".inf", "-.inf", ".5", "<<", "=", "a=b", "=a",
		"{a}", "[a]", "a,b", "'a'", "\"a\"", "&a", "*a", "!a", "|", ">", "%a", "@a", "a@b", "`a", "?a", "? a", "a\nb", "a\n", "\ta", "é", "日本", "\U0001F600", "a\u0085b", "\x00", "/", "/a", "http://a/b?c=d", "memcached:1.6.26-alpine3.19",
		"a long text of many words, longer than the eighty columns of a line, which the library folds at a space",
		"a-long-text-without-a-space-longer-than-the-eighty-columns-of-a-line-which-no-library-folds-anywhere-at-all",
	})
	strings := rapid.OneOf(words, rapid.String(), rapid.StringMatching(`[-a-zA-Z0-9:/._=@+ ]{0,90}`), rapid.StringMatching(`[0-9]{1,25}`), rapid.StringMatching(`20[0-9]{2}-[01][0-9]-[0-3][0-9]T[012][0-9]:[0-5][0-9]:[0-6][0-9](\.[0-9]{1,10})?(Z|[-+][012][0-9]:[0-5][0-9])`))
	simple := rapid.OneOf(
		rapid.SampledFrom([]string{"", "a", "y", "No", "on", "null", "80", "080", "1.5", "1e3", "0x1F", "0b1", "10m", "32Mi", "1:20", "-", "--a=b", "-- a", "--", "-m", "- a", "-1", ".5", ".inf", "---a", "/", "/a", "@a", ",a", "=a", ":a", "a:b", "a, b",
			"2027-01-01", "2027-01-01T00:00:00Z", "12:30:45", "nginx:1.27", "$(POD_IP):80", "it's", `say "a"`, "a?", "[a]", "{{a}}", "*", "&a", "!a", "%a", "~", "a~", "|", ">a"}),
		rapid.StringMatching(`[a-z]{1,12}( [a-z]{1,12}){0,12}`),
		rapid.StringMatching(`[!-~]{1,6}`),
		rapid.StringMatching(`[-a-zA-Z0-9:/._]{0,90}`),
	)
	for _, texts := range []*rapid.Generator[string]{strings, simple} {
		rapid.Check(t, func(t *rapid.T) { checkYAML(t, anyMapping(texts).Draw(t, "object")) })
	}
}

// anyMapping draws a mapping with texts. The library's order of other keys is random, see sortedKeys.
func anyMapping(texts *rapid.Generator[string]) *rapid.Generator[map[string]any] {
	var value *rapid.Generator[any]
	mapping := rapid.MapOfN(rapid.StringMatching(`[a-zA-Z][a-zA-Z0-9./_-]{0,9}`), rapid.Deferred(func() *rapid.Generator[any] { return value }), 0, 5)
	value = rapid.OneOf(
		rapid.Map(texts, func(s string) any { return s }),
		rapid.Map(rapid.Int64(), func(i int64) any { return i }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Float64(), func(f float64) any { return f }),
		rapid.Just[any](nil),
		rapid.Map(mapping, func(m map[string]any) any { return m }),
		rapid.Map(rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return value }), 0, 4), func(s []any) any { return s }),
	)
	return mapping
}
