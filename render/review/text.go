package review

import (
	"slices"
	"strings"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/comment"
	"example.com/gatehouse/render/review/effect"
)

// Groups returns the environments, those with equal rows but for their names together.
func (r *Review) Groups() [][]EnvironmentReview { return r.alike() }

// Part is a part of a diff as text: lines about it, and the diff, which may be empty.
type Part struct {
	Lines []string
	Diff  string
}

// Text returns the diffs of all environments, equal ones once, each after its risks. The frame
// is no part of it.
func (r *Review) Text() []*Part {
	t := text{first: map[string]*Part{}}
	for _, alike := range r.alike() {
		for _, same := range groupBy(alike, EnvironmentReview.changedLines) {
			t.add(same)
		}
	}
	return t.parts
}

type text struct {
	parts []*Part
	first map[string]*Part // by changed lines
}

// add adds environments with equal diffs.
func (t *text) add(same []EnvironmentReview) {
	const most = 12
	names := make([]string, len(same))
	for i, other := range same {
		names[i] = kind.Visible(other.Name)
	}
	e := same[0]
	heading := &Part{Lines: []string{e.Heading(manifest.FirstOf(most, names), len(same))}}
	t.parts = append(t.parts, heading)
	for _, found := range e.Effects {
		if found.Type == effect.EnvironmentMoved && found.Risk == "" {
			heading.Lines = append(heading.Lines, kind.Visible(e.Name+": "+found.What.Plain()))
		}
	}
	nameOf := e.names()
	withoutName := e.withoutName()
	risks := e.riskLines(nameOf)
	for _, c := range e.Changes {
		lines := slices.Concat(risks[c.Object], risks[c.owner])
		delete(risks, c.Object)
		delete(risks, c.owner)
		key := withoutName(c.ChangedLines())
		first := t.first[key]
		if first == nil || key == "" {
			first = &Part{Diff: c.Diff}
			t.first[key] = first
			t.parts = append(t.parts, first)
		} else {
			lines = append([]string{"the same: " + kind.Visible(nameOf(c.Object)+" of "+e.Name)}, lines...)
		}
		first.Lines = append(first.Lines, lines...)
	}
	for _, found := range e.Effects { // on objects without a change
		heading.Lines = append(heading.Lines, risks[found.Object]...)
		delete(risks, found.Object)
	}
}

func (e EnvironmentReview) riskLines(nameOf func(manifest.ID) string) map[manifest.ID][]string {
	lines := map[manifest.ID][]string{}
	for _, found := range e.Effects {
		if found.Risk != "" {
			said := []string{nameOf(found.Object), found.What.Plain(), found.Risk.Plain()}
			lines[found.Object] = append(lines[found.Object],
				comment.Risk+" "+kind.Visible(strings.Join(said, ": ")))
		}
	}
	return lines
}
