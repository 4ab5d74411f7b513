package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
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
	cmd.Flags().FuncP("env", "e", "the environment `NAME`, a folder of environments/", func(name string) error {
		if *environment != "" {
			return errors.New("it is there more than once: each environment takes a run of its own")
		}
		*environment = name
		return nil
	})
	_ = cmd.RegisterFlagCompletionFunc("env", completeEnvironments)
}

// addSelectionFlags adds the flags that select environments.
func addSelectionFlags(cmd *cobra.Command, selection *render.Selection, one, all string) {
	cmd.Flags().StringArrayVarP(&selection.Names, "env", "e", nil, one)
	cmd.Flags().BoolVarP(&selection.All, "all", "A", false, all)
	_ = cmd.RegisterFlagCompletionFunc("env", completeEnvironments)
	cmd.MarkFlagsMutuallyExclusive("env", "all")
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
	*output = forms[0]
	cmd.Flags().FuncP("output", "o", fmt.Sprintf("print in this `FORMAT`: %s (default %s)", kind.Or(forms), forms[0]), func(form string) error {
		if !slices.Contains(forms, form) {
			return errors.New("write " + kind.Or(forms))
		}
		*output = form
		return nil
	})
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp))
}

// aboutGates returns a text for a program with kinds whose Pods wait behind a gate, and puts them
// in the place of %s; it is empty for a program without such kinds.
func aboutGates(kinds *registry.Kinds, text string) string {
	gated := kinds.Gated()
	if len(gated.All) == 0 {
		return ""
	}
	return strings.ReplaceAll(text, "%s", gated.String())
}
