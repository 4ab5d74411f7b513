package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/verbs/sync"
)

func newSyncCommand(kinds *registry.Kinds) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sync (flux | argocd) --env NAME --repo URL",
		Short: "Print the objects that make Flux or Argo CD sync an environment",
		Long: `Sync prints the objects that make Flux or Argo CD sync rendered/NAME, with health
checks for the kinds` + aboutGates(kinds, ", the settings that Pods behind a gate need") + `, and the reasons as
comments. It reads rendered/NAME, and changes nothing.`,
		Example: `  # A GitRepository and a Kustomization, to commit where Flux syncs its own objects from
  render sync flux --env prod --repo https://github.com/acme/shop.git > prod.yaml

  # An Application, and health checks for argocd-cm
  render sync argocd --env prod --repo https://github.com/acme/shop.git > prod.yaml`,
		RunE: func(*cobra.Command, []string) error { return errors.New("which tool? write flux or argocd") },

		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}, // those of the tools
	}
	cmd.AddCommand(
		newSyncToolCommand(kinds, "flux", "Print a GitRepository and a Kustomization", aboutGates(kinds, `Flux leaves alone the Pod of %s that started, by an annotation of that Pod, and deletes
it when its spec is gone. That takes Flux 2.8.7 or later; docs/flux.md says what 2.7.0 to
2.8.6 need besides.`), sync.Flux),
		newSyncToolCommand(kinds, "argocd", "Print an Application, and health checks for argocd-cm", "", sync.ArgoCD))
	return cmd
}

// newSyncToolCommand returns the command that prints the objects for one tool.
func newSyncToolCommand(kinds *registry.Kinds, tool, short, long string, manifests func(context.Context, *render.Repository, sync.Options) ([]byte, error)) *cobra.Command {
	var root string
	var o sync.Options
	cmd := &cobra.Command{
		Use:   tool + " --env NAME --repo URL [--branch BRANCH] [--path PATH]",
		Short: short,
		Long:  long,
		Example: fmt.Sprintf(`  # What main has in rendered/prod
  render sync %[1]s --env prod --repo https://github.com/acme/shop.git

  # The branch that render publish makes
  render sync %[1]s --env prod --repo https://github.com/acme/shop.git --branch env/prod`, tool),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("path") && o.Path == "" {
				return errors.New("--path is empty: write . for the top of the branch, or leave it out")
			}
			return inRepository(cmd, kinds, root, (*render.Repository).RLock, func(repository *render.Repository, p *progress) error {
				p.step("reading what was rendered")
				printed, err := manifests(cmd.Context(), repository, o)
				p.stop()
				if err == nil {
					_, err = cmd.OutOrStdout().Write(printed)
				}
				return err
			})
		},
	}
	addEnvironmentFlag(cmd, &o.Environment)
	cmd.Flags().StringVar(&o.URL, "repo", "", "the URL of the git repository, as the cluster reaches it")
	cmd.Flags().StringVar(&o.Branch, "branch", "main", "the branch to sync")
	cmd.Flags().StringVar(&o.Path, "path", "", "the folder to sync (default: rendered/NAME, where render and render publish write)")
	if tool == "flux" {
		cmd.Flags().StringSliceVar(&o.After, "depends-on", nil, "another Kustomization that has to be ready first, as the one that installs what brings a kind")
	}
	_ = cmd.MarkFlagRequired("env")
	_ = cmd.MarkFlagRequired("repo")
	addRootFlag(cmd, &root)
	return cmd
}
