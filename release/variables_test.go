package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// The linker ignores variables that do not exist.
func TestLinkedVariablesExist(t *testing.T) {
	for _, variable := range []string{versionVariable, imageVariable, actionVariable} {
		within, _ := strings.CutPrefix(variable, "example.com/gatehouse/")
		folder, name, _ := strings.Cut(within, ".")
		files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(folder), "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("error %v: no files in %s", err, folder)
		}
		if !declare(t, files, name) {
			t.Errorf("no variable %s in %s", name, folder)
		}
	}
}

// declare reports whether files declare a string variable that the linker can set.
func declare(t *testing.T, files []string, name string) bool {
	t.Helper()
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			variables, ok := declaration.(*ast.GenDecl)
			if !ok || variables.Tok != token.VAR {
				continue
			}
			for _, spec := range variables.Specs {
				v := spec.(*ast.ValueSpec)
				if kind, ok := v.Type.(*ast.Ident); ok && kind.Name == "string" && v.Names[0].Name == name && len(v.Values) == 0 {
					return true
				}
			}
		}
	}
	return false
}
