package main

import (
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

func TestProblemsAreOfHiddenAndOfTripleAssignments(t *testing.T) {
	for statement, want := range map[string]string{
		"if v, ok := m[k]; ok {}":             "",
		"if err := f(); err != nil {}":        "",
		"if p.File = x; p.File == y {}":       "",
		"if m[k] = v; len(m) > 1 {}":          "",
		"if p.File = x; isWritten {}":         "the condition names nothing of what it assigns: assign before it",
		"if err == nil { err = f() }":         "",
		"a, b := 1, 2":                        "",
		"a, b, c := f()":                      "",
		"a, b, c = c, a, b":                   "",
		"a, b, c := 1, 2, 3":                  "assigns several values at once: write a line for each",
		"for { p.a, p.b, p.c = x, nil, f() }": "assigns several values at once: write a line for each",
	} {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, "a.go", "package p\n\nfunc _() {\n"+statement+"\n}\n", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(problems(files, file), "\n")
		if _, message, _ := strings.Cut(got, ": "); message != want || want != "" && !slices.Contains(strings.Split(got, ":"), "4") {
			t.Errorf("%s: %q, want %q", statement, got, want)
		}
	}
}
