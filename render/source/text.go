package source

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// byteOrderMark may start a file.
const byteOrderMark = "\ufeff"

// checkText returns an error for a character that YAML refuses, or reads as something else.
func (p piece) checkText() error {
	content := p.content
	if p.offset == 0 && !p.fixed {
		content = bytes.TrimPrefix(content, []byte(byteOrderMark))
	}
	if bytes.HasPrefix(content, []byte("\xff\xfe")) || bytes.HasPrefix(content, []byte("\xfe\xff")) {
		return lineError{line: 1, message: "the file is UTF-16: save it as UTF-8"}
	}
	line := 1
	for i := 0; i < len(content); {
		r, size := rune(content[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(content[i:])
		}
		if r == '\n' {
			line++
		}
		if wrong := wrongCharacter(r, size, content[i+size:]); wrong != "" {
			return lineError{line: line, message: wrong}
		}
		i += size
	}
	return nil
}

// wrongCharacter returns what is wrong with a character and the bytes after it, or "".
func wrongCharacter(r rune, size int, next []byte) string {
	switch {
	case r == '\u0085' || r == '\u2028' || r == '\u2029':
		return fmt.Sprintf(`the character U+%04X ends a line of YAML: write it as "\u%04x", in double quotes`, r, r)
	case r == '\r' && (len(next) == 0 || next[0] != '\n'):
		return `a carriage return alone ends a line of YAML: end lines with a line feed, or write it as "\r", in double quotes`
	case string(r) == byteOrderMark:
		return "a byte order mark is only for the start of a file: remove it"
	case r == utf8.RuneError && size == 1:
		return "is not UTF-8: save the file as UTF-8"
	case r < ' ' && r != '\n' && r != '\t' && r != '\r', r == 0x7f, 0x80 <= r && r < 0xa0, r == 0xfffe, r == 0xffff:
		return fmt.Sprintf(`the character U+%04X cannot be in YAML: remove it, or write it as "\u%04x", in double quotes`, r, r)
	}
	return ""
}

var (
	documentEnd = regexp.MustCompile(`(?m)^\.\.\.(?:[ \t\r].*)?$`)

	// badSeparator matches what kustomize takes for a separator of documents, and YAML does not.
	badSeparator = regexp.MustCompile(`(?m)^---[^ \t\r\n].*$`)
)

const afterEnd = "what follows ... is not read: start a document with ---"

// checkMarkers returns an error for text that markers of documents hide from kustomize.
func (p piece) checkMarkers() error {
	if first, _, _ := bytes.Cut(p.content, []byte("\n")); p.isAfterOther && !isBlank(first) {
		return lineError{line: 1, message: "a document starts on the line after ---: write what follows --- there"}
	}
	if at := badSeparator.FindIndex(p.content); at != nil && at[0] > 0 {
		return lineError{line: p.lineOf(at[0]), message: fmt.Sprintf("%s is no separator of documents: write --- alone, or indent it if it is text", clip(string(p.content[at[0]:at[1]])))}
	}
	end := documentEnd.FindIndex(p.content)
	if end == nil {
		return nil
	}
	if !isBlank(p.content[end[0]+len("...") : end[1]]) {
		return lineError{line: p.lineOf(end[0]), message: afterEnd}
	}
	for start := end[1]; start < len(p.content); {
		next := start + 1 + bytes.IndexByte(append(p.content[start+1:len(p.content):len(p.content)], '\n'), '\n')
		line := p.content[start+1 : next]
		if !isBlank(line) && !documentEnd.Match(line) {
			return lineError{line: p.lineOf(start + 1), message: afterEnd}
		}
		start = next
	}
	return nil
}

// lineOf returns the line of a byte of the piece, from 1.
func (p piece) lineOf(offset int) int { return 1 + bytes.Count(p.content[:offset], []byte("\n")) }

// isBlank reports whether a line is empty, or a comment.
func isBlank(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}

// directive matches a line like %YAML 1.2 before a document.
var directive = regexp.MustCompile(`^(?:[ \t]*(?:#.*)?\r?\n)*%`)

// explain replaces an error of the library by one that says what to write, where it can.
func (p piece) explain(err error) error {
	if at := directive.FindIndex(p.content); at != nil {
		return lineError{line: p.lineOf(at[1]), message: "a directive like %YAML is not read: remove the line"}
	}
	return err
}

// clip returns a text, or the start of one that is too long for a message.
func clip(text string) string {
	const most = 60
	text = strings.TrimSpace(text)
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
