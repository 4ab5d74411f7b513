package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// A condition names what is assigned in front of it, and no statement assigns more than two values but the results of a
// call: anything else is read twice.
func TestAssignmentsAreStatementsOfTheirOwn(t *testing.T) {
	files := token.NewFileSet()
	err := filepath.WalkDir("..", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		ast.Inspect(file, func(n ast.Node) bool {
			if isDense(n) {
				t.Errorf("%s: make each assignment a statement of its own", files.Position(n.Pos()))
			}
			return err == nil
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func isDense(n ast.Node) bool {
	switch s := n.(type) {
	case *ast.AssignStmt:
		return len(s.Rhs) > 2
	case *ast.IfStmt:
		return hides(s.Init, s.Cond)
	case *ast.TypeSwitchStmt:
		return hides(s.Init, s.Assign)
	case *ast.SwitchStmt:
		conditions := &ast.CallExpr{Fun: s.Tag, Args: []ast.Expr{}}
		if s.Tag == nil {
			conditions.Fun = ast.NewIdent("true")
		}
		for _, c := range s.Body.List {
			conditions.Args = append(conditions.Args, c.(*ast.CaseClause).List...)
		}
		return hides(s.Init, conditions)
	}
	return false
}

// hides reports whether a statement in front of a condition assigns, and the condition names nothing of it.
func hides(init ast.Stmt, condition ast.Node) bool {
	assigned, isAssignment := init.(*ast.AssignStmt)
	if !isAssignment {
		return false
	}
	for _, left := range assigned.Lhs {
		name, _, _ := strings.Cut(types.ExprString(left), "[")
		name = name[strings.LastIndexAny(name, ".*")+1:]
		for n := range ast.Preorder(condition) {
			if id, isName := n.(*ast.Ident); isName && id.Name == name {
				return false
			}
		}
	}
	return true
}
