package command

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/regular"
	"example.com/gatehouse/render/verbs/setup"
	"example.com/gatehouse/render/verdict/apiserver"
)

func newInitCommand(kinds *registry.Kinds) *cobra.Command {
	var root string
	var agents bool
	o := setup.Options{Kinds: kinds}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create an environment in a git repository",
		Long: `Set up Gatehouse in a folder of a git repository, by default the current one: create
environments/base with the kinds and the controller, an environment that builds on it,
its rendered manifests, .gitattributes and, at the top of the git repository, a CI file.
Init overwrites no file. It appends two lines to an existing .gitattributes.

With --ci alone, and in a repository with clusters or overlays and no environment of its own,
create only the CI file: CI judges each cluster and comments on pull requests, and nothing is
rendered into git. With --kubernetes, .gatehouse.yaml then says the version of each. Pass
--env for an environment as above.

With --from, create an environment from an existing kustomize overlay, without a base.
The overlay stays in place, and rendered/ has its build. Init compares the rendered
objects with those of kustomize, and lists fields that differ. If the overlay has errors,
init lists them, and leaves a place for patches in the environment.

With --from DIRECTORY of a cluster, one that Flux or Argo CD syncs with objects that sync
other folders, create the environment of the cluster: each of these objects has a folder in
rendered/, and points to it. Then one path changes, that of the sync of the cluster. Of a
directory with several clusters, each becomes an environment with the name of its folder.

With --from FILE, create the environment of each Flux Kustomization and Argo CD
Application in a file: it has their patches, images, names, components and namespace.
Init lists the fields that stay in these objects, and prints the new content of the file:
replace the file after the rendered manifests are merged.

With --agents, write only AGENTS.md: the commands, the exit codes and the form of a problem,
for coding agents. If the file exists, print the text instead.`,
		Example: `  # Set up the current repository, with the environment prod
  render init

  # Write only the CI file, and the version of Kubernetes of the clusters that the repository has
  render init --ci github --kubernetes 1.35

  # Create the environment staging, with the controller's image from your registry
  render init --env staging --image registry.example.com/gatehouse-controller:v1.0.0

  # Create another environment on the same base
  render init --env dev

  # Set up an environment for a Kubernetes 1.35 cluster
  render init --kubernetes 1.35

  # Create the environment staging from an existing overlay
  render init --from deploy/overlays/staging

  # Create the environment prod of all that a cluster gets
  render init --from clusters/prod

  # Create the environments of the Kustomizations in a file
  render init --from clusters/prod/apps.yaml > apps.yaml

  # Write AGENTS.md, or append to it
  render init --agents
  render init --agents >> AGENTS.md`,
		Args: environmentsAreFlags,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if agents {
				return writeAgents(cmd, root)
			}
			return runInit(cmd, root, o)
		},
	}
	addInitFlags(cmd, &o, &root, &agents)
	return cmd
}

func addInitFlags(cmd *cobra.Command, o *setup.Options, root *string, agents *bool) {
	cmd.Flags().StringVarP(&o.Environment, "env", "e", "",
		"the name of the environment (default: prod, see above; with --from, the name of the folder or object)")
	cmd.Flags().StringVar(&o.From, "from", "", "an existing overlay or cluster in this git repository, or a file with "+
		"the objects that sync overlays, in place of a new base")
	cmd.Flags().StringVar(&o.Image, "image", "",
		"the controller's image, as NAME@DIGEST or NAME:TAG (default: the image of this release)")
	cmd.Flags().StringVar(&o.Kubernetes, "kubernetes", "", "the minor version of the cluster, like "+
		apiserver.Oldest.String()+" (default: the newest that render supports, "+apiserver.Newest.String()+")")
	cmd.Flags().StringVar(&o.CI, "ci", "", kind.Or(setup.CIs)+" (default: from the host of the remote)")
	cmd.Flags().BoolVar(agents, "agents", false, "write AGENTS.md, and nothing else")
	cmd.Flags().StringVar(root, "root", ".", "the folder for environments/")
	_ = cmd.MarkFlagDirname("root")
	_ = cmd.RegisterFlagCompletionFunc("env", cobra.NoFileCompletions)
	_ = cmd.RegisterFlagCompletionFunc("ci", cobra.FixedCompletions(setup.CIs, cobra.ShellCompDirectiveNoFileComp))
}

