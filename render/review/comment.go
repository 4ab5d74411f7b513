package review

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/comment"
	"example.com/gatehouse/render/review/effect"
)

// Marker is the first line of every comment. Programs find the comment to update by it.
const Marker = "<!-- gatehouse-diff -->"

// Markdown returns a comment for GitHub or GitLab: tables of the frame and of the effects on each cluster,
// then folded diffs. A comment of more than limit bytes omits diffs, and then rows, by their ranks. It names
// omitted objects, counts omitted risks, and refers to the command.
func (r *Review) Markdown(limit int, command string) string {
	c := r.comment()
	others := tableOfOthers(r.Frame)
	if len(r.Environments) == 0 {
		isLast := len(c.Folds)+len(others) == 0
		c.Tables = append(c.Tables, &comment.Section{Title: comment.Line{Text: r.nothing(isLast)}})
	}
	c.Tables = append(c.Tables, others...)
	return Marker + "\n" + c.Compose(limit-len(Marker+"\n"), command)
}

// nothing says that no environment changes. With a risk around them, clusters may.
func (r *Review) nothing(isLast bool) string {
	text := "No change to any cluster.\n"
	if slices.ContainsFunc(r.Frame, func(c FrameReview) bool { return c.Risk != "" }) {
		text = "No environment changes.\n"
	}
	if !isLast {
		text += "\n"
	}
	return text
}

func (r *Review) comment() *comment.Comment {
	c := &comment.Comment{}
	if frame := tableOfFrame(r.Frame); len(frame.Lines) > 0 {
		c.Tables = append(c.Tables, frame)
	}
	beside := EnvironmentReview{}
	for _, found := range r.Frame {
		beside.Effects = append(beside.Effects, found.Effects...)
		beside.Changes = append(beside.Changes, found.Changes...)
	}
	if len(beside.Changes) > 0 {
		c.Folds = append(c.Folds, foldOf([]EnvironmentReview{beside}, ""))
	}
	groups := r.groupAlike()
	for _, alike := range groups {
		of := ""
		if len(groups) > 1 {
			of = " of " + codeSpan(alike[0].Name)
		}
		c.Tables = append(c.Tables, tableOf(alike, of))
		c.Folds = append(c.Folds, foldOf(alike, of))
	}
	return c
}

// groupAlike groups environments with equal changes.
func (r *Review) groupAlike() (groups [][]EnvironmentReview) {
	if len(r.Environments) == 1 { // without the cost of a comparison
		return [][]EnvironmentReview{r.Environments}
	}
	index := map[string]int{}
	for _, e := range r.Environments {
		key := e.withoutName()
		if _, ok := index[key]; !ok {
			index[key] = len(groups)
			groups = append(groups, nil)
		}
		groups[index[key]] = append(groups[index[key]], e)
	}
	return groups
}

// withoutName encodes the review of an environment without its name.
func (e EnvironmentReview) withoutName() string {
	name := e.Name
	e.Name = ""
	encoded, err := json.Marshal(e)
	if err != nil {
		panic(err) // it is plain data
	}
	return strings.ReplaceAll(string(encoded), "rendered/"+name+"/", "rendered//")
}

// tableOf returns the table for environments with equal changes. The effects on an object share a row. Names of
// omitted rows end with of.
func tableOf(alike []EnvironmentReview, of string) *comment.Section {
	const most = 12 // names in a brief title
	e := alike[0]
	t := &comment.Section{Open: "| | Object | What happens |\n|-|-|-|\n", End: "\n"}
	risks := 0
	installed := map[manifest.ID]string{}
	for _, c := range e.Changes {
		if c.InstalledBy != nil {
			installed[c.Object] = "<br>of " + codeSpan(c.InstalledBy.String())
		}
	}
	nameOf := e.names()
	for _, found := range e.Effects {
		object := codeSpan(nameOf(found.Object))
		t.Lines = append(t.Lines, lineOf(object+installed[found.Object], object+of, found))
		if found.Risk != "" {
			risks++
		}
	}
	t.Title = comment.Line{Text: titleOf(alike, len(alike), risks), Brief: titleOf(alike, most, risks),
		Name: codeSpan(e.Name)}
	return t
}

// names returns a function that names an object: with its group if an object of another group has its kind,
// namespace and name.
func (e EnvironmentReview) names() func(manifest.ID) string {
	all := map[string]sets.Set[manifest.ID]{}
	add := func(o manifest.ID) { all[o.String()] = all[o.String()].Union(sets.New(o)) }
	for _, found := range e.Effects {
		add(found.Object)
	}
	for _, c := range e.Changes {
		add(c.Object)
	}
	return func(o manifest.ID) string {
		if len(all[o.String()]) > 1 {
			return o.WithGroup()
		}
		return o.String()
	}
}

func lineOf(row, name string, e effect.Effect) comment.Line {
	what, risk := e.What.Format(manifest.CodeSpan), e.Risk.Format(manifest.CodeSpan)
	l := comment.Line{Row: row, Text: withRisk(what, risk), Name: name, IsRisk: risk != ""}
	if len(l.Text) > comment.Long {
		if len(risk) > comment.Long/4 {
			risk = "and so is the risk"
		}
		l.Brief = withRisk("an effect that is too long for this comment", risk)
	}
	return l
}

func withRisk(what, risk string) string {
	if risk == "" {
		return what
	}
	return what + "<br>**" + risk + "**"
}

