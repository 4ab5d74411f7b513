package command

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/object"
)

// report is what was done, for programs.
type report struct {
	Environments []environmentReport `json:"environments"`
	// Orphans are the files below rendered/ that no index lists, which a check does not pass.
	Orphans []object.Problem `json:"orphans,omitempty"`

	check bool
}

// environmentReport is what was done for one environment. Paths are relative to the
// root, with slashes.
type environmentReport struct {
	Name string `json:"name"`
	// Objects is how many objects the environment has.
	Objects int `json:"objects"`
	// Written are the files that are new or changed, Unchanged those that were right
	// already, Pruned those that are rendered no more: none where any environment has
	// errors. A check says what would be.
	Written   []string `json:"written"`
	Unchanged []string `json:"unchanged"`
	Pruned    []string `json:"pruned"`
	// Errors are why nothing was written, in any environment.
	Errors []object.Problem `json:"errors"`
	// Warnings are what may not be as it was meant.
	Warnings []object.Problem `json:"warnings"`
	// Diff is a unified diff of all that would be written and pruned.
	Diff string `json:"diff,omitempty"`
}

func newReport(update *render.Update, check bool) report {
	r := report{Environments: []environmentReport{}, Orphans: update.Orphans, check: check}
	for _, e := range update.Environments {
		one := environmentReport{Name: e.Name, Objects: e.Objects, Written: []string{}, Unchanged: []string{}, Pruned: []string{}}
		one.Errors, one.Warnings = object.SplitProblems(e.Problems)
		if !update.Failed() {
			one.Written, one.Unchanged, one.Pruned = e.Plan.Written(), e.Plan.Unchanged(), e.Plan.Pruned()
			if check {
				one.Diff = e.Plan.Diff()
			}
		}
		r.Environments = append(r.Environments, one)
	}
	return r
}

// failed says whether there are errors.
func (r report) failed() bool {
	errors, _ := r.problems()
	return len(errors) > 0
}

// problems are the errors and the warnings of all environments: what several of them have,
// as of a shared base, is there once. Orphans are among them, but for those of a check, which
// are a difference.
func (r report) problems() (errors, warnings []object.Problem) {
	if !r.check {
		errors, warnings = object.SplitProblems(r.Orphans)
	}
	for _, e := range r.Environments {
		errors, warnings = append(errors, e.Errors...), append(warnings, e.Warnings...)
	}
	return once(errors), once(warnings)
}

// toRead are the problems that people read, with those warnings left out that too many are
// like: warnings first, then the orphans of a check, then errors.
func (r report) toRead() []object.Problem {
	errors, warnings := r.problems()
	return slices.Concat(few(warnings), few(r.refused()), errors)
}

// refused are the orphans that a check does not pass.
func (r report) refused() (orphans []object.Problem) {
	if !r.check {
		return nil
	}
	for _, orphan := range r.Orphans {
		orphan.Warning = false
		orphans = append(orphans, orphan)
	}
	return orphans
}

// once returns problems without those that are there already.
func once(problems []object.Problem) (distinct []object.Problem) {
	isThere := map[string]bool{}
	for _, p := range problems {
		if line := p.String(); !isThere[line] {
			isThere[line] = true
			distinct = append(distinct, p)
		}
	}
	return distinct
}

// maxAlike is how many warnings that are alike people read. It is how many annotations a
// step of a workflow may have.
const maxAlike = 10

// few returns warnings without those that too many are like. The last that is kept says how
// many those are.
func few(warnings []object.Problem) (kept []object.Problem) {
	alike, last := map[string]int{}, map[string]int{}
	for _, w := range warnings {
		like := likeness(w)
		if alike[like]++; alike[like] <= maxAlike {
			last[like] = len(kept)
			kept = append(kept, w)
		}
	}
	for like, i := range last {
		if more := alike[like] - maxAlike; more > 0 {
			kept[i].Message += fmt.Sprintf(" (and %d more like it, which --output json lists)", more)
		}
	}
	return kept
}

// ofOne matches what tells one of many objects or fields: an index, or a hash in a name.
var ofOne = regexp.MustCompile(`\[\d+\]|-[0-9a-f]{10}\b`)

// likeness is what warnings that are alike have in common: the message without the name of
// the object and without the value.
func likeness(w object.Problem) string {
	message := w.Message
	_, name, _ := strings.Cut(w.Object, " ")
	value, _ := w.Value.Is.(string)
	for _, one := range []string{name, value} {
		if one != "" {
			message = strings.ReplaceAll(message, one, "")
		}
	}
	return ofOne.ReplaceAllString(message, "")
}

// totals says how many errors and warnings there are; nothing where a summary does.
func (r report) totals() string {
	errors, warnings := r.problems()
	var counts []string
	if n := len(errors); n > 0 {
		counts = append(counts, "error: "+count(n, "problem"))
	}
	if n := len(warnings); n > 0 && (r.check || len(errors) > 0) {
		counts = append(counts, count(n, "warning"))
	}
	if n := len(r.refused()); n > 0 {
		counts = append(counts, count(n, "path")+" below rendered/ that render did not write")
	}
	if len(errors) > 0 {
		counts = append(counts, "nothing was written")
	}
	return strings.Join(counts, ", ")
}

// printJSON prints a report, or an answer, as JSON. What would direct a terminal is escaped there, too.
func printJSON(w io.Writer, r any) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	var escaped strings.Builder
	for _, c := range string(content) {
		if unicode.IsPrint(c) || c == '\n' {
			escaped.WriteRune(c)
			continue
		}
		for _, unit := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&escaped, "\\u%04x", unit)
		}
	}
	_, err = io.WriteString(w, escaped.String()+"\n")
	return err
}
