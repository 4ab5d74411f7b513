package manifest

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"example.com/gatehouse/kind"
)

// Problem is something wrong with an environment: an error, which keeps it from being
// rendered, or a warning, which does not.
type Problem struct {
	// File is the file to change, relative to the root, with slashes.
	File string `json:"file,omitempty"`
	// Line is the line to change, from 1; 0 where it is not known.
	Line int `json:"line,omitempty"`
	// Object is what the problem is with: "Kind namespace/name".
	Object string `json:"object,omitempty"`
	// Field is the path of the field that is wrong, as the API server writes it:
	// spec.env[0].name. It is empty where the object as a whole is.
	Field string `json:"field,omitempty"`
	// Message says what is wrong and what to write instead.
	Message string `json:"message"`
	// Warning reports whether the environment is rendered nevertheless.
	Warning bool `json:"-"`

	// Subject is the object, where it is one that was built.
	Subject Object `json:"-"`
	// Value is what the field holds, by which its line is found.
	Value Value `json:"-"`
}

// Value is what is known of the value of a field that is wrong. The zero Value is
// that of any.
type Value struct {
	// Is is the value itself, where it is a scalar.
	Is any
	// Type is the JSON type of the value, like string or object, where no more than
	// that is known.
	Type string
}

// NewProblem returns a problem with an object, to be located.
func NewProblem(o Object, field string, value Value, message string) Problem {
	return Problem{Object: o.String(), Field: field, Message: message, Subject: o, Value: value}
}

// String returns the problem on one line, like a compiler's. Characters that would break the
// line, or control a terminal, are escaped: anybody may have written the names.
func (p Problem) String() string {
	var parts []string
	if p.File != "" {
		parts = append(parts, p.Position())
	}
	if p.Warning {
		parts = append(parts, "warning")
	}
	if p.Object != "" {
		parts = append(parts, p.Object)
	}
	return kind.Visible(strings.Join(append(parts, p.Message), ": "))
}

// IsError reports whether the problem keeps an environment from being rendered.
func (p Problem) IsError() bool { return !p.Warning }

// Position returns the file and line of the problem, like a compiler's.
func (p Problem) Position() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// FirstOf lists names, and counts those after the first few: "a, b, 3 more".
func FirstOf(most int, names []string) string {
	if more := len(names) - most; more > 0 {
		names = append(slices.Clip(names[:most]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// HasErrors reports whether any problem is an error.
func HasErrors(problems []Problem) bool {
	return slices.ContainsFunc(problems, Problem.IsError)
}

// SplitProblems returns errors and warnings apart, neither of them nil.
func SplitProblems(problems []Problem) (errors, warnings []Problem) {
	errors, warnings = []Problem{}, []Problem{}
	for _, p := range problems {
		if p.Warning {
			warnings = append(warnings, p)
		} else {
			errors = append(errors, p)
		}
	}
	return errors, warnings
}

// SortProblems puts problems in the order of their files and lines, each once and on one line.
func SortProblems(problems []Problem) []Problem {
	for i, p := range problems {
		problems[i].Message = lineBreaks.ReplaceAllString(drawings.ReplaceAllString(strings.TrimSpace(p.Message), ""), "; ")
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Object, b.Object), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(problems, func(a, b Problem) bool { return a.String() == b.String() })
}

// A library may write a message on several lines. CEL draws a piece of the expression below it, and
// an arrow at the position that the message names.
var (
	drawings   = regexp.MustCompile(`(?m)\n \| .*$`)
	lineBreaks = regexp.MustCompile(`:?\s*\n\s*`)
)

// Duplicate returns the problem of an object that is at another position as well.
func Duplicate(position string) Problem {
	return Problem{Message: fmt.Sprintf("duplicate object: it is in %s as well; remove or rename one", position)}
}
