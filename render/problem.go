package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is something that keeps an environment from being rendered.
type Problem struct {
	// File is the file to change, relative to the root, with slashes.
	File string `json:"file,omitempty"`
	// Line is the line to change, from 1; 0 where it is not known.
	Line int `json:"line,omitempty"`
	// Object is what the problem is with: "Kind namespace/name".
	Object string `json:"object,omitempty"`
	// Message says what is wrong and what to write instead.
	Message string `json:"message"`
}

// String is the problem on one line, like a compiler's.
func (p Problem) String() string {
	var parts []string
	if p.File != "" {
		position := p.File
		if p.Line > 0 {
			position = fmt.Sprintf("%s:%d", p.File, p.Line)
		}
		parts = append(parts, position)
	}
	if p.Object != "" {
		parts = append(parts, p.Object)
	}
	return strings.Join(append(parts, p.Message), ": ")
}

// sortProblems puts problems in the order of their files and lines, each once.
func sortProblems(problems []Problem) []Problem {
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Object, b.Object), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(problems)
}
