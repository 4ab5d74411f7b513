package main

import (
	"encoding/json"
	"fmt"
	"io"
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
	// Diff is a unified diff of all that would be written and pruned.
	Diff string `json:"diff,omitempty"`
}

func newReport(update *render.Update, check bool) report {
	r := report{Environments: []environmentReport{}}
	for _, e := range update.Environments {
		one := environmentReport{Name: e.Name, Objects: e.Objects, Written: []string{}, Unchanged: []string{}, Pruned: []string{}, Errors: []object.Problem{}}
		switch {
		case len(e.Problems) > 0:
			one.Errors = e.Problems
		case !update.Failed():
			one.Written, one.Unchanged, one.Pruned = e.Plan.Written(), e.Plan.Unchanged(), e.Plan.Pruned()
			if check {
				one.Diff = e.Plan.Diff()
			}
		}
		r.Environments = append(r.Environments, one)
	}
	return r
}

// failed says whether any environment has errors.
func (r report) failed() bool {
	return slices.ContainsFunc(r.Environments, func(e environmentReport) bool { return len(e.Errors) > 0 })
}

// printJSON prints a report as JSON. What would direct a terminal is escaped there, too.
func printJSON(w io.Writer, r report) error {
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
