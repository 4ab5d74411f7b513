package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/cluster"
)

// addRootFlag adds the flag that says which repository.
func addRootFlag(cmd *cobra.Command, root *string) {
	cmd.Flags().StringVar(root, "root", "", "the folder that holds environments/ (default: the nearest at or above this one)")
	_ = cmd.MarkFlagDirname("root")
}

// addEnvironmentFlag adds the flag that says which one environment.
func addEnvironmentFlag(cmd *cobra.Command, environment *string) {
	cmd.Flags().StringVarP(environment, "env", "e", "", "the environment: a folder of environments/")
	_ = cmd.RegisterFlagCompletionFunc("env", completeEnvironments)
}

// addSelectionFlags adds the flags that say which environments.
func addSelectionFlags(cmd *cobra.Command, selection *render.Selection, one, all string) {
	cmd.Flags().StringArrayVarP(&selection.Names, "env", "e", nil, one)
	cmd.Flags().BoolVarP(&selection.All, "all", "A", false, all)
	_ = cmd.RegisterFlagCompletionFunc("env", completeEnvironments)
}

// addClusterFlags adds the flags that say which cluster.
func addClusterFlags(cmd *cobra.Command, target *cluster.Target) {
	cmd.Flags().StringVar(&target.Kubeconfig, "kubeconfig", "", "the kubeconfig file to use (default: those in KUBECONFIG, or ~/.kube/config)")
	cmd.Flags().StringVar(&target.Context, "context", "", "the context of the kubeconfig to use (default: the current one)")
	_ = cmd.MarkFlagFilename("kubeconfig")
	_ = cmd.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return target.Contexts(), cobra.ShellCompDirectiveNoFileComp
	})
}

// textOrJSON are the forms in which most commands print.
var textOrJSON = []string{"text", "json"}

// addOutputFlag adds the flag that says in which of some forms to print, by default the first.
func addOutputFlag(cmd *cobra.Command, output *string, forms []string) {
	cmd.Flags().StringVarP(output, "output", "o", forms[0], listed(forms))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp))
}

// checkOutput says in which forms a command prints to whoever asks for another.
func checkOutput(output string, forms []string) error {
	if slices.Contains(forms, output) {
		return nil
	}
	return fmt.Errorf("--output %s: write %s", output, listed(forms))
}

// listed is a list as people write it: text, json or github.
func listed(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// noArguments is the error of arguments to a command that takes none.
func noArguments(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return fmt.Errorf("%w%s", err, seeHelp(cmd))
	}
	return nil
}
