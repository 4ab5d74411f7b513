package review

import (
	"cmp"
	"fmt"
	"html"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/comment"
	"example.com/gatehouse/render/review/effect"
)

// Marker is the first line of every comment. Programs find the comment to update by it.
const Marker = "<!-- gatehouse-diff -->"

// Markdown returns a comment for GitHub or GitLab: a summary, tables of the frame and of the effects on each cluster,
// then folded diffs. A comment of more than limit bytes omits diffs, and then rows, by their ranks. It names omitted
// objects, counts omitted effects, and refers to the command.
func (r *Review) Markdown(limit int, command string) string {
	groups := r.alike()
	c := r.comment(groups)
	others := tableOfOthers(r.Frame)
	if len(r.Environments) == 0 {
		isLast := len(c.Folds)+len(others) == 0
		c.Tables = append(c.Tables, &comment.Section{Title: comment.Line{Text: r.nothing(isLast)}})
	}
	c.Tables = append(c.Tables, others...)
	head := Marker + "\n" + r.sayUnbuilt() + r.summary(groups, limit/8)
	return head + c.Compose(limit-len(head), command)
}

// sayUnbuilt names the environments that do not build.
func (r *Review) sayUnbuilt() string {
	if len(r.Unbuilt) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s does not build, neither before the change nor after it: nobody knows what changes there."+
		"\n\n", comment.Unknown, codeSpan(manifest.FirstOf(3, r.Unbuilt)))
}

// nothing says that no environment changes. With other files around them, clusters may.
func (r *Review) nothing(isLast bool) string {
	text := "No change to any cluster.\n"
	if len(r.Unbuilt) > 0 || slices.ContainsFunc(r.Frame, func(c FrameReview) bool { return !c.IsOrdinary }) {
		text = "No environment shows a change.\n"
	}
	if !isLast {
		text += "\n"
	}
	return text
}

func (r *Review) comment(groups [][]EnvironmentReview) *comment.Comment {
	c := &comment.Comment{}
	told := map[string]*comment.Line{}
	if frame := tableOfFrame(r.Frame); len(frame.Lines) > 0 {
		c.Tables = append(c.Tables, frame)
	}
	beside := EnvironmentReview{}
	for _, found := range r.Frame {
		beside.Effects = append(beside.Effects, found.Effects...)
		beside.Changes = append(beside.Changes, found.Changes...)
	}
	if len(beside.Changes) > 0 {
		c.Folds = append(c.Folds, foldOf([]EnvironmentReview{beside}, "", told))
	}
	for _, alike := range groups {
		of := ""
		if len(groups) > 1 {
			of = " of " + codeSpan(alike[0].Name)
		}
		c.Tables = append(c.Tables, tableOf(alike, of))
		for _, same := range groupBy(alike, EnvironmentReview.changedLines) {
			c.Folds = append(c.Folds, foldOf(same, of, told))
		}
	}
	c.Folds = slices.DeleteFunc(c.Folds, func(f *comment.Section) bool { return len(f.Lines) == 0 })
	for _, f := range c.Folds {
		slices.SortStableFunc(f.Lines, comment.CompareRanks)
	}
	return c
}

// alike groups environments with equal rows but for their names.
func (r *Review) alike() [][]EnvironmentReview {
	return groupBy(r.Environments, EnvironmentReview.text)
}

// groupBy groups values with equal texts, in the order of the first of each group.
func groupBy[T any](all []T, text func(T) string) (groups [][]T) {
	if len(all) == 1 { // without the cost of a comparison
		return [][]T{all}
	}
	index := map[string]int{}
	for _, one := range all {
		key := text(one)
		if _, ok := index[key]; !ok {
			index[key] = len(groups)
			groups = append(groups, nil)
		}
		groups[index[key]] = append(groups[index[key]], one)
	}
	return groups
}

// withoutName returns a function that replaces the name of the environment by a mark: namespaces and hosts of
// environments often have it.
func (e EnvironmentReview) withoutName() func(text string) string {
	name := regexp.MustCompile(`\b` + regexp.QuoteMeta(path.Base(e.Name)) + `\b`)
	return func(text string) string { return name.ReplaceAllLiteralString(text, "\x00") }
}

// text is equal for environments with equal rows, of which the same is routine.
func (e EnvironmentReview) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %t %t %+v\n", e.Counts, e.IsNew, e.IsGone, ptr.Deref(e.Kubernetes, compare.KubernetesChange{}))
	fmt.Fprintf(&b, "%d %q\n", e.definitions, e.reserved)
	for _, found := range e.Effects {
		fmt.Fprintf(&b, "%q %q %q %s\n", found.Object, found.What, found.Risk, found.Rank)
	}
	for _, c := range e.Changes {
		fmt.Fprintf(&b, "%s %q %q\n", c.Action, c.Object, c.InstalledBy)
	}
	return e.withoutName()(b.String())
}

