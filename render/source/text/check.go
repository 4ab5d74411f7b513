package text

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/source/node"
)

// byteOrderMark may start a file.
const byteOrderMark = "\ufeff"

// checkCharacters returns an error for a character that YAML refuses, or reads as another.
func (d Document) checkCharacters() error {
	content := d.Content
	if d.first == 1 && !d.isQuoted {
		content = bytes.TrimPrefix(content, []byte(byteOrderMark))
	}
	for i := 0; i < len(content); {
		r := rune(content[i])
		size := 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(content[i:])
		}
		if wrong := checkCharacter(r, size, content[i+size:]); wrong != "" {
			return Error{1 + bytes.Count(content[:i], []byte("\n")), wrong, 0}
		}
		i += size
	}
	return nil
}

// checkCharacter returns the problem of a character before some bytes, or "".
func checkCharacter(r rune, size int, next []byte) string {
	switch {
	case r == '\u0085' || r == '\u2028' || r == '\u2029':
		return fmt.Sprintf(`the character U+%04X ends a line of YAML: write it as "\u%04x", in double quotes`, r, r)
	case r == '\r' && (len(next) == 0 || next[0] != '\n'):
		return `a carriage return alone ends a line of YAML: end lines with a line feed, or write it as "\r", in ` +
			`double quotes`
	case string(r) == byteOrderMark:
		return "a byte order mark is only for the start of a file: remove it"
	case r == utf8.RuneError && size == 1:
		return "is not UTF-8: save the file as UTF-8"
	case r == 0:
		return "the character U+0000 cannot be in YAML: remove it, or save the file as UTF-8 if it is in UTF-16"
	case r < ' ' && r != '\n' && r != '\t' && r != '\r', r == 0x7f, 0x80 <= r && r < 0xa0, r == 0xfffe, r == 0xffff:
		return fmt.Sprintf(
			`the character U+%04X cannot be in YAML: remove it, or write it as "\u%04x", in double quotes`, r, r)
	}
	return ""
}

var (
	documentEnd = regexp.MustCompile(`(?m)^\.\.\.(?:[ \t\r].*)?$`)

	// badSeparator matches a line that separates documents for kustomize, and not in YAML.
	badSeparator = regexp.MustCompile(`(?m)^---[^ \t\r\n].*$`)
)

// checkMarkers returns an error for text that document markers hide from kustomize.
func (d Document) checkMarkers() error {
	if first, _, _ := bytes.Cut(d.Content, []byte("\n")); d.follows && !isBlank(first) {
		return Error{1, "a document starts on the line after ---: write what follows --- there", 0}
	}
	if at := badSeparator.FindIndex(d.Content); at != nil && at[0] > 0 {
		return Error{d.lineOf(at[0]),
			fmt.Sprintf("%s is no separator of documents: write --- alone, or indent it if it is text",
				Clip(string(d.Content[at[0]:at[1]]))), 0}
	}
	at := documentEnd.FindIndex(d.Content)
	if at == nil {
		return nil
	}
	line := d.lineOf(at[0])
	for text := range bytes.Lines(d.Content[at[0]:]) {
		if !isBlank(bytes.TrimPrefix(text, []byte("..."))) {
			return Error{line, "what follows ... is not read: start a document with ---", 0}
		}
		line++
	}
	return nil
}

// checkKeys returns an error for a key that a mapping has twice, or that is not text.
func (d Document) checkKeys(n *yaml.Node) error {
	lines := make(map[string]int, len(n.Content)/2)
	for i, child := range n.Content {
		if err := d.checkKeys(child); err != nil {
			return err
		}
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			continue
		}
		switch key := node.Deref(child); {
		case key.Kind != yaml.ScalarNode:
			return Error{child.Line,
				"malformed YAML: a key has to be text, not a list or mapping; a template like {{ a }} needs quotes", 0}
		case node.IsNull(key):
			return Error{child.Line,
				fmt.Sprintf("malformed YAML: the key %q is nothing, and keys are text: put it in quotes", key.Value), 0}
		case lines[key.Value] > 0:
			return Error{child.Line,
				fmt.Sprintf("malformed YAML: the key %q is in line "+otherLine+" as well: remove one, or write - "+
					"before the first key of a list item, or --- between objects", key.Value), lines[key.Value]}
		default:
			lines[key.Value] = key.Line
		}
	}
	return nil
}

