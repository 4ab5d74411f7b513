// Package comment fits tables and diffs into the bytes of a comment: lines with a risk first. It knows no
// effect. TestCommentsFit and TestCutCommentsKeepTheHighestRanks of package review prove it.
package comment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
)

// Comment is a comment that shows as many lines as fit.
type Comment struct {
	Tables, Folds []*Section
	room          int // the bytes that are left
}

// Section is a title and lines, each optional.
type Section struct {
	Title     Line
	Open, End string // around shown lines
	Lines     []Line
	shown     int // the number of shown lines
}

// CountMark in a section's open is the place of the number of shown lines. No name contains it.
const CountMark = "\x00"

// Line is a title, a row of a table, or the diff of an object.
type Line struct {
	Text    string
	Brief   string // a shorter text for a comment with too many rows, or empty
	Name    string // in the list of omitted lines
	isTitle bool
	IsRisk  bool
	IsDiff  bool // text is a diff, still to be formatted
	Size    int  // of a diff
	isShown bool
	in      *Section
}

// linesOf returns the titles and lines of sections.
func linesOf(sections []*Section) (lines []*Line) {
	for _, s := range sections {
		if s.Title.isTitle, s.Title.in = true, s; s.Title.Text != "" {
			lines = append(lines, &s.Title)
		}
		for i := range s.Lines {
			s.Lines[i].in = s
			lines = append(lines, &s.Lines[i])
		}
	}
	return lines
}

// Long is the length of a row that has a brief text.
const Long = 4096

// CompareRanks orders lines by rank: lines with a risk, then titles, then other lines; small diffs first.
func CompareRanks(a, b Line) int {
	rank := func(l Line) int {
		switch {
		case l.IsRisk:
			return 0
		case l.isTitle:
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Size, b.Size))
}

// Compose returns at most limit bytes: all sections or, if they do not fit, lines by rank and a note.
func (c *Comment) Compose(limit int, command string) string {
	const counts = 120 // the bytes of two lists without names, and of a longer note
	if _, isWhole := c.fill(limit); isWhole {
		return c.format()
	}
	names := limit / 8 // for omitted objects; lines without a risk make room for more
	for range 5 {      // a longer list omits lines, which make it longer
		room := limit - names - counts - len(c.note(command))
		hasRows, _ := c.fill(room)
		last := c.Folds
		if !hasRows {
			c.abbreviate()
			c.fill(room)
			last = c.Tables
		}
		needed := len(c.listOmitted(limit))
		if needed <= names {
			break
		}
		names = min(needed, names+spare(last))
	}
	text, note := c.format(), c.note(command)
	return text + c.listOmitted(limit-len(text)-len(note)) + note
}

// listOmitted lists the objects without a row and, if all have a row, those without a diff.
func (c *Comment) listOmitted(room int) string {
	const count = 40 // the bytes of a list without names
	rows := listNames("Without a row", omitted(c.Tables), room-count)
	if rows != "" {
		room = 0
	}
	return rows + listNames("Without a diff", omitted(c.Folds), room)
}

// spare returns the bytes of shown lines without a risk.
func spare(sections []*Section) (size int) {
	for _, l := range linesOf(sections) {
		if l.isShown && !l.isTitle && !l.IsRisk {
			size += len(l.Text)
		}
	}
	return size
}

// fill shows the lines that fit in room: rows, and diffs if all rows fit.
func (c *Comment) fill(room int) (hasRows, isWhole bool) {
	c.room = room
	for _, l := range linesOf(slices.Concat(c.Tables, c.Folds)) {
		l.isShown, l.in.shown = false, 0
	}
	hasRows = c.show(c.Tables)
	return hasRows, hasRows && c.show(c.Folds)
}

// show shows lines that fit, by rank, and reports whether all do.
func (c *Comment) show(sections []*Section) bool {
	lines, all := linesOf(sections), true
	slices.SortStableFunc(lines, func(a, b *Line) int { return CompareRanks(*a, *b) })
	for _, l := range lines {
		all = c.showLine(l.in, l) && all
	}
	return all
}

