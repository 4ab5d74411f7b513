package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/images"
)

type imagesFlags struct {
	selected
	fetching
	base string
}

// imagesReport is a list of images as JSON.
type imagesReport struct {
	Base   string         `json:"base,omitempty"`
	Images []images.Image `json:"images"`
	Charts []images.Chart `json:"charts"`
	// Coverage is the share of judged objects: the others may have more images.
	Coverage render.Coverage    `json:"coverage"`
	Errors   []manifest.Problem `json:"errors"`
}

func newImagesCommand(kinds *registry.Kinds) *cobra.Command {
	var f imagesFlags
	cmd := &cobra.Command{
		Use:   "images [--env NAME...] [--base REVISION]",
		Short: "List the images and charts of environments",
		Long: `List each image of containers, init containers, ephemeral containers and image volumes, and
of fields that are called image in objects of other kinds, one a line. Of a chart that is in
the repository, the objects that it installs count. With --base, compare with a commit as
"render diff --base" does: + marks an image that is new, and - one that nothing names any
more. -o json has the environments, objects, fields, files and lines, and the charts of
HelmReleases, Applications and helmCharts as well. An error hides no image of the objects
that are known; the last line counts what is not. It asks no registry.

Exit codes: 0 success; 2 error.`,
		Example: `  # List the images of all environments
  render images

  # Scan the images that a branch adds
  render images --base origin/main -o json | jq -r '.images[] | select(.isNew).image'

  # List the charts with their versions and repositories
  render images -o json | jq -r '.charts[] | [.name, .version, .repository] | @tsv'`,
		Args: environmentsAreFlags,
		RunE: func(cmd *cobra.Command, _ []string) error { return runImages(cmd, kinds, f) },
	}
	f.selected.addFlags(cmd, "list", " (the default)", "text", "json")
	f.fetching.addFlags(cmd)
	cmd.Flags().StringVar(&f.base, "base", "", "compare with a git `REVISION`, as a pull request into it does")
	return cmd
}

func runImages(cmd *cobra.Command, kinds *registry.Kinds, f imagesFlags) error {
	f.All = f.All || len(f.Names) == 0
	return f.inRepository(cmd, kinds, opening{root: f.root, base: f.base, lock: (*render.Repository).RLock},
		func(repository *render.Repository, p *progress) error {
			d, err := diff.Run(cmd.Context(), repository, f.Selection, f.base, p.stepOf)
			if err != nil {
				return err
			}
			p.stop()
			return printImages(cmd, d, f)
		})
}

func printImages(cmd *cobra.Command, d *compare.Diff, f imagesFlags) error {
	errs := newReport(foundIn(d), true, each).errors
	printProblems(cmd.ErrOrStderr(), errs)
	all, charts := images.List(d)
	report := imagesReport{d.Base, all, charts, coverageOf(d), errs}
	report.Coverage.Fetched = f.all()
	defer printCoverage(cmd.ErrOrStderr(), report.Coverage)
	if f.output == "json" {
		if err := printJSON(cmd.OutOrStdout(), report); err != nil {
			return err
		}
	} else {
		for _, image := range report.Images {
			mark := ""
			switch {
			case image.IsNew:
				mark = "+ "
			case image.IsOld:
				mark = "- "
			case f.base != "":
				mark = "  "
			}
			fmt.Fprintln(cmd.OutOrStdout(), mark+image.Image)
		}
	}
	if len(errs) > 0 {
		return exitCode(exitError)
	}
	return nil
}