// writeAgents writes AGENTS.md, or prints its content if the file exists.
func writeAgents(cmd *cobra.Command, root string) error {
	const name = "AGENTS.md"
	folder, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer folder.Close()
	if _, err = folder.Lstat(name); err == nil {
		_, err = fmt.Fprint(cmd.OutOrStdout(), setup.Agents)
		return err
	}
	if err = regular.ReplaceFile(folder, name, []byte(setup.Agents)); err == nil {
		fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(root, name))
	}
	return err
}

func runInit(cmd *cobra.Command, root string, o setup.Options) error {
	if err := o.Kinds.Check(); err != nil {
		return err
	}
	p := newProgress(cmd.ErrOrStderr(), "looking at the git repository")
	defer p.stop()
	o.Now = time.Now()
	isAlone := o.From == "" && o.Environment == ""
	if isAlone {
		o.Entries = setup.Entries(root, o.Kinds)
	}
	if isCI := o.CI != "" && o.CI != setup.NoCI; isAlone && (o.Image != "" || len(o.Entries) == 0 && !isCI) {
		o.Environment = "prod"
	}
	made, err := setup.Init(cmd.Context(), root, o, p.step)
	p.stop()
	if err != nil {
		return err
	}
	printMade(cmd, made, o)
	if o.Environment == "" && len(o.Entries) > 0 {
		printEntries(cmd.OutOrStdout(), o.Entries)
	}
	if len(made.Unrendered) > 0 {
		refused, _ := manifest.SplitProblems(made.Problems)
		return fmt.Errorf("%s: correct them, or patch them in %s, and run render --env %s",
			count(len(refused), "problem"),
			strings.Join(made.Patched, ", "), strings.Join(made.Unrendered, " --env "))
	}
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

// printEntries prints what the CI file is for, and how to go on.
func printEntries(out io.Writer, entries []string) {
	fmt.Fprintf(out, "judged and compared as they are: %s; nothing else is written\n", manifest.FirstOf(3, entries))
	fmt.Fprintln(out, "try: render --all --check, and render diff --base main")
	from := entries[0]
	if !setup.IsFreeName(path.Base(from)) {
		from += " --env prod"
	}
	fmt.Fprintf(out, "later: to have the objects in git, render init --from %s; for the kinds and the controller of "+
		"Gatehouse, render init --env prod\n", from)
}

func printMade(cmd *cobra.Command, made *setup.Result, o setup.Options) {
	printProblems(cmd.ErrOrStderr(), made.Problems)
	out := cmd.OutOrStdout()
	if made.Delivery != nil {
		_, _ = out.Write(made.Delivery)
		out = cmd.ErrOrStderr()
	}
	for _, file := range made.Files {
		if file == made.Appended {
			file += " (two lines added)"
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
	if o.Environment != "" && o.From == "" {
		fmt.Fprintf(out, "next: %s, and render --env %s\n", newCommands(o), o.Environment)
	}
	fmt.Fprintf(out, "then: %s\n", commit)
	if made.Base != "" {
		fmt.Fprintf(out,
			"then: build the controller's image by make image in a clone of Gatehouse (docs/controller.md), push "+
				"it, and set its name and digest in images: of %s\n", made.Base)
	}
	for _, m := range made.Moves {
		files := strings.Join(m.Files, " and ")
		directory := ""
		switch {
		case m.IsDirectory:
			directory = ", and remove directory: there in the same commit"
		case files == "":
			directory = ", and directory: of an Application is to be removed in the same commit"
		}
		fmt.Fprintf(out, "then: merge, and move in by one path: change %s to %s in %s%s\n", m.From, m.To,
			cmp.Or(files, "the object that syncs it"), directory)
	}
	switch {
	case len(made.Moves) > 0:
	case made.Delivery != nil:
		fmt.Fprintf(out, "then: merge, and put the output of this command in the place of %s\n", o.From)
	case len(made.Rendered) > 0:
		fmt.Fprintf(out, "then: sync %s with Flux or Argo CD\n", made.Rendered[0])
	}
}
