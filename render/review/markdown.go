package review

import (
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode/utf8"
)

// Marker is the first line of every comment, by which a program finds the one to update.
const Marker = "<!-- gatehouse-diff -->"

// Markdown is a comment for GitHub or GitLab, of at most limit bytes: what happens to each
// cluster, then folded diffs. Where it has to be cut, what has a risk stays longest, and
// rest, a sentence, says where all of it is.
func (r *Review) Markdown(limit int, rest string) string {
	if len(r.Environments) == 0 {
		return Marker + "\nNo change to any cluster.\n"
	}
	var d document
	for _, alike := range r.alike() {
		d.sections = append(d.sections, newSection(alike))
	}
	d.fit(limit, rest)
	return d.String()
}

// alike returns the environments, those together in which the same changes.
func (r *Review) alike() (groups [][]Environment) {
	index := map[string]int{}
	for _, e := range r.Environments {
		key := e.essence()
		if _, ok := index[key]; !ok {
			index[key] = len(groups)
			groups = append(groups, nil)
		}
		groups[index[key]] = append(groups[index[key]], e)
	}
	return groups
}

// essence is what changes, whatever the name of the environment.
func (e Environment) essence() string {
	name := e.Name
	e.Name = ""
	encoded, err := json.Marshal(e)
	if err != nil {
		panic(err) // it is plain data
	}
	return strings.ReplaceAll(string(encoded), "rendered/"+name+"/", "rendered//")
}

func newSection(alike []Environment) *section {
	e := alike[0]
	s := &section{heading: heading(alike), others: e.others(len(alike))}
	for _, same := range repeated(e.Effects) {
		s.rows = append(s.rows, &block{text: row(same), isRisky: same[0].Risk != ""})
	}
	risky := map[Object]bool{}
	for _, effect := range e.Effects {
		risky[effect.Object] = risky[effect.Object] || effect.Risk != ""
	}
	for _, c := range e.Changes {
		s.diffs = append(s.diffs, &block{text: diffText(c.Diff), isRisky: risky[c.Object] || risky[c.owner]})
	}
	return s
}

// heading says how much changes in environments that are alike.
func heading(alike []Environment) string {
	e := alike[0]
	names := make([]string, len(alike))
	for i, other := range alike {
		names[i] = quoted(other.Name).markdown()
	}
	title := fmt.Sprintf("### %s: %s", strings.Join(names, ", "), e.Counts)
	if len(alike) > 1 {
		title += " in each"
	}
	switch {
	case e.IsNew:
		title += ", a new environment"
	case e.IsGone:
		title += ", the whole environment"
	}
	risks := int64(0)
	for _, effect := range e.Effects {
		if effect.Risk != "" {
			risks++
		}
	}
	if risks > 0 {
		title += " · ⚠️ " + string(count(risks, "risk"))
	}
	return title + "\n\n"
}

// String is how many objects change: "2 added, 1 changed".
func (c Counts) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{c.Added, "added"}, {c.Changed, "changed"}, {c.Replaced, "replaced"}, {c.Removed, "removed"}, {c.Stray, "not in git"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}

// others says whose diffs are shown, where several environments are alike.
func (e Environment) others(environments int) string {
	if environments == 1 {
		return ""
	}
	return html.EscapeString(" of rendered/" + visible(e.Name) + ", the same in the others")
}

// repeated returns effects, those together that happen to several objects.
func repeated(effects []Effect) (groups [][]Effect) {
	type sentences struct{ what, risk Sentence }
	index := map[sentences]int{}
	for _, e := range effects {
		key := sentences{e.What, e.Risk}
		if _, ok := index[key]; !ok {
			index[key] = len(groups)
			groups = append(groups, nil)
		}
		groups[index[key]] = append(groups[index[key]], e)
	}
	return groups
}

// row is an effect on objects as a row of a table.
func row(same []Effect) string {
	const most = 6
	var objects []string
	for _, e := range same[:min(len(same), most)] {
		objects = append(objects, named(e.Object).markdown())
	}
	if more := len(same) - most; more > 0 {
		objects = append(objects, fmt.Sprintf("and %d more", more))
	}
	mark, what := "", same[0].What.markdown()
	if risk := same[0].Risk; risk != "" {
		mark, what = "⚠️", what+"<br>**"+risk.markdown()+"**"
	}
	return fmt.Sprintf("| %s | %s | %s |\n", mark, strings.Join(objects, "<br>"), what)
}

const tableHead = "| | Object | What happens |\n|-|-|-|\n"

// longestLine is how many characters of a line of a diff are shown.
const longestLine = 1000

// diffText is a diff of which every character is seen, and whose lines are not endless.
func diffText(diff string) string {
	var lines []string
	for line := range strings.Lines(diff) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		for i := range cells {
			cells[i] = visible(cells[i])
		}
		lines = append(lines, strings.Join(cells, "\t"))
	}
	var b strings.Builder
	alike := beginnings(lines)
	for i, line := range lines {
		b.WriteString(cutLine(line, alike[i]) + "\n")
	}
	return b.String()
}

// beginnings are in how many characters each line begins as the one that it takes the place
// of, or that takes its place.
func beginnings(lines []string) []int {
	alike := make([]int, len(lines))
	for start := 0; start < len(lines); start++ {
		middle := endOf(lines, start, "-")
		end := endOf(lines, middle, "+")
		for i := range min(middle-start, end-middle) {
			n := commonPrefix([]rune(lines[start+i][1:]), []rune(lines[middle+i][1:]))
			alike[start+i], alike[middle+i] = n, n
		}
		start = max(start, end-1)
	}
	return alike
}

// endOf is the first line from one on that has another sign.
func endOf(lines []string, from int, sign string) int {
	for from < len(lines) && strings.HasPrefix(lines[from], sign) {
		from++
	}
	return from
}

// cutLine cuts a long line, such that it is seen where it is not alike any more.
func cutLine(line string, alike int) string {
	const around = 100
	if utf8.RuneCountInString(line) <= longestLine {
		return line
	}
	head, rest := "", []rune(line)
	if alike > longestLine-around {
		skipped := alike - 2*around
		head, rest = string(rest[:around])+fmt.Sprintf("… %d characters that stay …", skipped), rest[around+skipped:]
	}
	if more := len(rest) - longestLine; more > 0 {
		rest = append(rest[:longestLine:longestLine], []rune(fmt.Sprintf("… and %d more characters", more))...)
	}
	return head + string(rest)
}

// fenceOf is a fence that is longer than those in texts.
func fenceOf(blocks []*block) string {
	longest := 2
	for _, b := range blocks {
		longest = max(longest, longestRun(b.text, '`'))
	}
	return strings.Repeat("`", longest+1)
}

// byRisk are blocks, those with a risk first.
func byRisk(blocks []*block) []*block {
	sorted := slices.Clone(blocks)
	slices.SortStableFunc(sorted, func(a, b *block) int {
		switch {
		case a.isRisky == b.isRisky:
			return 0
		case a.isRisky:
			return -1
		}
		return 1
	})
	return sorted
}
