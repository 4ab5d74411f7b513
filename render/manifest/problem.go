package manifest

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/gatehouse/kind"
)

// Problem is an error, which keeps an environment from being rendered, or a warning, which does not.
type Problem struct {
	// File is the file to change, relative to the root, with slashes. One that is not in the tree has a name below
	// .fetched.
	File string `json:"file,omitempty"`
	// Line is the line to change, from 1; 0 if unknown.
	Line int `json:"line,omitempty"`
	// Object is the object with the problem: "Kind namespace/name".
	Object string `json:"object,omitempty"`
	// Field is the API server's path of the wrong field, such as spec.env[0].name; empty if the
	// problem is with the whole object.
	Field string `json:"field,omitempty"`
	// Code is the cause for programs, as in the API server's answer, see Codes. No program reads the Message.
	Code metav1.CauseType `json:"code,omitempty"`
	// Supported are the values that the API server accepts, if Code is FieldValueNotSupported.
	Supported []string `json:"-"`
	// Message names the mistake and the remedy.
	Message string `json:"message"`
	// Warning reports whether the problem is only a warning.
	Warning bool `json:"-"`
	// Cause is equal for problems of a Code that have one cause and differ in their messages, such as a missing
	// variable in many objects.
	Cause string `json:"-"`

	// Subject is the built object, if there is one.
	Subject Object `json:"-"`
	// Value is the field's value, which helps to find its line.
	Value Value `json:"-"`
}

// Value describes the value of a wrong field. The zero Value matches any.
type Value struct {
	// Is is the value itself, if it is a scalar.
	Is any
	// Type is the JSON type of the value, such as string or object, if nothing more is known.
	Type string
	// Contains is a part of a text, which may have several lines.
	Contains string
	// ShouldBeText reports whether the value is wrong because it is no text: quotes around it may do.
	ShouldBeText bool
}

// NewProblem returns a problem of an object, still without its file and line.
func NewProblem(o Object, field string, value Value, message string) Problem {
	return Problem{Object: o.String(), Field: field, Message: message, Subject: o, Value: value}
}

// As returns the problem with a code, unless it has one.
func (p Problem) As(code metav1.CauseType) Problem {
	p.Code = cmp.Or(p.Code, code)
	return p
}

// Because returns the problem with a cause that others share.
func (p Problem) Because(cause string) Problem {
	p.Cause = cause
	return p
}

// Each returns problems that change changed one by one.
func Each(problems []Problem, change func(Problem) Problem) []Problem {
	changed := make([]Problem, len(problems))
	for i, p := range problems {
		changed[i] = change(p)
	}
	return changed
}

// AllAs gives problems a code, unless they have one.
func AllAs(code metav1.CauseType, problems []Problem) []Problem {
	return Each(problems, func(p Problem) Problem { return p.As(code) })
}

// String formats the problem on one line, as compilers do. It escapes characters that would break
// the line or control a terminal.
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

// IsError reports whether the problem is not only a warning.
func (p Problem) IsError() bool { return !p.Warning }

// Position returns "file:line", or the file alone if the line is unknown.
func (p Problem) Position() string {
	name := p.File
	at := ""
	if parts := revised.FindStringSubmatch(name); parts != nil {
		if revision, err := url.PathUnescape(parts[1]); err == nil {
			name = parts[2]
			at = " at " + revision
		}
	}
	if p.Line > 0 {
		name = fmt.Sprintf("%s:%d", name, p.Line)
	}
	return name + at
}

// revised matches the name of a file at another revision of the repository.
var revised = regexp.MustCompile(`^\.fetched/[0-9a-f]+@([^/]+)/[^/]+/(.+)$`)

// RevisedFolder returns the name of the folder, among those of fetched files, that has the repository at a revision.
func RevisedFolder(commit, revision string) string {
	return commit[:min(len(commit), 12)] + "@" + url.PathEscape(revision)
}

// FirstOf lists the first names and counts the rest: "a, b, 3 more".
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

// SplitProblems separates errors from warnings. Neither result is nil.
func SplitProblems(problems []Problem) (errors, warnings []Problem) {
	errors = []Problem{}
	warnings = []Problem{}
	for _, p := range problems {
		if p.Warning {
			warnings = append(warnings, p)
		} else {
			errors = append(errors, p)
		}
	}
	return errors, warnings
}

// SortProblems returns the problems by file and line, without duplicates, each message on one line.
func SortProblems(problems []Problem) []Problem {
	problems = slices.Clone(problems)
	for i, p := range problems {
		problems[i].Message = lineBreaks.ReplaceAllString(drawings.ReplaceAllString(strings.TrimSpace(p.Message), ""),
			"; ")
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Object, b.Object), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(problems, func(a, b Problem) bool { return a.String() == b.String() })
}

// A library may write a message on several lines. CEL draws part of the expression below it, with an
// arrow at the position in the message.
var (
	drawings   = regexp.MustCompile(`(?m)\n \| .*$`)
	lineBreaks = regexp.MustCompile(`:?\s*\n\s*`)
)

// Duplicate returns the problem of an object that is also at another position.
func Duplicate(position string) Problem {
	return Problem{Code: DuplicateObject,
		Message: fmt.Sprintf("duplicate object: it is in %s as well; remove or rename one", position)}
}
