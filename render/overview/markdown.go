package overview

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/gatehouse/render/object"
)

// table is a table of Markdown. The name of a column whose cells are numbers ends in a
// colon.
type table struct {
	columns []string
	rows    [][]string
}

// add adds a row, unless there are too many.
func (t *table) add(cells ...string) {
	if len(t.rows) < maxRows {
		t.rows = append(t.rows, cells)
	}
}

// more adds a row that says how many of all things have none.
func (t *table) more(all int, things string) {
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

// plain matches names that no host makes anything of.
var plain = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`)

// revision matches what a host may take for a commit.
var revision = regexp.MustCompile(`^[0-9a-f]{7,40}$`)

// word is a name in Markdown: code if it might be anything but text.
func word(name string) string {
	if plain.MatchString(name) && !revision.MatchString(name) {
		return name
	}
	return code(name)
}

// maxCode bounds the length of what is shown as code, in characters.
const maxCode = 72

// code is text as code in the cell of a table, where nothing but a pipe has a meaning. What
// is long is cut.
func code(text string) string {
	text = cut(printable(strings.TrimSpace(text)), maxCode)
	if text == "" {
		return "(blank)"
	}
	fence, longest := "`", 0
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '`' }) {
		longest = max(longest, len(run))
	}
	if longest > 0 {
		fence = strings.Repeat("`", longest+1)
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + strings.ReplaceAll(text, "|", `\|`) + fence
}

// printable is text in which what breaks the line, or directs a reader's eyes elsewhere, is
// escaped.
func printable(text string) string {
	for i := range text {
		if i > maxCode*utf8.UTFMax {
			text = text[:i] // it is cut anyway
			break
		}
	}
	return object.EscapeControls(text)
}

// cut is text of at most so many characters.
func cut(text string, length int) string {
	if utf8.RuneCountInString(text) <= length {
		return text
	}
	return string([]rune(text)[:length-1]) + "…"
}

// common is the value that all values are; empty where they differ.
func common(values []string) string {
	if distinct := slices.Compact(slices.Sorted(slices.Values(values))); len(distinct) == 1 {
		return distinct[0]
	}
	return ""
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %s", n, plural(noun))
}

// plural is the plural of a noun, as English has it by rule.
func plural(noun string) string {
	for end, instead := range map[*regexp.Regexp]string{endsInY: "${1}ies", endsInS: "${0}es"} {
		if end.MatchString(noun) {
			return end.ReplaceAllString(noun, instead)
		}
	}
	return noun + "s"
}

// These match nouns with another plural than an s.
var (
	endsInY = regexp.MustCompile(`([^aeo])y$`)
	endsInS = regexp.MustCompile(`(s|x|z|ch|sh)$`)
)

func countOrNo(n int, noun string) string {
	if n == 0 {
		return "no " + noun
	}
	return count(n, noun)
}