// conflict matches the lines of a merge conflict of git. In text, ======= alone may underline a heading.
var conflict = regexp.MustCompile(
	`(?ms)^<{7}(?:[ \t][^\n]*)?\r?$.*?^={7}(?:[ \t][^\n]*)?\r?$.*?^>{7}(?:[ \t][^\n]*)?\r?$`)

// Conflicts returns the first line, from 1, of each merge conflict.
func Conflicts(content []byte) (lines []int) {
	if !bytes.Contains(content, []byte("<<<<<<<")) { // faster than the expression
		return nil
	}
	for _, at := range conflict.FindAllIndex(content, -1) {
		lines = append(lines, 1+bytes.Count(content[:at[0]], []byte("\n")))
	}
	return lines
}

// Clip returns a text on one line, shortened for a message.
func Clip(text string) string {
	const most = 60
	text = strings.TrimSpace(strings.ReplaceAll(text, "\n", " "))
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// maxDepth bounds the nesting of a document. Kubernetes objects do not come near.
const maxDepth = 200

// checkNesting returns an error for a node, below others, that is nested too deep, or that has an alias of a node
// around it: to expand it would not end. The error is an Error.
func checkNesting(n *yaml.Node, above []*yaml.Node) error {
	switch {
	case n.Kind == yaml.AliasNode && slices.Contains(above, n.Alias):
		return Error{n.Line,
			fmt.Sprintf("the alias *%s is inside the value of its own anchor: write the value out", n.Value), 0}
	case len(above) > maxDepth:
		return Error{n.Line, fmt.Sprintf("nested over %d levels deep: no object of Kubernetes is", maxDepth), 0}
	}
	for _, child := range n.Content {
		if err := checkNesting(child, append(above, n)); err != nil {
			return err
		}
	}
	return nil
}

var (
	// escapeError matches the errors of yaml.v3 about escapes in double quotes.
	escapeError = regexp.MustCompile(`unknown escape character|invalid Unicode character escape|hexdecimal number`)

	// escaped matches a surrogate pair or another escape, with a backslash that is escaped itself.
	escaped = regexp.MustCompile(`\\(?:u[dD][89abAB][[:xdigit:]]{2}\\u[dD][c-fC-F][[:xdigit:]]{2}|` +
		`[uUx][[:xdigit:]]{0,8}|.)`)

	// known matches the escapes of YAML, as kustomize reads it.
	known = regexp.MustCompile(`^\\(?:x[[:xdigit:]]{2}|u[[:xdigit:]]{4}|U[[:xdigit:]]{8}|[0abt\tnvfre "'\\N_LP])`)

	surrogate = regexp.MustCompile(`^\\u([dD][89a-fA-F][[:xdigit:]]{2})(?:\\u([[:xdigit:]]{4}))?`)
)

// badEscape returns the line of the escape that an error is about, from 0, and its correction; "" if the error is
// about something else.
func badEscape(lines []string, last int, err error) (line int, wrong string) {
	if !escapeError.MatchString(err.Error()) {
		return 0, ""
	}
	for line = last; line >= 0; line-- {
		for _, e := range escaped.FindAllString(lines[line], -1) {
			if wrong := correctEscape(e); wrong != "" {
				return line, wrong
			}
		}
	}
	return 0, ""
}

// correctEscape returns the correction of an escape that YAML lacks, or "".
func correctEscape(e string) string {
	if half := surrogate.FindStringSubmatch(e); half != nil {
		first, _ := strconv.ParseInt(half[1], 16, 32)
		second, _ := strconv.ParseInt(half[2], 16, 32)
		if r := utf16.DecodeRune(rune(first), rune(second)); r != '\ufffd' {
			return "YAML has no escape " + e + ", which JSON has: write the character itself, " + string(r)
		}
		return "the escape " + e[:6] + " is half a character: write the character itself"
	}
	switch {
	case e == `\/`:
		return `YAML has no escape \/, which JSON has: write / alone`
	case known.MatchString(e):
		return ""
	case strings.ContainsAny(e[1:2], "xuU"):
		return "the escape " + e + " has too few digits: write \\x with two, \\u with four or \\U with eight"
	}
	return "YAML has no escape " + e + ": write \\" + e + " for a backslash, or put the text in single quotes"
}
