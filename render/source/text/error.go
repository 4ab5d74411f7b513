package text

import (
	"errors"
	"regexp"
)

// Error is a problem at a line of a file, from 1.
type Error struct {
	Line    int
	message string
}

func (e Error) Error() string { return e.message }

// directive matches a line like %YAML 1.2 before a document.
var directive = regexp.MustCompile(`^(?:[ \t]*(?:#.*)?\r?\n)*%`)

// position matches the line in an error of the YAML library.
var position = regexp.MustCompile(`^yaml: (?:line \d+(?:: |, column \d+: )?)?| at line \d+$`)

// inFile returns an error of the document, or of the YAML library, as an Error with its line in the
// file.
func (d Document) inFile(err error) error {
	var at Error
	if errors.As(err, &at) {
		at.Line = d.fileLine(at.Line)
		return at
	}
	if start := directive.FindIndex(d.Content); start != nil {
		return Error{d.fileLine(d.lineOf(start[1])), "a directive like %YAML is not read: remove the line"}
	}
	at = d.mistake(err)
	return Error{d.fileLine(at.Line), "malformed YAML: " + at.message}
}
