package review

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/comment"
	"example.com/gatehouse/render/review/effect"
)

// Routine says whether a change has known effects alone. It does not judge the content of new images.
type Routine struct {
	IsRoutine bool `json:"isRoutine"`
	// Reasons say what is routine, or what is not.
	Reasons []string `json:"reasons"`
	// Against has the first objects and files that are not routine.
	Against []string `json:"against,omitempty"`
}

// facts are what a routine change has, and what it must not have.
type facts struct {
	risks, unknown int
	others         []string         // reasons that are no effects
	images         sets.Set[string] // new versions
	rolled         map[string]int64 // workloads with new Pods, by kind
	known          int              // objects
}

// facts returns the facts of an environment. An unknown effect on an object with a risk does not count.
func (e EnvironmentReview) facts() facts {
	f := facts{images: e.images, rolled: map[string]int64{}, known: len(e.Changes)}
	hasRisk := map[manifest.ID]bool{}
	for _, found := range e.Effects {
		hasRisk[found.Object] = hasRisk[found.Object] || found.Risk != ""
	}
	for _, found := range e.Effects {
		switch {
		case found.Risk != "":
			f.risks++
		case hasRisk[found.Object]:
		case found.Rank != effect.IsKnown:
			f.unknown++
		case found.Type == effect.WorkloadRolled:
			f.rolled[found.Object.Kind]++
		}
	}
	if e.Kubernetes != nil {
		f.others = append(f.others, "another version of Kubernetes")
	}
	if e.definitions > 0 {
		f.others = append(f.others, "other definitions")
	}
	if len(e.reserved) > 0 {
		f.others = append(f.others, manifest.FirstOf(3, e.reserved)+": never routine")
	}
	return f
}

// NeverRoutine is an annotation of objects whose changes a person has to see, of their Namespaces, or of the object
// that installs them or that they are rendered from.
const NeverRoutine = "gatehouse.example.com/never-routine"

// reservedIn returns the changed objects that are never routine. A removed annotation counts.
func reservedIn(both *compare.Comparison) (names []string) {
	reserved := sets.Set[manifest.ID]{}
	for _, o := range slices.Concat(both.Before().Objects, both.After().Objects) {
		if _, ok := o.GetAnnotations()[NeverRoutine]; ok {
			reserved.Insert(compare.IDOf(o))
		}
	}
	if len(reserved) == 0 {
		return nil
	}
	sync := manifest.ID{} // of the whole environment
	if both.Environment != nil {
		sync = both.Environment.Sync()
	}
	for _, c := range both.Changes {
		owner, _ := compare.OwnerOf(both.Kinds, c.Object().Unstructured)
		by := append([]manifest.ID{c.Object().ID(), owner, sync,
			{Kind: "Namespace", Name: compare.NamespaceOf(c.Object().Unstructured)}}, both.Above(c.InstalledBy)...)
		if c.Before != nil { // of another name
			by = append(by, compare.IDOf(c.Before))
		}
		if slices.ContainsFunc(by, reserved.Has) {
			names = append(names, codeSpan(c.Object().String()))
		}
	}
	return names
}

// imagesOf returns the new images of the changes of an environment.
func imagesOf(both *compare.Comparison) sets.Set[string] {
	images := sets.Set[string]{}
	for _, c := range both.Changes {
		if c.Action() != compare.Changed {
			continue
		}
		for _, field := range c.Fields() {
			if strings.HasSuffix(field.Path, ".image") && field.After != nil {
				images.Insert(*field.After)
			}
		}
	}
	return images
}

// facts returns the facts of all environments, equal rows once, and of the files around them.
func (r *Review) facts(groups [][]EnvironmentReview) facts {
	all := facts{images: sets.Set[string]{}, rolled: map[string]int64{}}
	for _, alike := range groups {
		f := alike[0].facts()
		n := len(alike)
		all.risks += f.risks
		all.unknown += f.unknown
		all.known += n * f.known
		all.others = append(all.others, f.others...)
		for k, rolled := range f.rolled {
			all.rolled[k] += int64(n) * rolled
		}
		for _, e := range alike {
			all.images = all.images.Union(e.images)
		}
	}
	for _, c := range r.Frame {
		if c.Risk != "" {
			all.risks++
		}
	}
	if n := int64(len(r.Frame)); n > 0 {
		all.others = append(all.others, string(kind.Count(n, "file"))+" beside the environments")
	}
	if n := int64(len(r.Unbuilt)); n > 0 {
		all.others = append(all.others, string(kind.Count(n, "environment"))+" not built")
	}
	all.others = slices.Compact(all.others)
	return all
}

// Routine says whether the whole change is routine.
func (r *Review) Routine() Routine {
	said := r.facts(r.alike()).routine()
	said.Against = r.against()
	return said
}

