package command

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
)

// report is the result of a run, as -o json prints it.
type report struct {
	Environments []environmentReport `json:"environments"`
	// Orphans are the files below rendered/ that no index lists. A check fails because of them.
	Orphans []manifest.Problem `json:"orphans,omitempty"`

	check bool
}

// environmentReport is the result for one environment. Paths are relative to the root, with slashes.
type environmentReport struct {
	Name string `json:"name"`
	// Objects is the number of objects in the environment.
	Objects int `json:"objects"`
	// Written are the files that are new or changed, Unchanged those that were right already, Pruned
	// those that are no longer rendered: none where any environment has errors. For a check, they are
	// what rendering would do.
	Written   []string `json:"written"`
	Unchanged []string `json:"unchanged"`
	Pruned    []string `json:"pruned"`
	// Errors keep render from writing to any environment.
	Errors []manifest.Problem `json:"errors"`
	// Warnings keep render from nothing.
	Warnings []manifest.Problem `json:"warnings"`
	// Diff is a unified diff of what a check found.
	Diff string `json:"diff,omitempty"`
}

func newReport(update *render.Update, check bool) report {
	r := report{Environments: []environmentReport{}, Orphans: update.Orphans, check: check}
	for _, e := range update.Environments {
		one := environmentReport{Name: e.Name, Objects: e.Objects, Written: []string{}, Unchanged: []string{}, Pruned: []string{}}
		one.Errors, one.Warnings = manifest.SplitProblems(e.Problems)
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

// failed reports whether there are errors.
func (r report) failed() bool {
	errors, _ := r.problems()
	return len(errors) > 0
}

// problems returns the errors and the warnings of all environments, each once, though several may share
// a base. Orphans are among them, except in a check, where they are a difference.
func (r report) problems() (errors, warnings []manifest.Problem) {
	if !r.check {
		errors, warnings = manifest.SplitProblems(r.Orphans)
	}
	for _, e := range r.Environments {
		errors, warnings = append(errors, e.Errors...), append(warnings, e.Warnings...)
	}
	return distinct(errors), distinct(warnings)
}

// toPrint returns the problems to print: warnings, then the orphans of a check, then errors.
func (r report) toPrint() []manifest.Problem {
	errors, warnings := r.problems()
	return slices.Concat(warnings, r.refused(), errors)
}

// refused returns the orphans that make a check fail.
func (r report) refused() (orphans []manifest.Problem) {
	if !r.check {
		return nil
	}
	for _, orphan := range r.Orphans {
		orphan.Warning = false
		orphans = append(orphans, orphan)
	}
	return orphans
}

// distinct returns problems, each once.
func distinct(problems []manifest.Problem) (kept []manifest.Problem) {
	isThere := map[string]bool{}
	for _, p := range problems {
		if line := p.String(); !isThere[line] {
			isThere[line] = true
			kept = append(kept, p)
		}
	}
	return kept
}

// totals returns the numbers of errors and warnings; nothing where the summary has them.
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

// printJSON prints a value as JSON, with all control characters escaped.
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
