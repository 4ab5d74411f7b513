package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
)

// aboutGates returns a text for a program with kinds whose Pods wait behind a gate, and puts them
// in the place of %s; it is empty for a program without such kinds.
func aboutGates(kinds *registry.Kinds, text string) string {
	gated := kinds.Gated()
	if len(gated.All) == 0 {
		return ""
	}
	return strings.ReplaceAll(text, "%s", gated.String())
}

// seeHelp returns the end of an error in a command line.
func seeHelp(cmd *cobra.Command) string {
	return fmt.Sprintf("\nSee '%s --help' for usage.", cmd.CommandPath())
}

// checkSelection returns an error with the names of the environments where none is selected.
func checkSelection(s render.Selection, root string) error {
	switch {
	case s.All && len(s.Names) > 0:
		return errors.New("--all renders every environment: leave out --env, or --all")
	case s.All || len(s.Names) > 0:
		return nil
	}
	return fmt.Errorf("which environment? write --env NAME, or --all%s", render.ThereAre(environmentNames(root)))
}

// oneEnvironment returns the environment of a command that takes one, from the values of --env.
func oneEnvironment(names []string, root string) (string, error) {
	switch len(names) {
	case 0:
		return "", noEnvironment(environmentNames(root))
	case 1:
		return names[0], nil
	}
	return "", errors.New("--env is there more than once: each environment takes a run of its own")
}

// noEnvironment returns the error of a command that takes one environment and was given none.
func noEnvironment(environments []string) error {
	return fmt.Errorf("which environment? write --env NAME%s", render.ThereAre(environments))
}

// unknownCommand returns an error for arguments that are not commands: most of those that people write
// are environments.
func unknownCommand(cmd *cobra.Command, args []string, root string) error {
	if len(args) == 0 {
		return nil
	}
	hint := render.Instead(strings.Join(args, " "), environmentNames(root))
	near := cmd.SuggestionsFor(args[0])
	switch {
	case hint != "":
	case len(near) > 0:
		hint = fmt.Sprintf(": did you mean %q?", near[0])
	default:
		hint = ": an environment is written as --env NAME"
	}
	return fmt.Errorf("unknown command %q for %q%s%s", args[0], cmd.CommandPath(), hint, seeHelp(cmd))
}

// wrongFlag returns the error of a flag with the command that lists them.
func wrongFlag(cmd *cobra.Command, err error) error { return fmt.Errorf("%w%s", err, seeHelp(cmd)) }