// showLine shows a line, and the title of its section, if both fit.
func (c *Comment) showLine(s *Section, l *Line) bool {
	const count = 24 // the bytes of a count
	cost := 0
	if !s.Title.isShown {
		cost = len(s.Title.Text)
	}
	if !l.isTitle && s.shown == 0 {
		cost += len(s.Open) + len(s.End) + count
	}
	if l.IsDiff && cost+len(l.Text) <= c.room { // formatting makes it longer
		l.Text, l.IsDiff = manifest.CodeBlock("diff", kind.Visible(l.Text, '\n', '\t'))+"\n", false
	}
	if !l.isTitle {
		cost += len(l.Text)
	}
	if cost > c.room {
		return false
	}
	c.room -= cost
	s.Title.isShown, l.isShown = true, true
	if !l.isTitle {
		s.shown++
	}
	return true
}

// abbreviate makes long rows and titles brief.
func (c *Comment) abbreviate() {
	for _, l := range linesOf(c.Tables) {
		l.Text = cmp.Or(l.Brief, l.Text)
	}
}

// format returns the shown lines.
func (c *Comment) format() string {
	var b strings.Builder
	for _, s := range slices.Concat(c.Tables, c.Folds) {
		if s.Title.isShown {
			b.WriteString(s.Title.Text)
		}
		if s.shown == 0 {
			continue
		}
		count := string(kind.Count(int64(len(s.Lines)), "diff"))
		if s.shown < len(s.Lines) {
			count = fmt.Sprintf("%d of %s", s.shown, count)
		}
		b.WriteString(strings.Replace(s.Open, CountMark, count, 1))
		for _, l := range s.Lines {
			if l.isShown {
				b.WriteString(l.Text)
			}
		}
		b.WriteString(s.End)
	}
	return b.String()
}

// omitted returns the omitted lines by rank, one for each name. An object with a shown line is there
// only for an omitted risk.
func omitted(sections []*Section) (lines []Line) {
	isThere := map[string]bool{"": true}
	for _, l := range linesOf(sections) {
		if isThere[l.Name] = isThere[l.Name] || l.isShown; !l.isShown {
			lines = append(lines, *l)
		}
	}
	slices.SortStableFunc(lines, CompareRanks)
	isListed := map[string]bool{}
	return slices.DeleteFunc(lines, func(l Line) bool {
		isRepeated := isListed[l.Name] || isThere[l.Name] && !l.IsRisk
		isListed[l.Name] = true
		return isRepeated
	})
}

// listNames returns a list of the names of lines, one a line. It counts names that do not fit in room.
func listNames(title string, lines []Line, room int) string {
	const counts = 20 // the bytes of a count
	if len(lines) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s:\n\n", title)
	for i, l := range lines {
		item := "- " + l.Name + "\n"
		if l.IsRisk {
			item = "- ⚠️ " + l.Name + "\n"
		}
		if b.Len()+len(item)+counts > room {
			rest := string(kind.Count(int64(len(lines)), "object"))
			if i > 0 {
				rest = fmt.Sprintf("%d more", len(lines)-i)
			}
			b.WriteString("- " + rest + "\n")
			break
		}
		b.WriteString(item)
	}
	return b.String()
}

// note returns the end of a comment that omits lines.
func (c *Comment) note(command string) string {
	risks := 0
	for _, l := range linesOf(c.Tables) {
		if l.IsRisk && !l.isShown {
			risks++
		}
	}
	lacks := ""
	if risks > 0 {
		lacks = fmt.Sprintf(" It omits %s.", kind.Count(int64(risks), "risk"))
	}
	return fmt.Sprintf("\nThis comment is cut.%s %s shows all diffs, and %s all effects.\n", lacks, manifest.CodeSpan(command), manifest.CodeSpan(command+" -o json"))
}
