package command

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/verbs/pull"
)

func newChartsCommand(kinds *registry.Kinds) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "charts COMMAND",
		Short: "Download the Helm charts of environments",
		Args:  argsBetween(1, 1, "which command? write render charts pull --all"),
		RunE: func(_ *cobra.Command, args []string) error {
			return fmt.Errorf("unknown command %q: write render charts pull --all", args[0])
		},
	}
	cmd.AddCommand(newChartsPullCommand(kinds))
	return cmd
}

func newChartsPullCommand(kinds *registry.Kinds) *cobra.Command {
	var f selected
	cmd := &cobra.Command{
		Use:   "pull (--env NAME... | --all)",
		Short: "Download missing charts, and lock their digests",
		Long: `Download the charts that are not in the repository yet: to the folder charts, the charts
of each HelmRelease of Flux and each Application of Argo CD, and to their folder, the
charts of helmCharts in kustomizations with a repo and a version. Each folder has a lock,
charts.lock, with the repository and digest of each chart. A chart with another digest
than in the lock is an error. With --all, charts in a lock that no environment names are
removed.

Rendering itself never uses the network. The download sends no credentials: for a private
repository, run helm pull -d charts, and then this, which locks the chart.

Exit codes: 0 success; 2 error. An error of one chart does not affect the others.`,
		Example: `  # Download the charts of all environments
  render charts pull --all

  # List the new files
  render charts pull --env prod -o json | jq -r '.pulled[]'`,
		Args: environmentsAreFlags,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runChartsPull(cmd, kinds, f)
		},
	}
	f.addFlags(cmd, "download the charts of", ", and remove unused ones", "text", "json")
	return cmd
}

func runChartsPull(cmd *cobra.Command, kinds *registry.Kinds, f selected) error {
	return inRepository(cmd, kinds, f.root, (*render.Repository).Lock,
		func(repository *render.Repository, p *progress) error {
			client := &http.Client{Timeout: 5 * time.Minute}
			result, err := pull.Run(cmd.Context(), client, repository, f.Selection, p.step)
			p.stop()
			if err != nil {
				return err
			}
			if f.output == "json" {
				err = printJSON(cmd.OutOrStdout(), result)
			} else {
				for _, list := range []struct {
					files []string
					verb  string
				}{{result.Pulled, "pulled"}, {result.Locked, "locked"}, {result.Unchanged, "unchanged"},
					{result.Removed, "removed"}} {
					for _, file := range list.files {
						fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", file, list.verb)
					}
				}
			}
			return cmp.Or(err, problemsError(cmd, result.Problems, ""))
		})
}
