package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
)

// comment is a comment that shows as many lines as fit.
type comment struct {
	tables, folds []*section
	room          int // the bytes that are left
}

// section is a title and lines, each optional.
type section struct {
	title     line
	open, end string // around shown lines
	lines     []line
	shown     int // the number of shown lines
}

// countMark in a section's open is the place of the number of shown lines. No name contains it.
const countMark = "\x00"

// line is a title, a row of a table, or the diff of an object.
type line struct {
	text    string
	brief   string // a shorter text for a comment with too many rows, or empty
	name    string // in the list of omitted lines
	isTitle bool
	isRisk  bool
	isDiff  bool // text is a diff, still to be formatted
	size    int  // of a diff
	isShown bool
}

// long is the length of a row that has a brief text.
const long = 4096

// compareRanks orders lines by rank: lines with a risk, then titles, then other lines; small diffs first.
func compareRanks(a, b line) int {
	rank := func(l line) int {
		switch {
		case l.isRisk:
			return 0
		case l.isTitle:
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.size, b.size))
}

// compose returns at most limit bytes: all sections or, if they do not fit, lines by rank and a note.
func (c *comment) compose(limit int, command string) string {
	const counts = 80 // the bytes of two lists without names
	if _, isWhole := c.fill(limit); isWhole {
		return c.format()
	}
	room := limit - limit/8 - counts - len(c.note(command)) // an eighth for names of omitted objects
	if hasRows, _ := c.fill(room); !hasRows {
		c.abbreviate()
		c.fill(room)
	}
	text, note := c.format(), c.note(command)
	room = limit - len(text) - len(note)
	rows := listNames("Without a row", omitted(c.tables), "object", room/2)
	return text + rows + listNames("Not shown", omitted(c.folds), "diff", room-len(rows)) + note
}

// fill shows the lines that fit in room: rows, and diffs if all rows fit.
func (c *comment) fill(room int) (hasRows, isWhole bool) {
	c.room = room
	for _, s := range slices.Concat(c.tables, c.folds) {
		s.shown, s.title.isShown, s.title.isTitle = 0, s.title.text == "", true
		for i := range s.lines {
			s.lines[i].isShown = false
		}
	}
	hasRows = c.show(c.tables)
	return hasRows, hasRows && c.show(c.folds)
}

// show shows lines that fit, by rank, and reports whether all do.
func (c *comment) show(sections []*section) bool {
	type place struct {
		*section
		*line
	}
	var places []place
	for _, s := range sections {
		places = append(places, place{s, &s.title})
		for i := range s.lines {
			places = append(places, place{s, &s.lines[i]})
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return compareRanks(*a.line, *b.line) })
	all := true
	for _, p := range places {
		all = c.showLine(p.section, p.line) && all
	}
	return all
}

// showLine shows a line, and the title of its section, if both fit.
func (c *comment) showLine(s *section, l *line) bool {
	const count = 24 // the bytes of a count
	cost := 0
	if !s.title.isShown {
		cost = len(s.title.text)
	}
	if !l.isTitle && s.shown == 0 {
		cost += len(s.open) + len(s.end) + count
	}
	if l.isDiff && cost+len(l.text) <= c.room { // formatting makes it longer
		l.text, l.isDiff = manifest.CodeBlock("diff", kind.Visible(l.text, '\n', '\t'))+"\n", false
	}
	if !l.isTitle {
		cost += len(l.text)
	}
	if cost > c.room {
		return false
	}
	c.room -= cost
	s.title.isShown, l.isShown = true, true
	if !l.isTitle {
		s.shown++
	}
	return true
}

// abbreviate makes long rows and titles brief.
func (c *comment) abbreviate() {
	for _, s := range c.tables {
		s.title.text = cmp.Or(s.title.brief, s.title.text)
		for i, l := range s.lines {
			s.lines[i].text = cmp.Or(l.brief, l.text)
		}
	}
}

// format returns the shown lines.
func (c *comment) format() string {
	var b strings.Builder
	for _, s := range slices.Concat(c.tables, c.folds) {
		if s.title.isShown {
			b.WriteString(s.title.text)
		}
		if s.shown == 0 {
			continue
		}
		count := string(kind.Count(int64(len(s.lines)), "diff"))
		if s.shown < len(s.lines) {
			count = fmt.Sprintf("%d of %s", s.shown, count)
		}
		b.WriteString(strings.Replace(s.open, countMark, count, 1))
		for _, l := range s.lines {
			if l.isShown {
				b.WriteString(l.text)
			}
		}
		b.WriteString(s.end)
	}
	return b.String()
}

// omitted returns the names of omitted lines, each once.
func omitted(sections []*section) (names []string) {
	isThere := map[string]bool{}
	for _, s := range sections {
		for _, l := range append([]line{s.title}, s.lines...) {
			if !l.isShown && !isThere[l.name] {
				names, isThere[l.name] = append(names, l.name), true
			}
		}
	}
	return names
}

// listNames returns a list of names. It counts names that do not fit in room.
func listNames(title string, names []string, noun string, room int) string {
	const counts = 40 // the bytes around names
	if len(names) == 0 {
		return ""
	}
	var b strings.Builder
	for i, name := range names {
		if b.Len()+len(title)+len(name)+counts > room {
			rest := string(kind.Count(int64(len(names)-i), noun))
			if i > 0 {
				rest = fmt.Sprintf("%d more", len(names)-i)
			}
			b.WriteString(rest + ", ")
			break
		}
		b.WriteString(name + ", ")
	}
	return fmt.Sprintf("\n%s: %s.\n", title, strings.TrimSuffix(b.String(), ", "))
}

// note returns the end of a comment that omits lines.
func (c *comment) note(command string) string {
	risks := 0
	for _, s := range c.tables {
		for _, l := range s.lines {
			if l.isRisk && !l.isShown {
				risks++
			}
		}
	}
	lacks := ""
	if risks > 0 {
		lacks = fmt.Sprintf(" It omits %s.", kind.Count(int64(risks), "risk"))
	}
	return fmt.Sprintf("\nThis comment is cut.%s %s shows all diffs, and %s all effects.\n", lacks, manifest.CodeSpan(command), manifest.CodeSpan(command+" -o json"))
}
