package review

import (
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
)

// Marker is the first line of every comment. Programs find the comment to update by it.
const Marker = "<!-- gatehouse-diff -->"

// Markdown returns a comment for GitHub or GitLab: a table of effects for each cluster, then folded diffs.
// A comment of more than limit bytes ends after the last section that fits, with a note that the command
// shows the rest.
func (r *Review) Markdown(limit int, command string) string {
	if len(r.Environments) == 0 {
		return Marker + "\nNo change to any cluster.\n"
	}
	var parts []string
	groups := r.groupAlike()
	for _, alike := range groups {
		parts = append(parts, tableOf(alike)...)
	}
	for _, alike := range groups {
		if len(alike[0].Changes) > 0 {
			parts = append(parts, foldOf(alike))
		}
	}
	whole := Marker + "\n" + strings.Join(parts, "")
	if len(whole) <= limit {
		return whole
	}
	risks := strings.Count(whole, riskMark)
	limit -= len(cutNote(risks, command))
	text := Marker + "\n"
	for _, part := range parts {
		if len(text)+len(part) > limit {
			break
		}
		text += part
	}
	return text + cutNote(risks-strings.Count(text, riskMark), command)
}

// riskMark begins the row of an effect with a risk. Values in a row contain no newline.
const riskMark = "\n| ⚠️ |"

// cutNote returns the note at the end of a comment that is cut.
func cutNote(risks int, command string) string {
	lacks := ""
	if risks > 0 {
		lacks = fmt.Sprintf(" It omits %s.", kind.Count(int64(risks), "risk"))
	}
	return fmt.Sprintf("\nThis comment is cut.%s %s shows all diffs, and %s all effects.\n", lacks, manifest.CodeSpan(command), manifest.CodeSpan(command+" -o json"))
}

// groupAlike groups environments with equal changes.
func (r *Review) groupAlike() (groups [][]EnvironmentReview) {
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

// tableOf returns the heading and the rows of the table for environments with equal changes.
func tableOf(alike []EnvironmentReview) []string {
	e := alike[0]
	names := make([]string, len(alike))
	for i, other := range alike {
		names[i] = manifest.CodeSpan(kind.Visible(other.Name))
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
	if e.Kubernetes != nil {
		title += ", " + e.Kubernetes.String()
	}
	risks := 0
	rows := make([]string, 0, len(e.Effects))
	for _, effect := range e.Effects {
		if effect.Risk != "" {
			risks++
		}
		rows = append(rows, rowOf(effect))
	}
	if risks > 0 {
		title += " · ⚠️ " + string(kind.Count(int64(risks), "risk"))
	}
	if len(rows) == 0 {
		return []string{title + "\n\n"}
	}
	return slices.Concat([]string{title + "\n\n| | Object | What happens |\n|-|-|-|\n"}, rows, []string{"\n"})
}

func rowOf(e Effect) string {
	object, what := manifest.CodeSpan(kind.Visible(e.Object.String())), e.What.Format(manifest.CodeSpan)
	if e.Risk == "" {
		return fmt.Sprintf("|  | %s | %s |\n", object, what)
	}
	return fmt.Sprintf("| ⚠️ | %s | %s<br>**%s** |\n", object, what, e.Risk.Format(manifest.CodeSpan))
}

// foldOf returns the folded diffs of environments with equal changes.
func foldOf(alike []EnvironmentReview) string {
	e, others := alike[0], ""
	if len(alike) > 1 {
		others = html.EscapeString(" of rendered/" + kind.Visible(e.Name) + ", the same in the others")
	}
	var diffs strings.Builder
	for _, c := range e.Changes {
		diffs.WriteString(kind.Visible(c.Diff, '\n', '\t'))
	}
	return fmt.Sprintf("<details><summary>%s%s</summary>\n\n%s\n</details>\n\n", kind.Count(int64(len(e.Changes)), "diff"), others, manifest.CodeBlock("diff", diffs.String()))
}

// String returns the counts as text: "2 added, 1 changed".
func (c Counts) String() string {
	var parts []string
	for _, action := range []diff.Action{diff.Added, diff.Changed, diff.Replaced, diff.Removed} {
		if c[action] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c[action], action))
		}
	}
	return strings.Join(parts, ", ")
}

// Failure returns a comment with the errors of a change that does not render. If it has more than limit
// bytes, it refers to the command in place of the errors.
func Failure(problems []manifest.Problem, limit int, command string) string {
	var lines strings.Builder
	for _, p := range problems {
		lines.WriteString(kind.Visible(p.String()) + "\n")
	}
	head := fmt.Sprintf("%s\n### ❌ Does not render: %s\n\n", Marker, kind.Count(int64(len(problems)), "error"))
	if comment := head + manifest.CodeBlock("", lines.String()); len(comment) <= limit {
		return comment
	}
	return head + manifest.CodeSpan(command) + " shows all errors.\n"
}
