package command

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/verbs/setup"
	"example.com/gatehouse/render/verdict/apiserver"
)

func newInitCommand(kinds *registry.Kinds) *cobra.Command {
	var root string
	o := setup.Options{Kinds: kinds}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make the first environment in a git repository",
		Long: `Init makes all that Gatehouse needs in a folder of a git repository, by default this
one: environments/base with the kinds and the controller, one environment that builds
on it, its rendered manifests, .gitattributes and, at the top of the git repository, a
file for CI. It overwrites nothing; to a .gitattributes that is there it appends a line.

With --from it makes an environment of a kustomize overlay that the repository has, and
no base: nothing moves, and rendered/ has what kustomize builds there.`,
		Example: `  # In a repository of your own
  render init

  # With the controller's image from your registry, and an environment staging
  render init --env staging --image registry.example.com/gatehouse-controller:v1.0.0

  # For a cluster of Kubernetes 1.35
  render init --kubernetes 1.35

  # Begin with an overlay that Flux or Argo CD syncs today, as environment staging
  render init --from deploy/overlays/staging`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.From != "" && !cmd.Flags().Changed("env") {
				o.Environment = filepath.Base(o.From)
			}
			return runInit(cmd, root, o)
		},
	}
	cmd.Flags().StringVarP(&o.Environment, "env", "e", "prod", "the name of the environment; with --from by default that of the folder")
	cmd.Flags().StringVar(&o.From, "from", "", "an overlay in this git repository, which the environment lists instead of a base")
	cmd.Flags().StringVar(&o.Image, "image", "", "the controller's image, as NAME@DIGEST or NAME:TAG (default: the one of this release)")
	cmd.Flags().StringVar(&o.Kubernetes, "kubernetes", "", "the minor version of the cluster, like "+apiserver.Oldest.String()+" (default: the newest that render knows, "+apiserver.Newest.String()+")")
	cmd.Flags().StringVar(&o.CI, "ci", "", kind.Or(setup.CIs)+" (default: the host of the remote)")
	cmd.Flags().StringVar(&root, "root", ".", "the folder to make environments/ in")
	_ = cmd.MarkFlagDirname("root")
	_ = cmd.MarkFlagDirname("from")
	_ = cmd.RegisterFlagCompletionFunc("env", cobra.NoFileCompletions)
	_ = cmd.RegisterFlagCompletionFunc("ci", cobra.FixedCompletions(setup.CIs, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runInit(cmd *cobra.Command, root string, o setup.Options) error {
	if err := o.Kinds.Check(); err != nil {
		return err
	}
	p := newProgress(cmd.ErrOrStderr(), "looking at the git repository")
	defer p.stop()
	o.Now = time.Now()
	made, err := setup.Init(cmd.Context(), root, o, p.step)
	p.stop()
	if err != nil {
		return err
	}
	printMade(cmd, made, o)
	return nil
}

// newCommands returns the commands that add an object of each kind to an environment.
func newCommands(o setup.Options) string {
	var commands []string
	suffix := " NAME --env " + o.Environment
	for k := range o.Kinds.Rendered() {
		commands = append(commands, "render new "+strings.ToLower(k.GVK().Kind)+suffix)
		suffix = "" // it is the same for the others
	}
	return strings.Join(commands, ", or ")
}

// printMade prints what was made, and the next steps.
func printMade(cmd *cobra.Command, made *setup.Made, o setup.Options) {
	printProblems(cmd.ErrOrStderr(), made.Warnings)
	out := cmd.OutOrStdout()
	for _, file := range made.Files {
		if file == made.Appended {
			file += " (a line more)"
		}
		fmt.Fprintln(out, file)
	}
	commit := "commit that"
	if made.ToSet != "" {
		commit = "set " + made.ToSet + " in " + made.CIFile + ", and commit"
	}
	if made.Include != "" {
		fmt.Fprintf(out, "add to %s under include: - local: %s\n", made.Include, made.CIFile)
	}
	if o.From == "" {
		fmt.Fprintf(out, "next: %s, and render --env %s\n", newCommands(o), o.Environment)
	}
	fmt.Fprintf(out, "then: %s\n", commit)
	if made.Base != "" {
		fmt.Fprintf(out, "then: build the controller's image, and name it, with its digest, under images: of %s\n", made.Base)
	}
	fmt.Fprintf(out, "then: have Flux or Argo CD sync %s\n", made.Rendered)
}
