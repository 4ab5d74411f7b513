package command

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/manifest"
)

// TestCausesAreLines shows the order of problems, and that one cause is one line.
func TestCausesAreLines(t *testing.T) {
	at := func(file string, code metav1.CauseType, message string, more ...func(*manifest.Problem)) manifest.Problem {
		p := manifest.Problem{File: file, Line: 1, Code: code, Message: message}
		for _, change := range more {
			change(&p)
		}
		return p
	}
	warning := func(p *manifest.Problem) { p.Warning = true }
	because := func(p *manifest.Problem) { p.Cause = "x" }
	field := func(object, path string) func(*manifest.Problem) {
		return func(p *manifest.Problem) { p.Object, p.Field = object, path }
	}
	secret := func(p *manifest.Problem) {
		p.Subject.Unstructured = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	}
	var many []manifest.Problem
	for i := range 9 {
		many = append(many, at(fmt.Sprintf("%d.yaml", i), manifest.MissingNamespace, fmt.Sprint("no Namespace ", i), warning, because))
	}
	const (
		forbidden = metav1.CauseTypeForbidden
		required  = metav1.CauseTypeFieldValueRequired
	)
	for name, test := range map[string]struct {
		all                   []found
		want, inPipe, verbose string
	}{
		"one cause": {[]found{{"a", many}}, "0.yaml:1: warning: no Namespace 0; 8 more: 1.yaml:1, 2.yaml:1, 3.yaml:1, …",
			"0.yaml:1: warning: no Namespace 0; 8 more: 1.yaml:1, 2.yaml:1, 3.yaml:1, …", ""},
		"of several environments": {[]found{{"a", many[:2]}, {"b", many[1:3]}},
			"0.yaml:1: warning: no Namespace 0; 2 more: 1.yaml:1, 2.yaml:1", "", "0.yaml:1: warning: no Namespace 0\n1.yaml:1: warning: no Namespace 1\n2.yaml:1: warning: no Namespace 2"},
		"errors first, by haste": {[]found{
			{"fine", []manifest.Problem{at("w", "Other", "w", warning)}},
			{"wrong", []manifest.Problem{at("v", "Other", "v", warning), at("d", manifest.InvalidKustomization, "d"),
				at("c", manifest.DuplicateObject, "c"), at("b", forbidden, "b", secret), at("a", required, "a")}},
		}, "a:1: a\nb:1: b\nc:1: c\nd:1: d\nv:1: warning: v\nw:1: warning: w", "", ""},
		"fields of items": {[]found{{"a", []manifest.Problem{
			at("a", required, "one", field("Pod a", "spec.containers[0].image")),
			at("a", required, "two", field("Pod a", "spec.containers[1].image")),
			at("b", required, "three", field("Pod b", "spec.containers[0].image")),
			at("c", required, "three", field("Pod c", "spec.containers[0].image")),
			at("c", required, "four", field("Pod c", "spec.containers[0].name")),
		}}}, "a:1: Pod a: one; 1 more\nb:1: Pod b: three; 1 more: c:1\nc:1: Pod c: four",
			"a:1: Pod a: one\na:1: Pod a: two\nb:1: Pod b: three\nc:1: Pod c: three\nc:1: Pod c: four", ""},
		"objects of one line": {[]found{{"a", []manifest.Problem{at("a", required, "m", field("Pod a/x", "spec")),
			at("a", required, "m", field("Pod b/x", "spec")), at("b", required, "m", field("Pod c/x", "spec"))}}},
			"a:1: Pod a/x: m; 2 more: Pod b/x, b:1", "a:1: Pod a/x: m; 1 more: Pod b/x\nb:1: Pod c/x: m", ""},
		"an error and a warning": {[]found{{"a", []manifest.Problem{at("a", required, "m", warning), at("b", required, "m")}}},
			"b:1: m\na:1: warning: m", "", ""},
		"other messages": {[]found{{"a", []manifest.Problem{at("a", required, "m"), at("a", required, "n")}}}, "a:1: m\na:1: n", "", ""},
	} {
		for by, want := range map[grouping]string{alike: test.want, byCause: test.inPipe, each: test.verbose} {
			var out strings.Builder
			printCauses(&out, causesOf(test.all, by))
			if got := strings.TrimSpace(out.String()); want != "" && got != want {
				t.Errorf("%s, grouping %d: got\n%s\nwant\n%s", name, by, got, want)
			}
		}
	}
}

// Long lines break at the width of a terminal, and later lines are indented.
func TestLinesBreakAtTheWidth(t *testing.T) {
	text := wrapped(strings.Repeat("word ", 30)+"a/path/without/spaces/that/is/longer/than/the/line", 40)
	for line := range strings.Lines(text) {
		if len(line) > 41 && !strings.Contains(line, "/") {
			t.Errorf("%d characters: %s", len(line), line)
		}
	}
	if strings.Count(text, "\n    ") < 4 {
		t.Error(text)
	}
}
