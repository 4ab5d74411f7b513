package page

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"example.com/gatehouse/render/manifest"
)

// table is a table in Markdown. The name of a column that is aligned to the right ends in a
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
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = manifest.EscapeControls(markup.ReplaceAllString(line, `\$0`))
	}
	return strings.Join(lines, "<br>")
}

func bold(text string) string { return "**" + text + "**" }

// maxCode bounds the length of what is shown as code, in characters.
const maxCode = 72

// code returns text as code in the cell of a table, where nothing but a pipe has a meaning. Long
// text is cut.
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

// printable returns text with the characters escaped that break the line or direct a reader's
// eyes elsewhere.
func printable(text string) string {
	for i := range text {
		if i > maxCode*utf8.UTFMax {
			text = text[:i] // it is cut anyway
			break
		}
	}
	return manifest.EscapeControls(text)
}

// cut returns text of at most so many characters.
func cut(text string, length int) string {
	if utf8.RuneCountInString(text) <= length {
		return text
	}
	return string([]rune(text)[:length-1]) + "…"
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %s", n, plural(noun))
}

// plural returns the plural that English gives a noun by rule.
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
