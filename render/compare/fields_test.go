package compare

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestFieldsAreNamedWithTheirValues(t *testing.T) {
	tests := map[string]struct{ before, after, want string }{
		"scalars":               {"{a: 1, b: x, c: true}", "{a: 2, b: z, c: false}", "a: 1 → 2, b: x → z, c: true → false"},
		"set and unset":         {"{a: 1, c: {d: 1}}", "{b: x, e: {f: [x]}}", "a: 1 → unset, b: unset → x, c: {\"d\":1} → unset, e.f[0]: unset → x"},
		"keys with dots":        {"{m: {a.b/c: x}}", "{m: {a.b/c: z}}", "m[a.b/c]: x → z"},
		"items by name":         {"{l: [{name: a, v: 1}, {name: b, v: 1}]}", "{l: [{name: a, v: 1}, {name: b, v: 2}, {name: c}]}", "l[b].v: 1 → 2, l[c].name: unset → c"},
		"a removed item":        {"{l: [{name: a, v: 1}, {name: b}]}", "{l: [{name: a, v: 1}]}", "l[b]: {\"name\":\"b\"} → unset"},
		"the order of names":    {"{l: [{name: a}, {name: b}]}", "{l: [{name: b}, {name: a}]}", `l: ["a","b"] → ["b","a"]`},
		"a name twice":          {"{l: [{name: a, v: 1}, {name: a, v: 2}]}", "{l: [{name: a, v: 1}, {name: a, v: 3}]}", "l[1].v: 2 → 3"},
		"an item in the middle": {"{l: [a, b, c]}", "{l: [a, x, b, c]}", "l[1]: unset → x"},
		"an item less":          {"{l: [a, b, c]}", "{l: [a, c]}", "l[1]: b → unset"},
		"other items":           {"{l: [a, b]}", "{l: [c, d, e]}", "l[0]: a → unset, l[0]: unset → c, l[1]: b → unset, l[1]: unset → d, l[2]: unset → e"},
		"the order of items":    {"{l: [a, b]}", "{l: [b, a]}", "l[0]: a → b, l[1]: b → a"},
		"another type":          {"{a: {b: 1}, c: [1]}", "{a: [1], c: x}", "a: {\"b\":1} → [1], c: [1] → x"},
		"empty values":          {"{}", "{a: {}, b: [], c: ''}", "a: unset → {}, b: unset → [], c: unset → "},
		"null":                  {"{a: null, b: null, c: [x, null], d: {e: null}}", "{a: 1, c: [x], d: {}, f: null}", "a: null → 1, b: null → unset, c[1]: null → unset, d.e: null → unset, f: unset → null"},
		"null and a text":       {"{a: null, b: x}", "{a: 'null', b: null}", `a: null → "null", b: x → null`},
		"null and a branch":     {"{a: null, b: [null]}", "{a: {c: 1}, b: [null, {name: null}]}", `a: null → {"c":1}, b[1].name: unset → null`},
		"a number and a text":   {"{a: 80, b: '1.10', c: 'true', d: 1}", "{a: '80', b: 1.1, c: true, d: http}", `a: 80 → "80", b: "1.10" → 1.1, c: "true" → true, d: 1 → http`},
		"a branch and its text": {"{a: {b: 1}, c: '[1]'}", `{a: '{"b":1}', c: [1]}`, `a: {"b":1} → "{\"b\":1}", c: "[1]" → [1]`},
		"the text unset":        {"{a: x}", "{a: unset, b: unset}", `a: x → unset, b: unset → "unset"`},
		"a Secret":              {"{apiVersion: v1, kind: Secret, data: {a: x, b: y}}", "{apiVersion: v1, kind: Secret, data: {a: z, c: y}}", "data.a: *** (before) → *** (after), data.b: *** → unset, data.c: unset → ***"},
	}
	for name, test := range tests {
		c := Change{Before: parseObject(t, test.before), After: parseObject(t, test.after)}
		var got []string
		for _, f := range c.Fields() {
			got = append(got, f.Path+": "+orUnset(f.Before)+" → "+orUnset(f.After))
		}
		if joined := strings.Join(got, ", "); joined != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, joined, test.want)
		}
	}
}

func parseObject(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func orUnset(value *string) string {
	if value == nil {
		return "unset"
	}
	return *value
}
