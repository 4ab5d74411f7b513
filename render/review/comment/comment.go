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
}

// Section is a title and lines, each optional.
type Section struct {
	Title     Line
	Open, End string // around shown lines
	Lines     []Line
	shown     int // the number of shown lines
}

// The marks of lines by rank.
const (
	Risk    = "⚠️"
	Unknown = "❔"
)

// CountMark in a section's open is the place of the number of shown lines. No name contains it.
const CountMark = "\x00"

// Line is a title, an effect in a row of a table, or the diff of an object.
type Line struct {
	Row      string // the first cell of the row, which other lines share, or empty
	Text     string
	Brief    string // a shorter text for a comment with too many rows, or empty
	Name     string // in the list of omitted lines
	Mark     string // Risk, Unknown, or empty for a known line
	Severity int    // of a risk
	Count    int    // the number of effects that it tells; 0 for one
	// Alike has the names of objects with the same diff.
	Alike   []string
	IsDiff  bool // text is a diff, still to be formatted
	Size    int  // of a diff
	isTitle bool
	isShown bool
	in      *Section
}

// linesOf returns the titles and lines of sections, by rank.
func linesOf(sections []*Section) (lines []*Line) {
	for _, s := range sections {
		s.Title.isTitle = true
		s.Title.in = s
		if s.Title.Text != "" {
			lines = append(lines, &s.Title)
		}
		for i := range s.Lines {
			s.Lines[i].in = s
			lines = append(lines, &s.Lines[i])
		}
	}
	slices.SortStableFunc(lines, func(a, b *Line) int { return CompareRanks(*a, *b) })
	return lines
}

// Long is the length of a text that has a brief one.
const Long = 4096

const mostAlike = 10 // names below a diff

// CompareRanks orders lines by rank: risks by their severity, then titles, unknown lines, and known ones; small diffs
// first.
func CompareRanks(a, b Line) int {
	rank := func(l Line) int {
		switch {
		case l.Mark == Risk:
			return -l.Severity
		case l.isTitle:
			return 1
		case l.Mark == Unknown:
			return 2
		}
		return 3
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Size, b.Size))
}

// Compose returns at most limit bytes: all sections or, if they do not fit, lines by rank, lists of the omitted
// lines, and a note. No diff takes the place of a row.
func (c *Comment) Compose(limit int, command string) string {
	const counts = 200 // the bytes of two lists without names, and of a longer note
	rows := linesOf(c.Tables)
	diffs := linesOf(c.Folds)
	if left, hasRows := show(rows, limit, 0); hasRows {
		if _, isWhole := show(diffs, left, 0); isWhole {
			return c.format()
		}
	}
	room := limit - counts - len(c.note(command))
	names := limit / 8
	left, hasRows := show(rows, room, names)
	if !hasRows {
		for _, l := range rows {
			l.Text = cmp.Or(l.Brief, l.Text)
		}
		left, hasRows = show(rows, room, names)
	}
	if !hasRows {
		left = 0
	}
	show(diffs, left, names)
	text := c.format()
	note := c.note(command)
	left = limit - len(text) - len(note)
	withoutRow := listNames("Without a row", omitted(rows), left-counts/2)
	if withoutRow != "" {
		left = 0
	}
	return text + withoutRow + listNames("Without a diff", omitted(diffs), left) + note
}

// show shows the lines that fit in room, and reports whether all do. A line leaves room for the names of all
// objects without a line; a line with a risk for names of reserved bytes only. Without reserved bytes there is no list.
func show(lines []*Line, room, reserved int) (left int, all bool) {
	names := map[string]int{}
	total := 0 // bytes
	for _, l := range lines {
		l.isShown = false
		l.in.shown = 0
		l.in.Title.isShown = false
		if _, ok := names[l.Name]; !ok && reserved > 0 {
			names[l.Name] = len(l.item())
			total += len(l.item())
		}
	}
	all = true
	for _, l := range lines {
		others := total - names[l.Name]
		if l.Mark == Risk {
			others = min(others, reserved)
		}
		if l.IsDiff && l.cost() <= room-others { // formatting makes it longer
			l.formatDiff()
		}
		cost := l.cost()
		if cost > room-others {
			all = false
			continue
		}
		room -= cost
		total -= names[l.Name]
		names[l.Name] = 0
		l.in.Title.isShown = true
		l.isShown = true
		if !l.isTitle {
			l.in.shown++
		}
	}
	return room, all
}

