package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/sync"
)

func newSyncCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sync (flux | argocd) --env NAME --repo URL",
		Short: "Print what tells Flux or Argo CD to sync an environment",
		Long: `Sync prints the objects that tell Flux or Argo CD to sync rendered/NAME, with the
health checks of the kinds, the settings that Pods behind a gate need, and the reasons
as comments.

It reads what was rendered, and changes nothing.`,
		Example: `  # Commit a GitRepository and a Kustomization to where Flux syncs its own objects from
  render sync flux --env prod --repo https://github.com/acme/shop.git > prod.yaml

  # An Application, and health checks for argocd-cm
  render sync argocd --env prod --repo https://github.com/acme/shop.git > prod.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("sync with what? write flux or argocd%s", seeHelp(cmd))
			}
			return fmt.Errorf("unknown tool %q: write flux or argocd%s", args[0], seeHelp(cmd))
		},
		RunE: func(*cobra.Command, []string) error { return nil }, // never, because of Args

		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}, // those of the tools
	}
	cmd.AddCommand(newSyncFluxCommand(), newSyncArgoCDCommand())
	return cmd
}

func newSyncFluxCommand() *cobra.Command {
	cmd := newSyncToolCommand(sync.Flux)
	cmd.Use = "flux --env NAME --repo URL [--branch BRANCH] [--path PATH]"
	cmd.Short = "Print a GitRepository and a Kustomization"
	cmd.Example = `  # What main has in rendered/prod
  render sync flux --env prod --repo https://github.com/acme/shop.git

  # The branch that render publish makes
  render sync flux --env prod --repo https://github.com/acme/shop.git --branch env/prod`
	return cmd
}

func newSyncArgoCDCommand() *cobra.Command {
	cmd := newSyncToolCommand(sync.ArgoCD)
	cmd.Use = "argocd --env NAME --repo URL [--branch BRANCH] [--path PATH]"
	cmd.Short = "Print an Application, and health checks for argocd-cm"
	cmd.Example = `  # What main has in rendered/prod
  render sync argocd --env prod --repo https://github.com/acme/shop.git

  # The branch that render publish makes
  render sync argocd --env prod --repo https://github.com/acme/shop.git --branch env/prod`
	return cmd
}

// newSyncToolCommand is a command that prints what a tool is told.
func newSyncToolCommand(manifests func(context.Context, *render.Repository, sync.Options) ([]byte, error)) *cobra.Command {
	var root string
	var o sync.Options
	cmd := &cobra.Command{
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSync(cmd, root, o, manifests) },
	}
	addEnvironmentFlag(cmd, &o.Environment)
	cmd.Flags().StringVar(&o.URL, "repo", "", "the URL of the git repository, as the cluster reaches it")
	cmd.Flags().StringVar(&o.Branch, "branch", "main", "the branch to sync")
	cmd.Flags().StringVar(&o.Path, "path", "", "the folder to sync (default: rendered/NAME, or all of a branch that render publish makes)")
	addRootFlag(cmd, &root)
	return cmd
}

// checkSync is the error of a command line that leaves out what to sync.
func checkSync(cmd *cobra.Command, root string, o sync.Options) error {
	var errs []error
	if o.Environment == "" {
		errs = append(errs, noEnvironment(environmentNames(root)))
	}
	if !cmd.Flags().Changed("repo") {
		errs = append(errs, errors.New("which repository? write --repo URL, as https://github.com/acme/shop.git or ssh://git@github.com/acme/shop.git"))
	}
	if cmd.Flags().Changed("path") && o.Path == "" {
		errs = append(errs, errors.New("--path is empty: write . for the top of the branch, or leave it out"))
	}
	return errors.Join(errs...)
}

func runSync(cmd *cobra.Command, root string, o sync.Options, manifests func(context.Context, *render.Repository, sync.Options) ([]byte, error)) error {
	if err := checkSync(cmd, root, o); err != nil {
		return err
	}
	p := newProgress(cmd.ErrOrStderr(), "opening the repository")
	defer p.stop()
	repository, done, err := openLocked(cmd.Context(), root, (*render.Repository).RLock, p)
	if err != nil {
		return err
	}
	defer done()
	p.step("reading what was rendered")
	printed, err := manifests(cmd.Context(), repository, o)
	if err != nil {
		return err
	}
	p.stop()
	if _, err := cmd.OutOrStdout().Write(printed); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
