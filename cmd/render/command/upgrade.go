package command

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/settings"
	"example.com/gatehouse/render/verbs/upgrade"
	"example.com/gatehouse/render/verdict/apiserver"
)

type upgradeFlags struct {
	selected
	fetching
	kubernetes, from string
}

// upgradeReport is the verdicts of another version as JSON.
type upgradeReport struct {
	Environments []*upgrade.Environment `json:"environments"`
	Coverage     render.Coverage        `json:"coverage"`
	Errors       []manifest.Problem     `json:"errors"`
}

func newUpgradeCommand(kinds *registry.Kinds) *cobra.Command {
	var f upgradeFlags
	cmd := &cobra.Command{
		Use:   "upgrade --kubernetes VERSION (--env NAME... | --all)",
		Short: "Show what another version of Kubernetes would refuse or store otherwise",
		Long: `Judge environments as another minor version of Kubernetes would, newer or older, and show
each difference from the version that the environment is for, or --from: errors and warnings that
appear or go, and fields that are stored otherwise because a default changes or a version
drops them. It needs no cluster and writes nothing. Errors of both versions go to stderr.

An error may say that an object may stay: the API server refuses a new one, and accepts
changes of other fields of an existing one.

Exit codes: 0 no differences; 1 differences; 2 error.`,
		Example: `  # Show what Kubernetes 1.37 would refuse
  render upgrade --all --kubernetes 1.37

  # The same for a pull request
  render upgrade --all --kubernetes 1.37 -o markdown`,
		Args: environmentsAreFlags,
		RunE: func(cmd *cobra.Command, _ []string) error { return runUpgrade(cmd, kinds, f) },
	}
	f.selected.addFlags(cmd, "judge", "", "text", "markdown", "json")
	f.fetching.addFlags(cmd)
	cmd.Flags().StringVar(&f.kubernetes, "kubernetes", "", "the minor `VERSION` to judge by, like 1.37")
	cmd.Flags().StringVar(&f.from, "from", "",
		"the minor `VERSION` to compare with (default: the one that each environment declares, or the newest)")
	_ = cmd.MarkFlagRequired("kubernetes")
	for _, name := range []string{"kubernetes", "from"} {
		_ = cmd.RegisterFlagCompletionFunc(name, completeVersions)
	}
	return cmd
}

func runUpgrade(cmd *cobra.Command, kinds *registry.Kinds, f upgradeFlags) error {
	return f.inRepository(cmd, kinds, opening{root: f.root, lock: (*render.Repository).RLock},
		func(repository *render.Repository, p *progress) error {
			all, errs, err := upgrade.Run(repository, f.Selection, f.from, f.kubernetes, p.stepOf)
			if err != nil {
				return err
			}
			p.stop()
			coverage := noCoverage()
			coverage.Fetched = f.all()
			for _, e := range all {
				coverage.Add(e.Coverage)
			}
			defer printCoverage(cmd.ErrOrStderr(), coverage)
			printAssumed(cmd.ErrOrStderr(), all)
			if f.output == "json" {
				err = printJSON(cmd.OutOrStdout(), upgradeReport{all, coverage, append([]manifest.Problem{}, errs...)})
			} else {
				err = printUpgrade(cmd.OutOrStdout(), all, f.output == "markdown")
			}
			if err = errors.Join(err, problemsError(cmd, errs, " of both versions")); err != nil {
				return err
			}
			if slices.ContainsFunc(all, func(e *upgrade.Environment) bool { return !e.IsEqual() }) {
				return exitCode(exitDiffers)
			}
			return nil
		})
}

// printAssumed names the environments without a version, and how to declare one.
func printAssumed(errOut io.Writer, all []*upgrade.Environment) {
	var names []string
	for _, e := range all {
		if e.IsAssumed {
			names = append(names, e.Name)
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(errOut, "%s: no Kubernetes is declared, so the newest, %s, counts as theirs: write --from "+
			"VERSION, or kubernetes into %s\n", manifest.FirstOf(3, names), apiserver.Newest, settings.File)
	}
}

func printUpgrade(out io.Writer, all []*upgrade.Environment, isMarkdown bool) error {
	w, flush := buffered(out)
	for _, e := range all {
		lines := upgradeLines(e)
		before := e.Before
		if e.IsAssumed {
			before += " (not declared)"
		}
		heading := fmt.Sprintf("Kubernetes %s -> %s: %s, %s, %s stored otherwise", before, e.After,
			count(len(e.Errors), "new error"), count(len(e.Warnings), "new warning"), count(len(e.Stored), "object"))
		switch {
		case !isMarkdown:
			fmt.Fprintf(w, "%s: %s\n%s", e.Name, heading, lines)
		case lines == "":
			fmt.Fprintf(w, "### `%s`: %s\n\n", e.Name, heading)
		default:
			fmt.Fprintf(w, "### `%s`: %s\n\n%s\n", e.Name, heading, manifest.CodeBlock("", lines))
		}
	}
	return flush()
}

// upgradeLines returns a line for each cause of differences: errors, warnings, stored fields, and problems that go.
func upgradeLines(e *upgrade.Environment) string {
	errs := make([]manifest.Problem, 0, len(e.Errors))
	gone := make([]manifest.Problem, 0, len(e.Gone))
	var stored []manifest.Problem
	for _, p := range e.Errors {
		if p.MayStay {
			p.Message += " (an existing object may stay)"
		}
		errs = append(errs, p.Problem)
	}
	for _, o := range e.Stored {
		for _, field := range o.Fields {
			o.Message = fmt.Sprintf("stores %s as %s in place of %s", field.Path, shown(field.After),
				shown(field.Before))
			if !slices.ContainsFunc(o.Existing, func(f compare.FieldChange) bool { return f.Path == field.Path }) {
				o.Message += " (of a new object only)"
			}
			stored = append(stored, o.Problem)
		}
	}
	for _, p := range e.Gone {
		p.Message += " (no longer)"
		gone = append(gone, p)
	}
	var lines strings.Builder
	for _, problems := range [][]manifest.Problem{errs, e.Warnings, stored, gone} {
		printCauses(&lines, causesOf([]found{{problems: problems}}, byCause))
	}
	return lines.String()
}

func shown(value *string) string {
	if value == nil {
		return "(unset)"
	}
	return *value
}