// formatDiff makes the text of the diff: formatting every diff of a large change takes long.
func (l *Line) formatDiff() {
	l.Text = manifest.CodeBlock("diff", kind.Visible(l.Text, '\n', '\t')) + "\n"
	l.IsDiff = false
	if len(l.Alike) > 0 {
		l.Text += "The same: " + manifest.FirstOf(mostAlike, l.Alike) + ".\n\n"
	}
}

// cost returns the bytes that a line adds, with the title of its section.
func (l *Line) cost() (cost int) {
	const count = 24 // the bytes of a count
	s := l.in
	if !s.Title.isShown {
		cost = len(s.Title.Text)
	}
	if l.isTitle {
		return cost
	}
	if l.Row != "" {
		cost += len(l.rowStart(l.Mark)) + len(rowEnd)
	}
	if s.shown == 0 {
		cost += len(s.Open) + len(s.End) + count
	}
	return cost + len(l.Text)
}

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
		b.WriteString(strings.Replace(s.Open, CountMark, count, 1) + s.rows() + s.End)
	}
	return b.String()
}

// rows returns the shown lines, and joins the lines of a row.
func (s *Section) rows() string {
	var b strings.Builder
	texts := map[string][]string{}
	marks := map[string]string{}
	for _, l := range s.Lines {
		if !l.isShown {
			continue
		}
		texts[l.Row] = append(texts[l.Row], l.Text)
		if marks[l.Row] != Risk {
			marks[l.Row] = cmp.Or(l.Mark, marks[l.Row])
		}
	}
	for _, l := range s.Lines {
		switch {
		case !l.isShown:
		case l.Row == "":
			b.WriteString(l.Text)
		case texts[l.Row] != nil:
			b.WriteString(l.rowStart(marks[l.Row]) + strings.Join(texts[l.Row], "<br>") + rowEnd)
			delete(texts, l.Row)
		}
	}
	return b.String()
}

const rowEnd = " |\n"

func (l *Line) rowStart(mark string) string { return fmt.Sprintf("| %s | %s | ", mark, l.Row) }

// omitted returns the names of lines that are not shown, each once. An object with a shown line is there only for
// an omitted risk.
func omitted(lines []*Line) (items []string) {
	isTold := map[string]bool{"": true}
	for _, l := range lines {
		isTold[l.Name] = isTold[l.Name] || l.isShown
	}
	isListed := map[string]bool{"": true}
	for _, l := range lines {
		if !l.isShown && !isListed[l.Name] && (l.Mark == Risk || !isTold[l.Name]) {
			isListed[l.Name] = true
			items = append(items, l.item())
		}
	}
	return items
}

// item is the line in the list of omitted lines.
func (l *Line) item() string {
	return "- " + strings.TrimPrefix(l.Mark+" ", " ") + l.Name + "\n"
}

// listNames returns a list of items. It counts items that do not fit in room.
func listNames(title string, items []string, room int) string {
	const counts = 20 // the bytes of a count
	if len(items) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s:\n\n", title)
	for i, item := range items {
		if b.Len()+len(item)+counts > room {
			rest := string(kind.Count(int64(len(items)), "object"))
			if i > 0 {
				rest = fmt.Sprintf("%d more", len(items)-i)
			}
			b.WriteString("- " + rest + "\n")
			break
		}
		b.WriteString(item)
	}
	return b.String()
}

// note returns the end of a comment that omits lines. It counts the omitted rows by rank.
func (c *Comment) note(command string) string {
	counts := map[string]int64{}
	for _, l := range linesOf(c.Tables) {
		if !l.isTitle && !l.isShown && l.Name != "" {
			counts[l.Mark] += int64(max(l.Count, 1))
		}
	}
	var lacks []string
	nouns := []struct{ mark, noun string }{{Risk, "risk"}, {Unknown, "unknown effect"}, {"", "known effect"}}
	for _, of := range nouns {
		if n := counts[of.mark]; n > 0 {
			lacks = append(lacks, string(kind.Count(n, of.noun)))
		}
	}
	text := ""
	if len(lacks) > 0 {
		text = " It omits " + strings.Join(lacks, ", ") + "."
	}
	return fmt.Sprintf("\nThis comment is cut.%s %s shows all diffs, and %s all effects.\n", text,
		manifest.CodeSpan(command), manifest.CodeSpan(command+" -o json"))
}