// against names the first objects and files that are not routine, the gravest of an environment first.
func (r *Review) against() (names []string) {
	const most = 3
	for _, c := range r.Frame {
		names = append(names, c.File)
	}
	for _, e := range r.Environments {
		for _, found := range e.Effects {
			name := found.Object.String() + " of " + e.Name
			if found.Rank != effect.IsKnown && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if names = append(names, r.Unbuilt...); len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d more", len(names)-most))
	}
	return names
}

func (f facts) routine() Routine {
	against := make([]string, 0, 2+len(f.others))
	about := []string{}
	add := func(to *[]string, n int64, noun, rest string) {
		if n > 0 {
			*to = append(*to, string(kind.Count(n, noun))+rest)
		}
	}
	add(&against, int64(f.risks), "risk", "")
	add(&against, int64(f.unknown), "unknown effect", "")
	if against = append(against, f.others...); len(against) > 0 {
		return Routine{Reasons: against}
	}
	add(&about, int64(len(f.images)), "image", " of the same repositories")
	for _, k := range slices.Sorted(maps.Keys(f.rolled)) {
		rolls := " roll out"
		if f.rolled[k] == 1 {
			rolls = " rolls out"
		}
		add(&about, f.rolled[k], k, rolls)
	}
	switch {
	case f.known == 0:
		about = []string{"no object changes"}
	case len(about) == 0:
		about = []string{string(kind.Count(int64(f.known), "object")) + " with known changes"}
	}
	return Routine{IsRoutine: true, Reasons: about}
}

// worst is a row of a summary.
type worst struct {
	name, text string
	plain      string // the name without Markdown
	severity   effect.Severity
}

// worst returns the rows with a risk, the gravest first, and the number of all rows.
func (r *Review) worst(groups [][]EnvironmentReview) (risks []worst, rows int) {
	add := func(name, plain string, e effect.Effect) {
		if rows++; e.Risk == "" {
			return
		}
		const long = 600
		what := e.What.Format(manifest.CodeSpan)
		risk := "**" + e.Risk.Format(manifest.CodeSpan) + "**"
		text := what + ": " + risk
		if len(text) > long {
			text = risk
		}
		if len(text) > long {
			text = "its risk is too long for this summary"
		}
		risks = append(risks, worst{name, text, plain, e.Severity})
	}
	for _, c := range r.Frame {
		e := effect.Effect{Effect: kind.Effect{What: kind.Sentence(c.Action), Risk: c.Risk}}.Judged()
		add(kind.Say("%s", c.File).Format(manifest.CodeSpan), kind.Visible(c.File), e)
	}
	for _, alike := range groups {
		nameOf := alike[0].names()
		more := ""
		if len(alike) > 1 {
			more = fmt.Sprintf(" and %d more", len(alike)-1)
		}
		for _, row := range alike[0].told() {
			name := row.name(nameOf, 1) + " of " + codeSpan(alike[0].Name) + more
			plain := row.plain(nameOf) + " of " + alike[0].Name + more
			for _, found := range row.effects {
				add(name, kind.Visible(plain), found)
			}
		}
	}
	slices.SortStableFunc(risks, func(a, b worst) int { return cmp.Compare(b.severity, a.severity) })
	return risks, rows
}

// Sentence sums up the change in one line of plain text. It is empty if nothing changes.
func (r *Review) Sentence() string {
	groups := r.alike()
	risks, rows := r.worst(groups)
	if rows == 0 && len(r.Environments) == 0 {
		return ""
	}
	first := ""
	if len(risks) > 0 {
		first = risks[0].plain
	}
	return r.sentence(groups, first)
}

// sentence sums up the change. It names the gravest risk first, if there is one.
func (r *Review) sentence(groups [][]EnvironmentReview, first string) string {
	all := r.facts(groups)
	said := all.routine()
	if said.IsRoutine {
		text := "Routine: " + strings.Join(said.Reasons, ", ") + "."
		if len(all.images) > 0 {
			text += " Nobody judged the content of new images."
		}
		return text
	}
	mark := comment.Unknown
	if first != "" {
		mark = comment.Risk
		said.Reasons[0] += ", " + first + " first"
	}
	return mark + " " + strings.Join(said.Reasons, "; ") + "."
}

// summary returns the first lines of a comment: a sentence and, if the rows are many in several tables, the worst ones
// in no more than room bytes.
func (r *Review) summary(groups [][]EnvironmentReview, room int) string {
	const many, most = 10, 7
	risks, rows := r.worst(groups)
	if rows == 0 && len(r.Environments) == 0 {
		return ""
	}
	first := ""
	if len(risks) > 0 {
		first = risks[0].name
	}
	text := r.sentence(groups, first) + "\n\n"
	isOneTable := len(r.Frame) == 0 && len(groups) == 1 // in this order
	if rows <= many || len(risks) == 0 || isOneTable {
		return text
	}
	for i, w := range risks {
		line := "- " + comment.Risk + " " + w.name + ": " + w.text + "\n"
		if i == most || len(text)+len(line) > room {
			text += fmt.Sprintf("- and %s\n", kind.Count(int64(len(risks)-i), "more risk"))
			break
		}
		text += line
	}
	return text + "\n"
}
