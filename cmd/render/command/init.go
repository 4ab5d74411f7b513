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
		Short: "Create the first environment in a git repository",
		Long: `Set up Gatehouse in a folder of a git repository, by default the current one: create
environments/base with the kinds and the controller, an environment that builds on it,
its rendered manifests, .gitattributes and, at the top of the git repository, a CI file.
Init overwrites no file. It appends one line to an existing .gitattributes.

With --from, create an environment from an existing kustomize overlay, without a base.
The overlay stays in place, and rendered/ has its build.`,
		Example: `  # Set up the current repository, with the environment prod
  render init

  # Create the environment staging, with the controller's image from your registry
  render init --env staging --image registry.example.com/gatehouse-controller:v1.0.0

  # Set up an environment for a Kubernetes 1.35 cluster
  render init --kubernetes 1.35

  # Create the environment staging from an existing overlay
  render init --from deploy/overlays/staging`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.From != "" && !cmd.Flags().Changed("env") {
				o.Environment = filepath.Base(o.From)
			}
			return runInit(cmd, root, o)
		},
	}
	cmd.Flags().StringVarP(&o.Environment, "env", "e", "prod", "the name of the environment; --from changes the default to the name of its folder")
	cmd.Flags().StringVar(&o.From, "from", "", "an existing overlay in this git repository, in place of a new base")
	cmd.Flags().StringVar(&o.Image, "image", "", "the controller's image, as NAME@DIGEST or NAME:TAG (default: the image of this release)")
	cmd.Flags().StringVar(&o.Kubernetes, "kubernetes", "", "the minor version of the cluster, like "+apiserver.Oldest.String()+" (default: the newest that render supports, "+apiserver.Newest.String()+")")
	cmd.Flags().StringVar(&o.CI, "ci", "", kind.Or(setup.CIs)+" (default: from the host of the remote)")
	cmd.Flags().StringVar(&root, "root", ".", "the folder for environments/")
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

// newCommands returns the command that adds an object, for each kind.
func newCommands(o setup.Options) string {
	var commands []string
	suffix := " NAME --env " + o.Environment
	for k := range o.Kinds.Rendered() {
		commands = append(commands, "render new "+strings.ToLower(k.GVK().Kind)+suffix)
		suffix = "" // the other commands take the same flags
	}
	return strings.Join(commands, ", or ")
}

// printMade prints the new files and the next steps.
func printMade(cmd *cobra.Command, made *setup.Result, o setup.Options) {
	printProblems(cmd.ErrOrStderr(), made.Warnings)
	out := cmd.OutOrStdout()
	for _, file := range made.Files {
		if file == made.Appended {
			file += " (one line added)"
		}
		fmt.Fprintln(out, file)
	}
	commit := "commit the files"
	if made.Placeholders != "" {
		commit = "set " + made.Placeholders + " in " + made.CIFile + ", and commit"
	}
	if made.Include != "" {
		fmt.Fprintf(out, "add to %s under include: - local: %s\n", made.Include, made.CIFile)
	}
	if o.From == "" {
		fmt.Fprintf(out, "next: %s, and render --env %s\n", newCommands(o), o.Environment)
	}
	fmt.Fprintf(out, "then: %s\n", commit)
	if made.Base != "" {
		fmt.Fprintf(out, "then: build the controller's image, and set its name and digest in images: of %s\n", made.Base)
	}
	fmt.Fprintf(out, "then: sync %s with Flux or Argo CD\n", made.Rendered)
}
