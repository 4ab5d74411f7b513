package command

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
)

// report is the result of a run, in the format of -o json.
type report struct {
	Environments []environmentReport `json:"environments"`
	// Orphans are files below rendered/ that no index lists. They fail a check.
	Orphans []manifest.Problem `json:"orphans,omitempty"`
	// Coverage counts the judged objects, and lists the rest.
	Coverage render.Coverage `json:"coverage"`

	check            bool
	isDiff           bool
	notCompared      bool // an environment of a diff
	by               grouping
	found            []found            // in environments
	errors, warnings []manifest.Problem // of all environments
	refused          []manifest.Problem // the orphans of a check
}

// environmentReport is the result for one environment. Paths are relative to the root, with slashes.
type environmentReport struct {
	Name string `json:"name"`
	// Objects is the number of objects in the environment.
	Objects int `json:"objects"`
	// Written are new and changed files, Pruned removed ones. The lists are empty if any environment has
	// errors. A check lists the files that rendering would write or prune.
	Written   []string `json:"written"`
	Unchanged []string `json:"unchanged"`
	Pruned    []string `json:"pruned"`
	// Errors prevent writing to any environment.
	Errors   []manifest.Problem `json:"errors"`
	Warnings []manifest.Problem `json:"warnings"`
	// Diff is the unified diff of a check.
	Diff string `json:"diff,omitempty"`
}

// newReport returns the report on problems of environments. It reports a problem of a shared base once.
func newReport(all []found, check bool, by grouping) report {
	r := report{check: check, by: by, found: all}
	var problems []manifest.Problem
	for _, c := range causesOf(all, each) {
		problems = append(problems, c.problems...)
	}
	r.errors, r.warnings = manifest.SplitProblems(problems)
	return r
}

// reportUpdate returns the report on an update. Orphans are warnings, except in a check, where they are differences.
func reportUpdate(update *render.Update, check bool, by grouping) report {
	var orphans, refused []manifest.Problem
	var all []found
	for _, orphan := range update.Orphans {
		if check {
			orphan.Warning = false
			refused = append(refused, orphan)
		} else {
			orphans = append(orphans, orphan)
		}
	}
	environments := make([]environmentReport, 0, len(update.Environments))
	for _, e := range update.Environments {
		one := environmentReport{Name: e.Name, Objects: e.Objects, Written: []string{}, Unchanged: []string{},
			Pruned: []string{}}
		one.Errors, one.Warnings = manifest.SplitProblems(e.Problems)
		if !update.Failed() && e.Plan != nil {
			one.Written = e.Plan.Written()
			one.Unchanged = e.Plan.Unchanged()
			one.Pruned = e.Plan.Pruned()
			if check {
				one.Diff = e.Plan.Diff()
			}
		}
		environments = append(environments, one)
		all = append(all, found{e.Name, e.Problems})
	}
	if len(orphans) > 0 {
		all = append(all, found{"", orphans})
	}
	r := newReport(all, check, by)
	r.Environments = environments
	r.Orphans = update.Orphans
	r.Coverage = update.Coverage()
	r.refused = refused
	return r
}

// causes returns the causes of the problems to print, and after them the orphans of a check.
func (r report) causes() []*cause {
	return append(causesOf(r.found, r.by), causesOf([]found{{problems: r.refused}}, r.by)...)
}

// totals counts the problems that the summary does not count.
func (r report) totals() string {
	var counts []string
	add := func(before string, n int, noun, after string) {
		if n > 0 {
			counts = append(counts, before+count(n, noun)+after)
		}
	}
	add("error: ", len(r.errors), "problem", "")
	if r.check || len(r.errors) > 0 {
		add("", len(r.warnings), "warning", "")
	}
	add("", len(r.refused), "path", " in rendered/ that render did not write")
	switch {
	case r.isDiff && r.notCompared:
		counts = append(counts, "environments with errors were not compared")
	case len(r.errors) > 0 && !r.isDiff:
		counts = append(counts, "nothing was written")
	}
	return strings.Join(counts, ", ")
}

// outputVersion is the version of docs/output.schema.json: a later version removes or renames fields.
const outputVersion = "v1"

// printJSON prints a value as JSON. The first field of a report is the version of its schema.
func printJSON(w io.Writer, r any) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	const start = "{\n  \""
	if fields, isReport := bytes.CutPrefix(content, []byte(start)); isReport {
		content = slices.Concat([]byte(start+`outputVersion": "`+outputVersion+`",`+"\n  \""), fields)
	}
	return writeJSON(w, content)
}

// writeJSON writes JSON without characters that control a terminal.
func writeJSON(w io.Writer, content []byte) error {
	_, err := (&inert{to: raw(w), escape: escapeJSON}).Write(append(content, '\n'))
	return err
}
