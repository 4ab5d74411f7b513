package overview

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A timeline draws a column for each period, side by side, and the Ats of the period below
// each other. It has no scale: it draws minutes and centuries alike, which a Gantt chart does
// not, and any year.

const (
	maxPeriods   = 7  // that can be read in the width of a page
	maxPerPeriod = 12 // Ats, if they are not too long
	maxName      = 40 // characters of a namespace or name
	maxLine      = 20 // characters that a box is wide
)

// period is how long a column is.
type period struct {
	name func(time.Time) string
	// layout is what tells the times in the period apart; empty where they are one. Clocks
	// are added to it.
	layout string
}

// periods are from short to long. The last makes few enough columns of any times.
var periods = []period{
	{stamp, ""},
	{minutes(10), " "},
	{minutes(60), " "},
	{minutes(4 * 60), " "},
	{layout("2006-01-02"), " "},
	{func(t time.Time) string {
		return "week of " + t.AddDate(0, 0, -(int(t.Weekday())+6)%7).Format("2006-01-02")
	}, "01-02 "},
	{layout("2006-01"), "01-02 "},
	{func(t time.Time) string { return fmt.Sprintf("%04d Q%d", t.Year(), (t.Month()+2)/3) }, "01-02 "},
	{layout("2006"), "01-02 "},
	{years(10), "2006-01-02 "},
	{years(100), "2006-01-02 "},
	{years(1000), "2006-01-02 "},
	{years(10000), "2006-01-02 "},
}

func layout(layout string) func(time.Time) string {
	return func(t time.Time) string { return t.Format(layout) }
}

// minutes names periods of n minutes.
func minutes(n int) func(time.Time) string {
	return func(t time.Time) string {
		first := (t.Hour()*60 + t.Minute()) / n * n
		last := first + n - 1
		return fmt.Sprintf("%s %02d:%02d to %02d:%02d", t.Format("2006-01-02"), first/60, first%60, last/60, last%60)
	}
}

// years names periods of n years.
func years(n int) func(time.Time) string {
	return func(t time.Time) string {
		first := t.Year() / n * n
		return fmt.Sprintf("%04d to %04d", first, first+n-1)
	}
}

// column is the Ats of a period.
type column struct {
	name string
	ats  []*at
}

// columns divides Ats, which are in order, into few columns. It returns no more than one too
// many.
func (p period) columns(ats []*at) (columns []column) {
	for _, a := range ats {
		name := p.name(a.due)
		if n := len(columns); n == 0 || columns[n-1].name != name {
			columns = append(columns, column{name: name})
		}
		last := &columns[len(columns)-1]
		last.ats = append(last.ats, a)
		if len(columns) > maxPeriods {
			break
		}
	}
	return columns
}

// maxDiagram bounds a diagram, in characters: GitLab asks before it draws a longer one.
const maxDiagram = 1900

// writeTimeline writes the times at which Ats are due, in UTC, as a diagram of Mermaid.
func writeTimeline(page *bytes.Buffer, ats []*at) {
	var chosen period
	var columns []column
	for _, chosen = range periods {
		if columns = chosen.columns(ats); len(columns) <= maxPeriods {
			break
		}
	}
	withNamespace := slices.ContainsFunc(ats, func(a *at) bool { return a.owner.namespace != ats[0].owner.namespace })
	var diagram string
	var left int
	for most := maxPerPeriod; most > 0; most-- {
		if diagram, left = draw(columns, most, func(a *at) string { return a.event(chosen, withNamespace) }); len(diagram) <= maxDiagram {
			break
		}
	}
	fmt.Fprintf(page, "```mermaid\n%s```\n\nThe times of the timeline are UTC.", diagram)
	if left > 0 {
		fmt.Fprintf(page, " It leaves out %d of %s.", left, count(len(ats), "At"))
	}
}

// draw returns a timeline with as many Ats to a column at most, and how many it leaves out.
func draw(columns []column, most int, event func(*at) string) (diagram string, left int) {
	var d strings.Builder
	d.WriteString("timeline\n")
	for _, column := range columns {
		d.WriteString(inMermaid(column.name) + "\n")
		shown := column.ats
		if len(shown) > most {
			shown = shown[:most-1]
		}
		for _, a := range shown {
			d.WriteString("  : " + inMermaid(event(a)) + "\n")
		}
		if more := len(column.ats) - len(shown); more > 0 {
			left += more
			fmt.Fprintf(&d, "  : and %d more\n", more)
		}
	}
	return d.String(), left
}

// event is an At in a period.
func (a *at) event(in period, withNamespace bool) string {
	name := cut(a.owner.name, maxName)
	if withNamespace {
		name = cut(a.owner.namespace, maxName) + "/" + name
	}
	event := folded(name)
	if in.layout != "" {
		event = strings.TrimSpace(a.due.Format(in.layout+clock(a.due))) + " " + event
	}
	if a.suspended {
		event += " (suspended)"
	}
	return event
}

// folded is a name with line breaks where it is longer than a box is wide.
func folded(name string) string {
	var lines []string
	rest := []rune(name)
	for len(rest) > maxLine {
		end := maxLine
		for end > 1 && !strings.ContainsRune("-./", rest[end-1]) {
			end--
		}
		if end == 1 {
			end = maxLine
		}
		lines, rest = append(lines, string(rest[:end])), rest[end:]
	}
	return strings.Join(append(lines, string(rest)), "\n")
}

// inMermaid is text in a diagram, in which much has a meaning, as the colon has.
func inMermaid(text string) string {
	var escaped strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			escaped.WriteString("<br>")
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune(" -./()", r):
			escaped.WriteRune(r)
		default:
			fmt.Fprintf(&escaped, "#%d;", r)
		}
	}
	return escaped.String()
}
