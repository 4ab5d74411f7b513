package page

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
)

// table is a table in Markdown. The name of a column that is aligned to the right ends in a
// colon.
type table struct {
	columns []string
	rows    [][]string
}

// addRest adds a row that says how many of all things have no row.
func (t *table) addRest(all int, things string) {
	if all > len(t.rows) {
		t.rows = append(t.rows, []string{fmt.Sprintf("and %d more %s", all-len(t.rows), things)})
	}
}

func (t *table) write(page *bytes.Buffer) {
	names, lines := make([]string, len(t.columns)), make([]string, len(t.columns))
	for i, column := range t.columns {
		name, isNumber := strings.CutSuffix(column, ":")
		names[i], lines[i] = name, "---"
		if isNumber {
			lines[i] = "---:"
		}
	}
	writeRow(page, names)
	writeRow(page, lines)
	for _, row := range t.rows {
		writeRow(page, append(row, make([]string, len(t.columns)-len(row))...))
	}
}

func writeRow(page *bytes.Buffer, cells []string) {
	page.WriteString("|")
	for _, cell := range cells {
		if cell != "" {
			page.WriteString(" " + cell)
		}
		page.WriteString(" |")
	}
	page.WriteString("\n")
}

// plainWord matches names that have no meaning to Markdown.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`)

// revision matches names that a host may take for a commit.
var revision = regexp.MustCompile(`^[0-9a-f]{7,40}$`)

// isWord reports whether a name means nothing to Markdown and its hosts.
func isWord(name string) bool { return plainWord.MatchString(name) && !revision.MatchString(name) }

// word returns a name in Markdown: as code if it might be anything but text.
func word(name string) string {
	if isWord(name) {
		return name
	}
	return code(name)
}

// markup has what means something to Markdown or HTML within a line, and a line break.
var markup = regexp.MustCompile("[\\\\`*_\\[\\]<>|&]")

// escape returns text in Markdown.
func escape(text string) string {
	return strings.ReplaceAll(printable(markup.ReplaceAllString(text, `\$0`), '\n'), "\n", "<br>")
}

// printable returns text with the characters escaped that break the line or direct a reader's
// eyes elsewhere.
func printable(text string, keep ...rune) string {
	const emoji = '\ufe0f' // what makes a symbol one
	return kind.Visible(text, append(keep, emoji)...)
}

func bold(text string) string { return "**" + text + "**" }

// maxCode bounds the length of what is shown as code, in characters.
const maxCode = 72

// code returns text as code in the cell of a table. Long text is cut.
func code(text string) string {
	text = cut(printable(cut(strings.TrimSpace(text), maxCode)), maxCode)
	if text == "" {
		return "(blank)"
	}
	return manifest.CodeSpan(text)
}

// cut returns text of at most so many characters.
func cut(text string, length int) string {
	if utf8.RuneCountInString(text) <= length {
		return text
	}
	return string([]rune(text)[:length-1]) + "…"
}

func count(n int, noun string) string { return string(kind.Count(int64(n), noun)) }
