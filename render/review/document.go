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
	others  string // what is said of the diffs of the others that are alike
	diffs   []*block
	isLeft  bool // out
}

// block is a part that is in the document, or left out.
type block struct {
	text    string
	isRisky bool
	isIn    bool
	isCut   bool // and has not all of its lines
}

// reserve is what a section takes beside its blocks, at most: its table's head, the fold of
// its diffs with a fence, and what is said of what was left out of them.
func (s *section) reserve() int {
	return len(s.heading) + len(tableHead) + len(s.others) + 2*len(fenceOf(s.diffs)) + 250
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
			b.cutTo(left / 4)
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

// cutTo cuts a block after a line, so that it has at most so many bytes, and says how many
// lines were cut.
func (b *block) cutTo(limit int) {
	if len(b.text) <= limit {
		return
	}
	end := strings.LastIndex(b.text[:max(limit-50, 0)], "\n") + 1
	b.text, b.isCut = fmt.Sprintf("%s… and %d more lines\n", b.text[:end], strings.Count(b.text[end:], "\n")), true
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
			isCut = isCut || b.isCut
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
	var diffs strings.Builder
	in := 0
	for _, diff := range s.diffs {
		if diff.isIn {
			diffs.WriteString(diff.text)
			in++
		}
	}
	summary := count(int64(len(s.diffs)), "diff")
	if in < len(s.diffs) {
		summary = say("%d of %s", in, summary)
	}
	if in == 0 {
		fmt.Fprintf(b, "%s%s\n\n", summary, s.others)
		return
	}
	fmt.Fprintf(b, "<details><summary>%s%s</summary>\n\n%sdiff\n%s%s\n\n</details>\n\n", summary, s.others, fence, diffs.String(), fence)
}
