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
	// Other is the line of the same key before, or 0.
	Other int
}

// otherLine stands for Other in a message.
const otherLine = "\x00"

func (e Error) Error() string {
	return strings.ReplaceAll(e.message, otherLine, strconv.Itoa(e.Other))
}

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
		if at.Other > 0 {
			at.Other = d.fileLine(at.Other)
		}
		return at
	}
	if start := directive.FindIndex(d.Content); start != nil {
		return Error{d.fileLine(d.lineOf(start[1])), "a directive like %YAML is not read: remove the line", 0}
	}
	at = d.mistake(err)
	return Error{d.fileLine(at.Line), "malformed YAML: " + at.message, 0}
}
