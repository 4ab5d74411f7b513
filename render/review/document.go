package review

import (
	"fmt"
	"slices"
	"strings"
)

// document is a comment that has to fit a size.
type document struct {
	sections []*section
	cut      string // what is said of what was left out; empty where nothing was
}

// section is about an environment, or several that are alike.
type section struct {
	heading string
	rows    []*block
	summary string // of the diffs
	diffs   []*block
	isLeft  bool // out
}

// block is a part that is in the document, or left out.
type block struct {
	text    string
	isRisky bool
	isIn    bool
}

// reserve is what a section takes beside its blocks, at most: its table's head, the fold of
// its diffs with a fence, and what is said of what was left out of them.
func (s *section) reserve() int {
	return len(s.heading) + len(tableHead) + len(s.summary) + 2*len(fenceOf(s.diffs)) + 250
}

// fit leaves out what makes the document longer than limit bytes: diffs before rows of
// tables, and what has no risk before what has one.
func (d *document) fit(limit int, rest string) {
	left := limit - len(Marker) - len(rest) - 150
	var rows, diffs []*block
	for _, s := range d.sections {
		if s.isLeft = s.reserve() > left; s.isLeft {
			continue
		}
		left -= s.reserve()
		rows, diffs = append(rows, s.rows...), append(diffs, s.diffs...)
	}
	include(byRisk(rows), &left)
	if size(diffs) > left {
		for _, b := range diffs {
			b.text = cutLines(b.text, left/4)
		}
	}
	include(byRisk(diffs), &left)
	d.cut = d.leftOut(rest)
}

// include has blocks in the document, as far as there is space left.
func include(blocks []*block, left *int) {
	for _, b := range blocks {
		if b.isIn = len(b.text) <= *left; b.isIn {
			*left -= len(b.text)
		}
	}
}

func size(blocks []*block) (bytes int) {
	for _, b := range blocks {
		bytes += len(b.text)
	}
	return bytes
}

// cutLines is text of at most so many bytes, cut after a line, with how many were cut.
func cutLines(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := strings.LastIndex(text[:max(limit-50, 0)], "\n") + 1
	return fmt.Sprintf("%s… and %d more lines\n", text[:end], strings.Count(text[end:], "\n"))
}

// leftOut says how much is left out, and where it is; empty where nothing is.
func (d *document) leftOut(rest string) string {
	sections, diffs, isCut := 0, 0, false
	for _, s := range d.sections {
		if s.isLeft {
			sections++
			continue
		}
		isCut = isCut || slices.ContainsFunc(s.rows, isOut)
		for _, b := range s.diffs {
			isCut = isCut || strings.HasSuffix(b.text, " more lines\n")
			if !b.isIn {
				diffs++
			}
		}
	}
	switch {
	case sections > 0:
		return fmt.Sprintf("This comment is cut: %d environments and %d diffs are left out. %s\n", sections, diffs, rest)
	case diffs > 0:
		return fmt.Sprintf("This comment is cut: %d diffs are left out. %s\n", diffs, rest)
	case isCut:
		return fmt.Sprintf("This comment is cut. %s\n", rest)
	}
	return ""
}

func isOut(b *block) bool { return !b.isIn }

// String is the document as Markdown.
func (d *document) String() string {
	var b strings.Builder
	b.WriteString(Marker + "\n")
	for _, s := range d.sections {
		if s.isLeft {
			continue
		}
		b.WriteString(s.heading)
		s.writeRows(&b)
		s.writeDiffs(&b)
	}
	b.WriteString(d.cut)
	return b.String()
}

func (s *section) writeRows(b *strings.Builder) {
	if len(s.rows) == 0 {
		return
	}
	b.WriteString(tableHead)
	out, risky := 0, 0
	for _, row := range s.rows {
		switch {
		case row.isIn:
			b.WriteString(row.text)
		case row.isRisky:
			out, risky = out+1, risky+1
		default:
			out++
		}
	}
	if out > 0 {
		fmt.Fprintf(b, "| | | and %d more, %d of them with a risk |\n", out, risky)
	}
	b.WriteString("\n")
}

func (s *section) writeDiffs(b *strings.Builder) {
	fence := fenceOf(s.diffs)
	fmt.Fprintf(b, "<details><summary>%s</summary>\n\n%sdiff\n", s.summary, fence)
	out := 0
	for _, diff := range s.diffs {
		if diff.isIn {
			b.WriteString(diff.text)
		} else {
			out++
		}
	}
	if out > 0 {
		fmt.Fprintf(b, "… and %d more diffs\n", out)
	}
	fmt.Fprintf(b, "%s\n\n</details>\n\n", fence)
}
