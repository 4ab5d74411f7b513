package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/gatehouse/render/tree"
)

// completeEnvironments completes the names of environments. It completes nothing without a repository.
func completeEnvironments(cmd *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	root, _ := cmd.Flags().GetString("root")
	if repository, err := openRepository(root, nil); err == nil { // the kinds do not matter for names
		defer repository.Close()
		names, _ = repository.Environments()
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeRevisions completes the branches and tags of git.
func completeRevisions(cmd *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	root, _ := cmd.Flags().GetString("root")
	if in, err := openGit(cmd.Context(), root); err == nil {
		names, _ = in.BranchesAndTags(cmd.Context())
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeObjects completes rendered objects, as deployment/web, of the named environments or of all.
func completeObjects(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	root, _ := cmd.Flags().GetString("root")
	repository, err := openRepository(root, nil) // the kinds do not matter for names
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer repository.Close()
	environments, _ := repository.Environments()
	if named, _ := cmd.Flags().GetString("env"); named != "" {
		environments = []string{named}
	}
	for _, environment := range environments {
		files, _ := repository.Rendered(environment)
		objects, _ := tree.Objects("", files)
		for _, o := range objects {
			names = append(names, strings.ToLower(o.GetKind())+"/"+o.GetName())
		}
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveDefault // a file serves, too
}