// changedLines returns a text that is equal for environments with equal changed lines of objects.
func (e EnvironmentReview) changedLines() string {
	var b strings.Builder
	for _, c := range e.Changes {
		fmt.Fprintf(&b, "%q\n%s", c.Object, c.ChangedLines())
	}
	return e.withoutName()(b.String())
}

// ChangedLines returns the added and removed lines of a diff.
func (c Change) ChangedLines() string {
	var b strings.Builder
	_, hunks, _ := strings.Cut(c.Diff, "\n@@")
	for line := range strings.Lines(hunks) {
		if strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// told is a row: objects with equal effects.
type told struct {
	objects []manifest.ID
	effects []effect.Effect // on the first object
}

// told returns the rows of an environment, in the order of their first effects.
func (e EnvironmentReview) told() (rows []*told) {
	of := map[manifest.ID][]effect.Effect{}
	by := map[manifest.ID]manifest.ID{}
	for _, c := range e.Changes {
		by[c.Object] = c.InstalledBy
	}
	var objects []manifest.ID
	for _, found := range e.Effects {
		if of[found.Object] == nil {
			objects = append(objects, found.Object)
		}
		of[found.Object] = append(of[found.Object], found)
	}
	groups := groupBy(objects, func(o manifest.ID) string {
		var b strings.Builder
		fmt.Fprintf(&b, "%q", by[o])
		for _, found := range of[o] {
			fmt.Fprintf(&b, "\n%q %q %s", found.What, found.Risk, found.Rank)
		}
		return b.String()
	})
	for _, alike := range groups {
		rows = append(rows, &told{alike, of[alike[0]]})
	}
	return rows
}

// name names the objects of a row, most of them if they are few.
func (t *told) name(nameOf func(manifest.ID) string, most int) string {
	names := make([]string, min(len(t.objects), most+1))
	for i := range names {
		names[i] = codeSpan(nameOf(t.objects[i]))
	}
	if len(t.objects) == 1 {
		return names[0]
	}
	text := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(t.objects) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%d objects: %s", len(t.objects), text)
}

// plain is name for text.
func (t *told) plain(nameOf func(manifest.ID) string) string {
	name := nameOf(t.objects[0])
	if more := len(t.objects) - 1; more > 0 {
		name = fmt.Sprintf("%d objects: %s and %d more", len(t.objects), name, more)
	}
	return name
}

// tableOf returns the table for environments with equal changes. The effects on an object share a row. Names of
// omitted rows end with of.
func tableOf(alike []EnvironmentReview, of string) *comment.Section {
	const most, brief, mostNamed = 24, 12, 6 // names in a title, a brief one, and a row
	e := alike[0]
	t := &comment.Section{Open: "| | Object | What happens |\n|-|-|-|\n", End: "\n"}
	installed := map[manifest.ID]string{}
	for _, c := range e.Changes {
		if c.InstalledBy != (manifest.ID{}) {
			installed[c.Object] = "<br>of " + codeSpan(c.InstalledBy.String())
		}
	}
	nameOf := e.names()
	for _, row := range e.told() {
		cell := row.name(nameOf, mostNamed) + installed[row.objects[0]]
		for _, found := range row.effects {
			line := lineOf(cell, row.name(nameOf, 1)+of, found)
			line.Count = len(row.objects)
			t.Lines = append(t.Lines, line)
		}
	}
	t.Title = comment.Line{Text: titleOf(alike, most), Brief: titleOf(alike, brief), Name: codeSpan(e.Name)}
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
	what := e.What.Format(manifest.CodeSpan)
	risk := e.Risk.Format(manifest.CodeSpan)
	l := comment.Line{Row: row, Text: withRisk(what, risk), Name: name, Severity: int(e.Severity)}
	switch {
	case risk != "":
		l.Mark = comment.Risk
	case e.Rank != effect.IsKnown:
		l.Mark = comment.Unknown
	}
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
func titleOf(alike []EnvironmentReview, most int) string {
	names := make([]string, len(alike))
	for i, other := range alike {
		names[i] = codeSpan(other.Name)
	}
	return "### " + alike[0].Heading(manifest.FirstOf(most, names), len(alike)) + "\n\n"
}

// Heading returns the names, if any, of some environments with the changes of each.
func (e EnvironmentReview) Heading(names string, count int) string {
	var changes []string
	counts := e.Counts.String()
	if counts != "" && count > 1 {
		counts += " in each"
	}
	if counts != "" {
		changes = append(changes, counts)
	}
	switch {
	case e.IsNew:
		changes = append(changes, "a new environment")
	case e.IsGone:
		changes = append(changes, "the whole environment")
	}
	if e.definitions > 0 {
		changes = append(changes, string(kind.Count(int64(e.definitions), "definition"))+" changed")
	}
	if e.Kubernetes != nil {
		changes = append(changes, e.Kubernetes.String())
	}
	text := cmp.Or(strings.Join(changes, ", "), "no object changed")
	return e.facts().heading(strings.TrimPrefix(names+": "+text, ": "))
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
		first := effect.Effect{Effect: kind.Effect{What: kind.Sentence(c.Action), Risk: c.Risk}}.Judged()
		t.Lines = append(t.Lines, lineOf(file, file, first))
		for _, found := range c.Effects {
			found.What = kind.Say("%s ", found.Object.String()) + found.What
			line := lineOf(file, file, found)
			line.Mark = comment.Risk
			t.Lines = append(t.Lines, line)
		}
	}
	t.Title = comment.Line{Text: "### " + facts{risks: risks}.heading("Around the review") + "\n\n"}
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

// heading counts the effects below a text by rank.
func (f facts) heading(text string) string {
	if f.risks > 0 {
		text += " · " + comment.Risk + " " + string(kind.Count(int64(f.risks), "risk"))
	}
	if f.unknown > 0 {
		text += " · " + comment.Unknown + " " + string(kind.Count(int64(f.unknown), "unknown effect"))
	}
	return text
}

func codeSpan(name string) string { return manifest.CodeSpan(kind.Visible(name)) }

// foldOf returns the folded diffs of environments with equal changes, by rank: objects with a risk, or with a
// source object that has one, and then small diffs. A diff that another line tells is there only as a name.
func foldOf(alike []EnvironmentReview, of string, told map[string]*comment.Line) *comment.Section {
	e := alike[0]
	others := ""
	if len(alike) > 1 {
		others = html.EscapeString(" of rendered/" + kind.Visible(e.Name) + ", the same in the others")
	}
	f := &comment.Section{Open: "<details><summary>" + comment.CountMark + others + "</summary>\n\n",
		End: "</details>\n\n"}
	marks := map[manifest.ID]string{}
	for _, found := range e.Effects {
		if found.Risk != "" {
			marks[found.Object] = comment.Risk
		}
	}
	nameOf := e.names()
	withoutName := e.withoutName()
	own := sets.Set[*comment.Line]{}
	f.Lines = make([]comment.Line, 0, len(e.Changes)) // with room, as others point into it
	for _, c := range e.Changes {
		name := codeSpan(nameOf(c.Object))
		lines := withoutName(c.ChangedLines())
		if same := told[lines]; same != nil && lines != "" {
			if !own.Has(same) {
				name += of
			}
			same.Alike = append(same.Alike, name)
			same.Mark = cmp.Or(same.Mark, marks[c.Object], marks[c.owner])
			continue
		}
		name = fmt.Sprintf("%s%s (%s)", name, of, kind.Count(int64(strings.Count(c.Diff, "\n")), "line"))
		f.Lines = append(f.Lines, comment.Line{Text: c.Diff, IsDiff: true, Size: len(c.Diff), Name: name,
			Mark: cmp.Or(marks[c.Object], marks[c.owner])})
		told[lines] = &f.Lines[len(f.Lines)-1]
		own.Insert(told[lines])
	}
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

// Failure returns a comment with the errors of a change that does not render, and the review of the rest. If the errors
// take more than half of limit bytes, it refers to the command in their place.
func (r *Review) Failure(problems []manifest.Problem, limit int, command string) string {
	var lines strings.Builder
	for _, p := range problems {
		lines.WriteString(kind.Visible(p.String()) + "\n")
	}
	tables := slices.Concat(r.comment(r.alike()).Tables, tableOfOthers(r.Frame))
	head := fmt.Sprintf("%s\n### ❌ Does not render: %s\n\n", Marker, kind.Count(int64(len(problems)), "error"))
	errors := manifest.CodeBlock("", lines.String())
	if most := limit - len(head); len(errors) > most || len(tables) > 0 && len(errors) > most/2 {
		errors = manifest.CodeSpan(command) + " shows all errors.\n"
	}
	head += errors
	if len(tables) == 0 {
		return head
	}
	head += "\n"
	return head + (&comment.Comment{Tables: tables}).Compose(limit-len(head), command)
}

// OldErrors returns a folded list of errors that the base of a change has as well, of at most limit bytes.
func OldErrors(problems []manifest.Problem, limit int) string {
	if len(problems) == 0 {
		return ""
	}
	open := fmt.Sprintf("\n<details><summary>%s of the base</summary>\n\n",
		kind.Count(int64(len(problems)), "old error"))
	const end = "\n</details>\n"
	var lines string
	for i, p := range problems {
		line := kind.Visible(p.String()) + "\n"
		if len(lines+line+open+end)+100 > limit {
			lines += fmt.Sprintf("and %d more\n", len(problems)-i)
			break
		}
		lines += line
	}
	return open + manifest.CodeBlock("", lines) + end
}
