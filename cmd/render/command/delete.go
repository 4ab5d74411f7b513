package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/verbs/cluster/apply"
)

func newDeleteCommand(kinds *registry.Kinds) *cobra.Command {
	f := applyFlags{Options: apply.Options{Kinds: kinds}, counted: []apply.Action{apply.Deleted}}
	cmd := &cobra.Command{
		Use:   "delete --env NAME",
		Short: "Delete from a cluster what render apply applied there",
		Long: `Delete deletes what the inventory of an environment has, which render apply keeps in the
cluster, and then the inventory. git may have the environment or not.

It leaves what others applied as well. A Namespace is deleted only when there is nothing
else in it, a CustomResourceDefinition when there is no other object of its kind: else a
warning says so, and deleting again completes it.` + aboutGates(kinds, "\nThe Pod of %s that runs is stopped.") + `

Exit codes: 0 done; 2 error, or not gone in time.`,
		Example: `  # What would be deleted?
  render delete --env dev --dry-run

  # Delete it, and wait until it is gone
  render delete --env dev`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDelete(cmd, f) },
	}
	addApplyFlags(cmd, &f)
	return cmd
}

func runDelete(cmd *cobra.Command, f applyFlags) error {
	if !render.IsEnvironmentName(f.Environment) {
		return fmt.Errorf("%q is not the name of an environment", f.Environment)
	}
	if repository, err := openRepository(f.root, nil); err == nil { // it takes none
		defer repository.Close()
		f.Repository = origin(cmd.Context(), repository)
	}
	return f.run(cmd, newApplyReport(cmd, &f), nil, apply.Delete)
}
