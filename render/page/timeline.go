package page

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A timeline has a column for each period, with its objects below each other. Unlike a Gantt chart it has
// no scale, so it can show minutes, centuries and any year.

const (
	maxPeriods   = 7  // in the width of a page
	maxPerPeriod = 12 // objects; fewer if their names are long
	maxName      = 40 // characters of a namespace or name
	maxLine      = 20 // characters in the width of a box
)

// period is the length of a column.
type period struct {
	name func(time.Time) string
	// layout formats a time within the period, before the clock; empty if all its times are equal.
	layout string
}

// periods are sorted by length. The last needs few columns for any times.
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
		first := t.Truncate(time.Duration(n) * time.Minute)
		return first.Format("2006-01-02 15:04") + first.Add(time.Duration(n-1)*time.Minute).Format(" to 15:04")
	}
}

// years names periods of n years.
func years(n int) func(time.Time) string {
	return func(t time.Time) string {
		first := t.Year() / n * n
		return fmt.Sprintf("%04d to %04d", first, first+n-1)
	}
}

// span is a column.
type span struct {
	name    string
	entries []*entry
}

// spans divides entries, sorted by time, by period.
func (p period) spans(entries []*entry) (spans []span) {
	for _, e := range entries {
		name := p.name(e.due)
		if n := len(spans); n == 0 || spans[n-1].name != name {
			spans = append(spans, span{name: name})
		}
		last := &spans[len(spans)-1]
		last.entries = append(last.entries, e)
	}
	return spans
}

// maxDiagram is the maximum length of a diagram, in characters: GitLab asks before it draws a longer
// one.
const maxDiagram = 1900

// writeTimeline writes a Mermaid diagram of the times of a kind's objects, in UTC, and returns a
// remark about it.
func writeTimeline(page *bytes.Buffer, entries []*entry, kind string) string {
	var chosen period
	var spans []span
	for _, chosen = range periods {
		if spans = chosen.spans(entries); len(spans) <= maxPeriods {
			break
		}
	}
	withNamespace := slices.ContainsFunc(entries, func(e *entry) bool { return e.namespace != entries[0].namespace })
	var diagram string
	var omitted int
	for most := maxPerPeriod; most > 0; most-- {
		if diagram, omitted = draw(spans, most, func(e *entry) string { return e.event(chosen, withNamespace) }); len(diagram) <= maxDiagram {
			break
		}
	}
	fmt.Fprintf(page, "```mermaid\n%s```\n\n", diagram)
	if omitted == 0 {
		return "The times of the timeline are UTC."
	}
	return fmt.Sprintf("The times of the timeline are UTC. It leaves out %d of %s.", omitted, count(len(entries), kind))
}

// draw returns a timeline with at most so many entries in a span, and the number of omitted entries.
func draw(spans []span, most int, event func(*entry) string) (diagram string, omitted int) {
	var d strings.Builder
	d.WriteString("timeline\n")
	for _, span := range spans {
		d.WriteString(inMermaid(span.name) + "\n")
		shown := span.entries
		if len(shown) > most {
			shown = shown[:most-1]
		}
		for _, e := range shown {
			d.WriteString("  : " + inMermaid(event(e)) + "\n")
		}
		if more := len(span.entries) - len(shown); more > 0 {
			omitted += more
			fmt.Fprintf(&d, "  : and %d more\n", more)
		}
	}
	return d.String(), omitted
}

func (e *entry) event(in period, withNamespace bool) string {
	name := cut(e.name, maxName)
	if withNamespace {
		name = cut(e.namespace, maxName) + "/" + name
	}
	event := folded(name)
	if in.layout != "" {
		event = strings.TrimSpace(e.due.Format(in.layout+clock(e.due))) + " " + event
	}
	if e.Mark != "" {
		event += " (" + e.Mark + ")"
	}
	return event
}

// stamp formats a time to the minute, or as precisely as necessary.
func stamp(t time.Time) string { return t.Format("2006-01-02 " + clock(t)) }

// clock returns the layout of a time of day, as precise as necessary.
func clock(t time.Time) string {
	switch {
	case t.Nanosecond() != 0:
		return "15:04:05.999999999"
	case t.Second() != 0:
		return "15:04:05"
	}
	return "15:04"
}

// folded breaks a name into lines that fit into a box.
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
