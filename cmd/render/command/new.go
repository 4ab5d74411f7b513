package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/memcached"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/spec"
)

func newNewCommand(_ *registry.Kinds) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new (memcached | at) NAME --env NAME",
		Short: "Add a Memcached or an At to an environment",
		Long: `New writes the manifest of a Memcached or an At to a file in the folder of an
environment, and lists it in the kustomization there, of which it keeps every other
byte. Nothing is written if the environment would not take it.`,
		Example: `  # A cache of two Pods
  render new memcached sessions --env prod --size 2

  # A command that runs once
  render new at cleanup --env prod --schedule 2027-01-04T06:00:00+01:00 --command 'echo done'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("new what? write memcached or at%s", seeHelp(cmd))
			}
			return fmt.Errorf("unknown kind %q: write memcached or at%s", args[0], seeHelp(cmd))
		},
		RunE: func(*cobra.Command, []string) error { return nil }, // never, because of Args
	}
	cmd.AddCommand(newNewMemcachedCommand(), newNewAtCommand())
	return cmd
}

func newNewMemcachedCommand() *cobra.Command {
	var root string
	var size int32
	s := spec.Spec{Kind: &memcached.Kind}
	cmd := &cobra.Command{
		Use:   "memcached NAME --env NAME [--size N]",
		Short: "Add a Memcached to an environment",
		Example: `  # environments/prod/memcached-sessions.yaml
  render new memcached sessions --env prod --size 2`,
		Args: func(cmd *cobra.Command, args []string) error { return checkNew(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Name = args[0]
			s.Values = []spec.Value{{Field: "size", Is: size}}
			return runNew(cmd, root, s)
		},
	}
	addNewFlags(cmd, &root, &s)
	cmd.Flags().Int32Var(&size, "size", 1, "the number of Pods, each with a cache of its own")
	return cmd
}

func newNewAtCommand() *cobra.Command {
	var root, schedule, command string
	s := spec.Spec{Kind: &at.Kind}
	cmd := &cobra.Command{
		Use:   "at NAME --env NAME --schedule TIME --command COMMAND",
		Short: "Add an At, a command that runs once, to an environment",
		Example: `  # environments/prod/at-cleanup.yaml
  render new at cleanup --env prod --schedule 2027-01-04T06:00:00+01:00 --command 'echo done'`,
		Args: func(cmd *cobra.Command, args []string) error { return checkNew(cmd, args, "schedule", "command") },
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Name = args[0]
			s.Values = []spec.Value{{Field: "schedule", Is: schedule, Quoted: true}, {Field: "command", Is: command}}
			return runNew(cmd, root, s)
		},
	}
	addNewFlags(cmd, &root, &s)
	cmd.Flags().StringVar(&schedule, "schedule", "", "when the command is due, like 2027-01-04T06:00:00+01:00")
	cmd.Flags().StringVar(&command, "command", "", "what sh runs")
	return cmd
}

func addNewFlags(cmd *cobra.Command, root *string, s *spec.Spec) {
	addEnvironmentFlag(cmd, &s.Environment)
	cmd.Flags().StringVarP(&s.Namespace, "namespace", "n", "", "the namespace (default: the one that the environment has, or default)")
	addRootFlag(cmd, root)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
}

// checkNew is the error of a command line that leaves out what a new spec has to have, with
// all of that.
func checkNew(cmd *cobra.Command, args []string, flags ...string) error {
	var missing []string
	if len(args) == 0 {
		missing = append(missing, "NAME")
	}
	for _, name := range append([]string{"env"}, flags...) {
		if !cmd.Flags().Changed(name) {
			missing = append(missing, "--"+name)
		}
	}
	switch {
	case len(args) > 1:
		return fmt.Errorf("one name, not %d: %q: quote what has spaces%s", len(args), args, seeHelp(cmd))
	case len(missing) > 0:
		return fmt.Errorf("%s missing: write render new %s%s", strings.Join(missing, ", "), cmd.Use, seeHelp(cmd))
	}
	return nil
}

func runNew(cmd *cobra.Command, root string, s spec.Spec) error {
	p := newProgress(cmd.ErrOrStderr(), "opening the repository")
	defer p.stop()
	repository, done, err := openLocked(cmd.Context(), root, (*render.Repository).Lock, p)
	if err != nil {
		return err
	}
	defer done()
	addition, err := spec.Add(cmd.Context(), repository, s, p.step)
	p.stop()
	if err != nil {
		return err
	}
	return printAddition(cmd, addition, flags{root: root, Selection: render.Selection{Names: []string{s.Environment}}})
}

// printAddition prints what was written, or why nothing was, and what to run next.
func printAddition(cmd *cobra.Command, a *spec.Addition, f flags) error {
	errOut := cmd.ErrOrStderr()
	printProblems(errOut, few(a.Problems))
	if a.Failed() {
		errors, _ := object.SplitProblems(a.Problems)
		fmt.Fprintf(errOut, "error: %s, nothing was written\n", count(len(errors), "problem"))
		return exitCode(exitError)
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s: %s\n%s: lists it\n", a.File, a.Object, a.Kustomization)
	if len(a.Before) == 0 {
		fmt.Fprintf(out, "next: %s\n", f.renderCommand())
		return nil
	}
	printProblems(errOut, a.Before)
	fmt.Fprintf(errOut, "the environment had %s before: mend that, then run %s\n", count(len(a.Before), "problem"), f.renderCommand())
	return nil
}
