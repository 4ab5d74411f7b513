package text

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// Error is a problem at a line of a file, from 1.
type Error struct {
	Line    int
	message string
}

func (e Error) Error() string { return e.message }

// directive matches a line like %YAML 1.2 before a document.
var directive = regexp.MustCompile(`^(?:[ \t]*(?:#.*)?\r?\n)*%`)

// inFile returns an error of the document, or of the YAML library, as an Error with its line in the
// file.
func (d Document) inFile(err error) error {
	var at Error
	if start := directive.FindIndex(d.Content); errors.As(err, &at) {
		at.Line = d.fileLine(at.Line)
	} else if start != nil {
		at = Error{d.fileLine(d.lineOf(start[1])), "a directive like %YAML is not read: remove the line"}
	} else {
		at = Error{d.fileLine(d.errorLine(err)), "malformed YAML: " + yamlMessage(err)}
	}
	return at
}

var (
	position      = regexp.MustCompile(`line (\d+)(: |, column \d+: )?`)
	unknownAnchor = regexp.MustCompile(`unknown anchor '([^']+)' referenced`)

	// otherLine matches a second position in an error of the YAML library.
	otherLine = regexp.MustCompile(` at line \d+$`)
)

// errorLine returns the line of an error of the YAML library, from 1. The library gives no line for
// an unknown alias, and for the first line.
func (d Document) errorLine(err error) int {
	if match := position.FindStringSubmatch(err.Error()); match != nil {
		line, _ := strconv.Atoi(match[1])
		return line
	}
	if anchor := unknownAnchor.FindStringSubmatch(err.Error()); anchor != nil {
		alias := regexp.MustCompile(`(?m)^(?:[^#\n]*[ \t\[{,:])?\*` + regexp.QuoteMeta(anchor[1]) + `(?:[\s\]},]|$)`)
		if at := alias.FindIndex(d.Content); at != nil {
			return d.lineOf(at[0])
		}
	}
	return 1
}

// yamlMessage returns an error of the YAML library without its positions, as these are not in the
// file.
func yamlMessage(err error) string {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if at := position.FindStringIndex(message); at != nil && at[0] == 0 {
		message = message[at[1]:]
	}
	return otherLine.ReplaceAllString(message, "")
}
