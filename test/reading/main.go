// The command reading reports assignments that cost a second reading: in an if statement whose condition names
// nothing of what it assigns, and of three values at once, unless they are the results of a call or change places.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"
)

func main() {
	files := token.NewFileSet()
	status := 0
	for _, name := range os.Args[1:] {
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		for _, p := range problems(files, file) {
			fmt.Println(p)
			status = 1
		}
	}
	os.Exit(status)
}

// problems returns the problems of a file, each with its position.
func problems(files *token.FileSet, file *ast.File) (found []string) {
	report := func(at ast.Node, message string) {
		found = append(found, fmt.Sprintf("%s: %s", files.Position(at.Pos()), message))
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			if init, is := n.Init.(*ast.AssignStmt); is && !namesAny(n.Cond, init.Lhs) {
				report(n, "the condition names nothing of what it assigns: assign before it")
			}
		case *ast.AssignStmt:
			if len(n.Lhs) > 2 && len(n.Rhs) > 2 && !slices.Equal(spelled(n.Lhs), spelled(n.Rhs)) {
				report(n, "assigns several values at once: write a line for each")
			}
		}
		return true
	})
	return found
}

// namesAny reports whether a condition has the name of a variable or field that is assigned.
func namesAny(condition ast.Expr, assigned []ast.Expr) (names bool) {
	all := make([]string, 0, len(assigned))
	for _, e := range assigned {
		if index, is := e.(*ast.IndexExpr); is {
			e = index.X
		}
		if selector, is := e.(*ast.SelectorExpr); is {
			e = selector.Sel
		}
		all = append(all, types.ExprString(e))
	}
	ast.Inspect(condition, func(n ast.Node) bool {
		name, is := n.(*ast.Ident)
		names = names || is && slices.Contains(all, name.Name)
		return true
	})
	return names
}

// spelled returns expressions as texts, sorted.
func spelled(expressions []ast.Expr) (all []string) {
	for _, e := range expressions {
		all = append(all, strings.TrimSpace(types.ExprString(e)))
	}
	slices.Sort(all)
	return all
}
