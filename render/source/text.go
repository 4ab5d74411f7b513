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
	if p.first == 1 && !p.isQuoted {
		content = bytes.TrimPrefix(content, []byte(byteOrderMark))
	}
	for i := 0; i < len(content); {
		r, size := rune(content[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(content[i:])
		}
		if wrong := wrongCharacter(r, size, content[i+size:]); wrong != "" {
			return lineError{1 + bytes.Count(content[:i], []byte("\n")), wrong}
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

// checkMarkers returns an error for text that markers of documents hide from kustomize.
func (p piece) checkMarkers() error {
	if first, _, _ := bytes.Cut(p.content, []byte("\n")); p.isAfterOther && !isBlank(first) {
		return lineError{1, "a document starts on the line after ---: write what follows --- there"}
	}
	if at := badSeparator.FindIndex(p.content); at != nil && at[0] > 0 {
		return lineError{p.lineOf(at[0]), fmt.Sprintf("%s is no separator of documents: write --- alone, or indent it if it is text", clip(string(p.content[at[0]:at[1]])))}
	}
	at := documentEnd.FindIndex(p.content)
	if at == nil {
		return nil
	}
	line := p.lineOf(at[0])
	for text := range bytes.Lines(p.content[at[0]:]) {
		if !isBlank(bytes.TrimPrefix(text, []byte("..."))) {
			return lineError{line, "what follows ... is not read: start a document with ---"}
		}
		line++
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

// clip returns a text, or the start of one that is too long for a message.
func clip(text string) string {
	const most = 60
	text = strings.TrimSpace(text)
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
