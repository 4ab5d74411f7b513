package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/object"
)

// aboutAts is a text for a program that knows Ats, empty for one that does not.
func aboutAts(kinds *registry.Kinds, text string) string {
	if kinds.Find(at.Kind.GVK) == nil {
		return ""
	}
	return text
}

// seeHelp ends an error of a command line that cannot be understood.
func seeHelp(cmd *cobra.Command) string {
	return fmt.Sprintf("\nSee '%s --help' for usage.", cmd.CommandPath())
}

// checkSelection says which environments there are to whoever selects none.
func checkSelection(s render.Selection, root string) error {
	switch {
	case s.All && len(s.Names) > 0:
		return errors.New("--all renders every environment: leave out --env, or --all")
	case s.All || len(s.Names) > 0:
		return nil
	}
	return fmt.Errorf("which environment? write --env NAME, or --all%s", render.ThereAre(environmentNames(root)))
}

// oneEnvironment is the environment of a command that takes one, by what --env was given.
func oneEnvironment(names []string, root string) (string, error) {
	switch len(names) {
	case 0:
		return "", noEnvironment(environmentNames(root))
	case 1:
		return names[0], nil
	}
	return "", errors.New("--env is there more than once: each environment takes a run of its own")
}

// noEnvironment is the error of a command for one environment that does not say which.
func noEnvironment(environments []string) error {
	return fmt.Errorf("which environment? write --env NAME%s", render.ThereAre(environments))
}

// unknownCommand is the error of arguments, as there are none but commands: most of those
// that people write are environments.
func unknownCommand(cmd *cobra.Command, args []string, root string) error {
	if len(args) == 0 {
		return nil
	}
	hint := render.Instead(strings.Join(args, " "), environmentNames(root))
	if hint == "" {
		hint = insteadOfCommand(cmd, args[0])
	}
	return fmt.Errorf("unknown command %q for %q%s%s", args[0], cmd.CommandPath(), hint, seeHelp(cmd))
}

// insteadOfCommand is the hint at the command that is nearest to a word, or the flag that it
// is the name of.
func insteadOfCommand(cmd *cobra.Command, word string) string {
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		return fmt.Sprintf(": did you mean %q?", near[0])
	}
	if cmd.Flags().Lookup(word) != nil {
		return fmt.Sprintf(": did you mean %q?", "--"+word)
	}
	return ": an environment is written as --env NAME"
}

// wrongFlag is the error of a flag that there is not, or whose value is none, with what to
// write instead.
func wrongFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var incomplete *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	hint := ""
	switch {
	case errors.As(err, &unknown):
		hint = nearestFlag(cmd, unknown.GetSpecifiedName())
		if written := unknown.GetSpecifiedShortnames(); written != "" {
			hint = nearestFlag(cmd, written)
		}
	case errors.As(err, &incomplete) && incomplete.GetFlag().Name == "env":
		hint = render.ThereAre(environmentNames(cmd.Flag("root").Value.String()))
	case errors.As(err, &incomplete):
		hint = ": " + incomplete.GetFlag().Usage
	case errors.As(err, &invalid) && isField(invalid.GetFlag()):
		err, hint = fmt.Errorf("--%s %s", invalid.GetFlag().Name, invalid.GetValue()), ": "+invalid.Unwrap().Error()
	case errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "bool":
		err = fmt.Errorf("--%s=%s", invalid.GetFlag().Name, invalid.GetValue())
		hint = fmt.Sprintf(": write --%s, or leave it out", invalid.GetFlag().Name)
	case errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "duration":
		err = fmt.Errorf("--%s %s", invalid.GetFlag().Name, invalid.GetValue())
		hint = ": write a time like 90s or 5m"
	}
	return fmt.Errorf("%w%s%s", err, hint, seeHelp(cmd))
}

// isField says whether a flag is that of a field of a spec.
func isField(flag *pflag.Flag) bool {
	_, ok := flag.Value.(*fieldValue)
	return ok
}

// nearestFlag is the hint at the flag that is nearest to a word: of one letter the shorthand
// in another case, or the only flag that begins with it; empty where none is near.
func nearestFlag(cmd *cobra.Command, word string) string {
	var names, shorthands, beginnings []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		names = append(names, "--"+f.Name)
		if strings.EqualFold(f.Shorthand, word) {
			shorthands = append(shorthands, "-"+f.Shorthand)
		}
		if strings.HasPrefix(f.Name, strings.ToLower(word)) {
			beginnings = append(beginnings, "--"+f.Name)
		}
	})
	switch {
	case len(word) > 1:
		return object.DidYouMean("--"+word, names)
	case len(shorthands) > 0:
		return fmt.Sprintf(": did you mean %q?", shorthands[0])
	case len(beginnings) == 1:
		return fmt.Sprintf(": did you mean %q?", beginnings[0])
	}
	return ""
}