// titleOf returns the heading of environments with equal changes. It names most environments.
func titleOf(alike []EnvironmentReview, most, risks int) string {
	e, names := alike[0], make([]string, len(alike))
	for i, other := range alike {
		names[i] = codeSpan(other.Name)
	}
	var about []string
	counts := e.Counts.String()
	if counts != "" && len(alike) > 1 {
		counts += " in each"
	}
	if counts != "" {
		about = append(about, counts)
	}
	switch {
	case e.IsNew:
		about = append(about, "a new environment")
	case e.IsGone:
		about = append(about, "the whole environment")
	}
	changed := len(e.Changes)
	for _, n := range e.Counts {
		changed -= n
	}
	if changed > 0 {
		about = append(about, string(kind.Count(int64(changed), "definition"))+" changed")
	}
	if e.Kubernetes != nil {
		about = append(about, e.Kubernetes.String())
	}
	return heading(manifest.FirstOf(most, names)+": "+cmp.Or(strings.Join(about, ", "), "no object changed"), risks)
}

// tableOfFrame returns the table of changed files with a risk, each with its objects.
func tableOfFrame(frame []FrameReview) *comment.Section {
	t := &comment.Section{Open: "| | File | What happens |\n|-|-|-|\n", End: "\n"}
	risks := 0
	for _, c := range frame {
		if c.Risk == "" {
			continue
		}
		risks++
		file := kind.Say("%s", c.File).Format(manifest.CodeSpan)
		first := effect.Effect{Effect: kind.Effect{What: kind.Sentence(c.Action), Risk: c.Risk}}
		t.Lines = append(t.Lines, lineOf(file, file, first))
		for _, found := range c.Effects {
			found.What = kind.Say("%s ", found.Object.String()) + found.What
			line := lineOf(file, file, found)
			line.IsRisk = true
			t.Lines = append(t.Lines, line)
		}
	}
	t.Title = comment.Line{Text: heading("Around the review", risks)}
	return t
}

// tableOfOthers returns the line of changed files without a risk, if there are any.
func tableOfOthers(frame []FrameReview) []*comment.Section {
	var names []string
	for _, c := range frame {
		if c.Risk == "" {
			names = append(names, c.File)
		}
	}
	if len(names) == 0 {
		return nil
	}
	count := string(kind.Count(int64(len(names)), "other file")) + " changed"
	line := comment.Line{Text: count + ": " + compare.SayFiles(names).Format(manifest.CodeSpan) + "\n", Name: count}
	return []*comment.Section{{Lines: []comment.Line{line}, End: "\n"}}
}

func heading(text string, risks int) string {
	if risks > 0 {
		text += " · ⚠️ " + string(kind.Count(int64(risks), "risk"))
	}
	return "### " + text + "\n\n"
}

func codeSpan(name string) string { return manifest.CodeSpan(kind.Visible(name)) }

// foldOf returns the folded diffs of environments with equal changes, by rank: objects with a risk, or with a
// source object that has one, and then small diffs.
func foldOf(alike []EnvironmentReview, of string) *comment.Section {
	e, others := alike[0], ""
	if len(alike) > 1 {
		others = html.EscapeString(" of rendered/" + kind.Visible(e.Name) + ", the same in the others")
	}
	f := &comment.Section{Open: "<details><summary>" + comment.CountMark + others + "</summary>\n\n",
		End: "</details>\n\n"}
	hasRisk := map[manifest.ID]bool{}
	for _, found := range e.Effects {
		hasRisk[found.Object] = hasRisk[found.Object] || found.Risk != ""
	}
	nameOf := e.names()
	for _, c := range e.Changes {
		name := fmt.Sprintf("%s%s (%s)", codeSpan(nameOf(c.Object)), of,
			kind.Count(int64(strings.Count(c.Diff, "\n")), "line"))
		f.Lines = append(f.Lines, comment.Line{Text: c.Diff, IsDiff: true, Size: len(c.Diff), Name: name,
			IsRisk: hasRisk[c.Object] || hasRisk[c.owner]})
	}
	slices.SortStableFunc(f.Lines, comment.CompareRanks)
	return f
}

// String returns the counts as text: "2 added, 1 changed".
func (c Counts) String() string {
	var parts []string
	for _, action := range []compare.Action{compare.Added, compare.Changed, compare.Replaced, compare.Removed} {
		if c[action] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c[action], action))
		}
	}
	return strings.Join(parts, ", ")
}

// Failure returns a comment with the review and the errors of a change that does not render. If it has more
// than limit bytes, it refers to the command in place of the errors.
func (r *Review) Failure(problems []manifest.Problem, limit int, command string) string {
	var lines strings.Builder
	for _, p := range problems {
		lines.WriteString(kind.Visible(p.String()) + "\n")
	}
	head := Marker + "\n"
	if tables := slices.Concat(r.comment().Tables, tableOfOthers(r.Frame)); len(tables) > 0 {
		head += (&comment.Comment{Tables: tables}).Compose(limit/2, command)
	}
	head += fmt.Sprintf("### ❌ Does not render: %s\n\n", kind.Count(int64(len(problems)), "error"))
	if comment := head + manifest.CodeBlock("", lines.String()); len(comment) <= limit {
		return comment
	}
	return head + manifest.CodeSpan(command) + " shows all errors.\n"
}
