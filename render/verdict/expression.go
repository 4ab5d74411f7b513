package verdict

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/problem"
)

// A few bytes of regular expressions compile to programs that do not fit into memory: x{1000} is a
// program of 1000 instructions. They are measured before the API server's code compiles them.
const (
	maxProgram  = 100_000   // instructions of one regular expression
	maxPrograms = 1_000_000 // instructions of all
)

// checkExpressions returns a problem for each object of some group with regular expressions that are
// too large, in the schema of a CustomResourceDefinition or in an expression of CEL.
func checkExpressions(objects []manifest.Object, group string) map[int]manifest.Problem {
	problems, all := map[int]manifest.Problem{}, 0
	for i, o := range objects {
		if o.GroupVersionKind().Group != group {
			continue
		}
		largest, sum := programs(o)
		if largest > maxProgram {
			problems[i] = problem.OfObject(o, fmt.Sprintf("a regular expression compiles to over %d instructions: repeat less", maxProgram))
		} else if all += sum; all > maxPrograms && sum > 0 {
			problems[i] = problem.OfObject(o, fmt.Sprintf("the regular expressions of the environment compile to over %d instructions: repeat less", maxPrograms))
		}
	}
	return problems
}

// programs returns the instructions of the largest regular expression in an object, and of all.
func programs(o manifest.Object) (largest, sum int) {
	for key, value := range manifest.Values(o.Object) {
		text, _ := value.(string)
		size := 0
		switch key {
		case "pattern":
			size = programSize(text)
		case "rule", "expression", "messageExpression", "valueExpression":
			size = celProgramSize(text)
		}
		largest, sum = max(largest, size), min(sum+size, 1<<30)
	}
	return largest, sum
}

// programSize returns about as many instructions as a regular expression compiles to; none if it is
// invalid.
func programSize(pattern string) int {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	return instructions(parsed)
}

func instructions(r *syntax.Regexp) int {
	size := 1
	if r.Op == syntax.OpLiteral {
		size = len(r.Rune)
	}
	for _, sub := range r.Sub {
		size += instructions(sub)
	}
	if r.Op == syntax.OpRepeat {
		size *= max(r.Min, r.Max, 1)
	}
	return min(size, 1<<30)
}

// parser parses expressions of CEL without checking their types.
var parser = sync.OnceValues(func() (*cel.Env, error) { return cel.NewEnv() })

// celProgramSize returns the instructions of the regular expressions in an expression of CEL; none if
// it is invalid. Each literal may be one. An expression that joins literals may repeat all of them.
func celProgramSize(expression string) (size int) {
	env, err := parser()
	if err != nil {
		return 0
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		return 0
	}
	matches, joins, length := false, false, 0
	for _, e := range ast.MatchDescendants(ast.NavigateAST(parsed.NativeRep()), ast.AllMatcher()) {
		switch e.Kind() {
		case ast.CallKind:
			name := e.AsCall().FunctionName()
			matches = matches || slices.Contains(regexpFunctions, name)
			joins = joins || name == operators.Add || name == "join"
		case ast.LiteralKind:
			if text, ok := e.AsLiteral().(types.String); ok {
				size, length = min(size+programSize(string(text)), 1<<30), length+len(text)
			}
		}
	}
	const long, mostRepeats = 1000, 1000 // of the literals, and of the regexp package
	switch {
	case !matches:
		return 0
	case joins && length > long:
		return max(size, (length-long)*mostRepeats)
	}
	return size
}

// regexpFunctions are the functions with regular expressions.
var regexpFunctions = []string{"matches", "find", "findAll"}
