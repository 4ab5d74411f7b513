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

// column is a column of a Markdown table.
type column struct {
	title    string
	isNumber bool // aligns the cells to the right
	cells    []string
	totals   map[string]string // by namespace; "" for all
}

// newColumn returns a column with a cell for each of the values, up to maxRows.
func newColumn[T any](title string, values []T, cell func(T) string) column {
	c := column{title: title}
	for _, value := range values[:min(len(values), maxRows)] {
		c.cells = append(c.cells, cell(value))
	}
	return c
}

// writeTable writes a table with up to maxRows of all rows, and a row of totals if there are any.
func writeTable(page *bytes.Buffer, all int, things string, columns []column) {
	row := func(cell func(c column) string) {
		page.WriteString("|")
		for _, c := range columns {
			if text := cell(c); text != "" {
				page.WriteString(" " + text)
			}
			page.WriteString(" |")
		}
		page.WriteString("\n")
	}
	row(func(c column) string { return c.title })
	row(func(c column) string {
		if c.isNumber {
			return "---:"
		}
		return "---"
	})
	for i := range min(all, maxRows) {
		row(func(c column) string { return c.cells[i] })
	}
	if all > maxRows {
		fmt.Fprintf(page, "| and %d more %s |%s\n", all-maxRows, things, strings.Repeat(" |", len(columns)-1))
	}
	if columns[0].totals != nil {
		row(func(c column) string { return bold(c.totals[""]) })
	}
}

// plainWord matches names without special meaning in Markdown.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`)

// revision matches names that a host may link as commits.
var revision = regexp.MustCompile(`^[0-9a-f]{7,40}$`)

// isWord reports whether Markdown and its hosts show a name as it is.
func isWord(name string) bool { return plainWord.MatchString(name) && !revision.MatchString(name) }

// word returns a name in Markdown, as code unless isWord.
func word(name string) string {
	if isWord(name) {
		return name
	}
	return code(name)
}

// markup matches inline markup of Markdown and HTML.
var markup = regexp.MustCompile("[\\\\`*_\\[\\]<>|&]")

// escape returns text in Markdown, with its line breaks.
func escape(text string) string {
	return strings.ReplaceAll(printable(markup.ReplaceAllString(text, `\$0`), '\n'), "\n", "<br>")
}

// printable escapes characters that are invisible or change the direction of text.
func printable(text string, keep ...rune) string {
	const emoji = '\ufe0f' // the variation selector of emojis
	return kind.Visible(text, append(keep, emoji)...)
}

func bold(text string) string {
	if text == "" {
		return ""
	}
	return "**" + text + "**"
}

// maxCode is the maximum length of code, in characters.
const maxCode = 72

// code returns text as code for a table cell. It cuts long text.
func code(text string) string {
	text = cut(printable(cut(strings.TrimSpace(text), maxCode)), maxCode)
	if text == "" {
		return "(blank)"
	}
	return manifest.CodeSpan(text)
}

func cut(text string, length int) string {
	if utf8.RuneCountInString(text) <= length {
		return text
	}
	return string([]rune(text)[:length-1]) + "…"
}

func count(n int, noun string) string { return string(kind.Count(int64(n), noun)) }
