package flux

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: %s, number: 1}\n"

func read(t *testing.T, text string) []manifest.Object {
	t.Helper()
	objects, problems := tree.Objects("prod", []tree.File{{Content: []byte(text)}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return objects
}

func TestSubstituteIsOfFlux(t *testing.T) {
	b, err := Read([][]byte{[]byte("kind: ConfigMap\nmetadata: {name: v}\ndata: {A: good, TWO: \"2\", MAP: \"{b: 1}\", LINES: \"x\\ny\", EMPTY: \"\"}\n")})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ value, want, missing, err string }{
		"text":                {value: "x-${A}", want: `"x-good"`},
		"number":              {value: "${TWO}", want: "2"},
		"structure":           {value: "${MAP}", want: `{"b":1}`},
		"lines are joined":    {value: "${LINES}", want: `"xy"`},
		"default":             {value: "${NONE:=d}", want: `"d"`},
		"escaped":             {value: "$${A}", want: `"${A}"`},
		"doubled":             {value: "kill $$", want: `"kill $"`},
		"no variable":         {value: "$A", want: `"$A"`},
		"missing":             {value: "x${NONE}", want: `"x"`, missing: "NONE at data.k"},
		"several missing":     {value: "${NONE} ${A} ${OTHER:-x} ${MORE}", want: "good", missing: "NONE at data.k, MORE at data.k"},
		"bad syntax":          {value: "${A B}", err: "closing brace"},
		"a panic in envsubst": {value: "${A:1:9223372036854775807}", err: "envsubst.toSubstr panics"},
	} {
		o := read(t, fmt.Sprintf(configMap, `"`+test.value+`"`))[0]
		r := b.Substitute([]manifest.Object{o}, nil)[0]
		var missing []string
		for _, use := range r.Missing {
			missing = append(missing, use.Name+" at "+strings.Join(use.Field, "."))
		}
		if strings.Join(missing, ", ") != test.missing ||
			(r.Err != nil) != (test.err != "") || !strings.Contains(fmt.Sprint(r.Err), test.err) {
			t.Errorf("%s: missing %v, error %v", name, r.Missing, r.Err)
		}
		if test.err != "" {
			continue
		}
		if got := r.Unstructured.Object["data"].(map[string]any); got["number"] != int64(1) || !strings.Contains(toJSON(t, got["k"]), test.want) {
			t.Errorf("%s: %v, want %s", name, got, test.want)
		}
	}
}

func toJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := yaml.Marshal(map[string]any{"k": value})
	if err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSwitchedOffObjectsStay(t *testing.T) {
	b := &PostBuild{Values: map[string]string{"A": "x"}}
	for _, where := range []string{"labels", "annotations"} {
		text := strings.Replace(fmt.Sprintf(configMap, `"${A}"`), "name: a", "name: a, "+where+": {kustomize.toolkit.fluxcd.io/substitute: disabled}", 1)
		if r := b.Substitute(read(t, text), nil)[0]; r.IsSubstituted {
			t.Errorf("%s: %v", where, r)
		}
	}
	for value, want := range map[string]bool{"${A}": true, "$$": true, "$A": false} {
		o := read(t, fmt.Sprintf(configMap, `"`+value+`"`))[0]
		protected := Protect(o)
		if isProtected := protected.Unstructured != o.Unstructured; isProtected != want || b.Substitutes(protected) {
			t.Errorf("%s: %v", value, protected)
		}
	}
}

// By default Flux substitutes nothing without any value, not even defaults.
func TestNothingIsSubstitutedWithoutValues(t *testing.T) {
	for always, want := range map[bool]string{false: "${NONE:=d}", true: "d"} {
		b := &PostBuild{Values: map[string]string{}, Always: always}
		r := b.Substitute(read(t, fmt.Sprintf(configMap, `"${NONE:=d}"`)), nil)[0]
		if got := r.Unstructured.Object["data"].(map[string]any)["k"]; got != want {
			t.Errorf("always %t: %v, want %s", always, got, want)
		}
	}
}

// kustomize drops the quotes around a variable, so a value may break the object.
func TestCulpritIsTheValueThatBreaksYAML(t *testing.T) {
	b := &PostBuild{Values: map[string]string{"A": "fine", "TITLE": "north: depot"}}
	r := b.Substitute(read(t, fmt.Sprintf(configMap, `"${A}-${TITLE}"`)), nil)[0]
	if r.Err == nil || r.Culprit == nil || r.Culprit.Name != "TITLE" || strings.Join(r.Culprit.Field, ".") != "data.k" {
		t.Errorf("%v: %+v", r.Err, r.Culprit)
	}
	b.Values["TITLE"] = `"north: depot"`
	if r = b.Substitute(read(t, fmt.Sprintf(configMap, `"${TITLE}"`)), nil)[0]; r.Err != nil {
		t.Errorf("a value in quotes: %v", r.Err)
	}
}

func TestWithKnownLeavesOtherVariables(t *testing.T) {
	text := "'${A} ${OTHER} $${A} ${A:=x} ${A:-y} ${OTHER:=z} ${A/b/c} $A'"
	o, err := WithKnown(read(t, fmt.Sprintf(configMap, text))[0], map[string]string{"A": "v"})
	const want = "v ${OTHER} $${A} v v ${OTHER:=z} ${A/b/c} $A"
	if got := o.Object["data"].(map[string]any)["k"]; err != nil || got != want {
		t.Errorf("%v, want %s: %v", got, want, err)
	}
}

// It depends on the value of q whether the text is in quotes.
func TestWithKnownKeepsATextWithAnotherVariable(t *testing.T) {
	values := map[string]string{"LIST": "[ { name: a }, { name: b } ]", "N": "2"}
	o, err := WithKnown(read(t, fmt.Sprintf(configMap, `"${q:=}${LIST}${q:=}"`))[0], values)
	if got := o.Object["data"].(map[string]any)["k"]; err != nil || got != "${q:=}"+values["LIST"]+"${q:=}" {
		t.Errorf("%v: %v", got, err)
	}
	values["OUTER"] = "${q:=}[ { name: a } ]${q:=}"
	o, err = WithKnown(read(t, fmt.Sprintf(configMap, `"${OUTER:=${N}}"`))[0], values)
	if got := o.Object["data"].(map[string]any)["k"]; err != nil || got != values["OUTER"] {
		t.Errorf("%v: %v", got, err)
	}
	o, err = WithKnown(read(t, fmt.Sprintf(configMap, `"${N}"`))[0], values)
	if got := o.Object["data"].(map[string]any)["k"]; err != nil || got != int64(2) {
		t.Errorf("%v, want a number: %v", got, err)
	}
}

// N and yes are texts in YAML 1.2, as kustomize and the API server read it.
func TestReadTakesKeysAsTexts(t *testing.T) {
	b, err := Read([][]byte{[]byte("kind: ConfigMap\nmetadata: {name: v}\ndata: {N: a, yes: b, NO: c, on: d}\n")})
	if err != nil || fmt.Sprint(b.Values) != "map[N:a NO:c on:d yes:b]" {
		t.Errorf("%v: %v", b, err)
	}
	if _, err = Read([][]byte{[]byte("kind: ConfigMap\nmetadata: {name: v}\ndata: {N: 1}\n")}); err == nil {
		t.Error("reads a number")
	}
}

func TestReadRefusesNamesThatFluxRefuses(t *testing.T) {
	for name, want := range map[string]bool{"A_1": true, "_a": true, "1A": false, "a-b": false, "a.b": false} {
		if _, err := Read([][]byte{[]byte("kind: ConfigMap\nmetadata: {name: v}\ndata: {" + name + ": x}\n")}); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Small input that stands for more than fits into memory, or takes minutes, is an error.
func TestSubstituteBoundsGrowth(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	quoted := func(text string) string { return fmt.Sprintf(configMap, "'"+text+"'") }
	for name, test := range map[string]struct{ value, objects string }{
		"many in an object":     {long, quoted(strings.Repeat("${A}", 10_000))},
		"many objects":          {long, strings.Repeat(quoted("${A}")+"---\n", 1000)},
		"replaced characters":   {long, quoted("${A//x/${A}}")},
		"nested defaults":       {long, quoted(strings.Repeat("${B:-", 10_000) + "${A}" + strings.Repeat("}", 10_000))},
		"matched prefixes":      {long, quoted("${A##*x*x*x*x*y}")},
		"matched suffixes":      {long, quoted("${A%%y*x*x*x*x}")},
		"escapes":               {long, quoted(strings.Repeat("$$", 300_000))},
		"escapes in a function": {long, quoted("${A/" + strings.Repeat(`\/`, 250_000) + "/b}")},
		"dense YAML":            {"[" + strings.Repeat("a,", 50_000) + "]", fmt.Sprintf(configMap, "["+strings.Repeat("'${A}',", 25)+"]")},
	} {
		b, failed := &PostBuild{Values: map[string]string{"A": test.value}}, 0
		for _, r := range b.Substitute(read(t, test.objects), nil) {
			if r.Err != nil && strings.Contains(r.Err.Error(), "shorter values") {
				failed++
			}
		}
		if failed == 0 {
			t.Errorf("%s: no error", name)
		}
	}
	b := &PostBuild{Values: map[string]string{"A": "example.com"}}
	for _, r := range b.Substitute(read(t, strings.Repeat(quoted("${A//./-} ${A##*.} ${A%%.*} "+strings.Repeat("${A}", 100))+"---\n", 3000)), nil) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}
