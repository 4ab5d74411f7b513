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
		Short: "Print Flux or Argo CD objects that sync an environment",
		Long: `Print Flux or Argo CD objects that sync rendered/NAME, with health checks for the
kinds` + aboutGates(kinds, ", settings for gated Pods") + `, and comments that explain each setting.
Sync reads rendered/NAME and changes nothing.`,
		Example: `  # Print a GitRepository and a Kustomization, to commit beside Flux's own objects
  render sync flux --env prod --repo https://github.com/acme/shop.git > prod.yaml

  # Print an Application, and health checks for argocd-cm
  render sync argocd --env prod --repo https://github.com/acme/shop.git > prod.yaml`,
		RunE: func(*cobra.Command, []string) error { return errors.New("specify a tool: flux or argocd") },

		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}, // flags of the subcommands
	}
	cmd.AddCommand(
		newSyncToolCommand(kinds, "flux", "Print a GitRepository and a Kustomization",
			aboutGates(kinds, `Print a GitRepository and a Kustomization that sync rendered/NAME.

An annotation on the Pod of %s makes Flux leave a started Pod alone, and prune it with
its source object. This needs Flux 2.8.7 or later; see docs/flux.md for 2.7.0 to 2.8.6.`), sync.Flux),
		newSyncToolCommand(kinds, "argocd", "Print an Application, and health checks for argocd-cm", "", sync.ArgoCD))
	return cmd
}

func newSyncToolCommand(kinds *registry.Kinds, tool, short, long string,
	manifests func(context.Context, *render.Repository, sync.Options) ([]byte, error)) *cobra.Command {
	var root string
	var o sync.Options
	cmd := &cobra.Command{
		Use:   tool + " --env NAME --repo URL [--branch BRANCH] [--path PATH]",
		Short: short,
		Long:  long,
		Example: fmt.Sprintf(`  # Sync rendered/prod of the branch main
  render sync %[1]s --env prod --repo https://github.com/acme/shop.git

  # Sync the branch of render publish
  render sync %[1]s --env prod --repo https://github.com/acme/shop.git --branch env/prod`, tool),
		Args: environmentsAreFlags,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("path") && o.Path == "" {
				return errors.New("--path is empty: use . for the top of the branch, or omit it")
			}
			return inRepository(cmd, kinds, opening{root: root, lock: (*render.Repository).RLock},
				func(repository *render.Repository, p *progress) error {
					p.step("reading rendered files")
					printed, err := manifests(cmd.Context(), repository, o)
					p.stop()
					if err == nil {
						_, err = cmd.OutOrStdout().Write(printed)
					}
					return err
				})
		},
	}
	addEnvironmentFlags(cmd, &o.Environment, &root)
	cmd.Flags().StringVar(&o.URL, "repo", "", "the URL of the git repository, reachable from the cluster")
	cmd.Flags().StringVar(&o.Branch, "branch", "main", "the branch to sync")
	cmd.Flags().StringVar(&o.Path, "path", "",
		"the folder to sync (default: rendered/NAME, for render and render publish)")
	if tool == "flux" {
		cmd.Flags().StringSliceVar(&o.After, "depends-on", nil,
			"Kustomizations that must be ready first, such as one that installs CustomResourceDefinitions")
	}
	_ = cmd.MarkFlagRequired("env")
	_ = cmd.MarkFlagRequired("repo")
	return cmd
}
