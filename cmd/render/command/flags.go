package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/verbs/cluster"
)

// addRootFlag adds the flag that selects the repository.
func addRootFlag(cmd *cobra.Command, root *string) {
	cmd.Flags().StringVar(root, "root", "", "the folder that holds environments/ (default: the nearest at or above this one)")
	_ = cmd.MarkFlagDirname("root")
}

// addEnvironmentFlag adds the flag that selects one environment.
func addEnvironmentFlag(cmd *cobra.Command, environment *string) {
	cmd.Flags().StringVarP(environment, "env", "e", "", "the environment: a folder of environments/")
	_ = cmd.RegisterFlagCompletionFunc("env", completeEnvironments)
}

// addSelectionFlags adds the flags that select environments.
func addSelectionFlags(cmd *cobra.Command, selection *render.Selection, one, all string) {
	cmd.Flags().StringArrayVarP(&selection.Names, "env", "e", nil, one)
	cmd.Flags().BoolVarP(&selection.All, "all", "A", false, all)
	_ = cmd.RegisterFlagCompletionFunc("env", completeEnvironments)
}

// addClusterFlags adds the flags that select the cluster.
func addClusterFlags(cmd *cobra.Command, target *cluster.Target) {
	cmd.Flags().StringVar(&target.Kubeconfig, "kubeconfig", "", "the kubeconfig file to use (default: those in KUBECONFIG, or ~/.kube/config)")
	cmd.Flags().StringVar(&target.Context, "context", "", "the context of the kubeconfig to use (default: the current one)")
	_ = cmd.MarkFlagFilename("kubeconfig")
	_ = cmd.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return target.Contexts(), cobra.ShellCompDirectiveNoFileComp
	})
}

// textOrJSON are the formats of most commands.
var textOrJSON = []string{"text", "json"}

// addOutputFlag adds the flag that selects an output format, by default the first.
func addOutputFlag(cmd *cobra.Command, output *string, forms []string) {
	cmd.Flags().StringVarP(output, "output", "o", forms[0], listed(forms))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp))
}

// checkOutput returns an error for an unknown output format.
func checkOutput(output string, forms []string) error {
	if slices.Contains(forms, output) {
		return nil
	}
	return fmt.Errorf("--output %s: write %s", output, listed(forms))
}

// listed returns words as a list in a sentence: text, json or github.
func listed(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// noArguments returns an error for arguments of a command that takes none.
func noArguments(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return fmt.Errorf("%w%s", err, seeHelp(cmd))
	}
	return nil
}
