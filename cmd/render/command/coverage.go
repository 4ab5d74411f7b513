package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/settings"
)

type coverageFlags struct {
	selected
	fetching
}

func newCoverageCommand(kinds *registry.Kinds) *cobra.Command {
	var f coverageFlags
	cmd := &cobra.Command{
		Use:   "coverage [--env NAME...]",
		Short: "List what is not judged, and why",
		Long: `List each delivery whose objects are not all known, and each kind without a definition, by
reason, with files and lines: charts that are not here, other repositories, remote bases,
values in Secrets, generators that need a cluster. The other commands print the counts as
their last line on stderr, and have the list as "coverage" in JSON.

Exit codes: 0 success; 2 error.`,
		Args: environmentsAreFlags,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCoverage(cmd, kinds, f) },
	}
	f.fetching.addFlags(cmd)
	f.selected.addFlags(cmd, "list", " (the default)", "text", "json")
	return cmd
}

func runCoverage(cmd *cobra.Command, kinds *registry.Kinds, f coverageFlags) error {
	f.All = f.All || len(f.Names) == 0
	return f.inRepository(cmd, kinds, opening{root: f.root, lock: (*render.Repository).RLock},
		func(repository *render.Repository, p *progress) error {
			update, err := render.NewUpdate(cmd.Context(), repository, f.Selection, p.stepOf)
			if err != nil {
				return err
			}
			defer update.Close()
			p.stop()
			update.Fetched = f.all()
			coverage := update.Coverage()
			slices.SortStableFunc(coverage.NotJudged, func(a, b render.NotJudged) int {
				return cmp.Or(strings.Compare(a.What, b.What), strings.Compare(a.Reason, b.Reason),
					strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
			})
			if f.output == "json" {
				return printJSON(cmd.OutOrStdout(), coverage)
			}
			w, flush := buffered(cmd.OutOrStdout())
			printNotJudged(w, coverage.NotJudged)
			for _, entry := range coverage.Entries {
				fmt.Fprintf(w, "left out by %s: %s\n", settings.File, kind.Visible(entry))
			}
			fmt.Fprintln(w, coverage)
			return flush()
		})
}

// printNotJudged prints a line for each, and the clusters of a line that several have.
func printNotJudged(w io.Writer, all []render.NotJudged) {
	var lines []string
	in := map[string][]string{}
	for _, n := range all {
		line := manifest.Problem{File: n.File, Line: n.Line, Object: n.Name,
			Message: strings.TrimSuffix(n.Reason+": "+n.Detail, ": ")}.String()
		if len(in[line]) == 0 {
			lines = append(lines, line)
		}
		in[line] = append(in[line], n.Environment)
	}
	for _, line := range lines {
		if clusters := in[line]; len(clusters) > 1 {
			line += "; in " + kind.Visible(manifest.FirstOf(3, clusters))
		}
		fmt.Fprintln(w, line)
	}
}

// printCoverage prints the last line of a run, no wider than a terminal.
func printCoverage(w io.Writer, c render.Coverage) { fmt.Fprintln(w, wrapped(c.String(), widthOf(w))) }

func noCoverage() render.Coverage { return render.Coverage{NotJudged: []render.NotJudged{}} }

// coverageOf returns the coverage of all environments after a change.
func coverageOf(d *compare.Diff) render.Coverage {
	all := noCoverage()
	all.Entries = d.LeftOut
	for _, e := range d.Environments {
		if e.Environment != nil {
			all.Add(e.Environment.Coverage())
		}
	}
	return all
}
