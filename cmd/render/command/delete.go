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
		Short: "Delete the objects that render apply applied to a cluster",
		Long: `Delete the objects in an environment's inventory, which render apply keeps in the
cluster, and then the inventory. The environment need not exist in git any more.

Objects with other owners stay. A Namespace is deleted only if it has no other objects,
and a CustomResourceDefinition only if no other objects of its kind exist: otherwise a
warning says so, and you can delete again later.` + aboutGates(kinds, "\nA running Pod of %s is stopped.") + `

Exit codes: 0 success; 2 error, or not gone in time.`,
		Example: `  # Show what would be deleted
  render delete --env dev --dry-run

  # Delete, and wait until the objects are gone
  render delete --env dev`,
		Args: environmentsAreFlags,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDelete(cmd, f) },
	}
	addApplyFlags(cmd, &f)
	return cmd
}

func runDelete(cmd *cobra.Command, f applyFlags) error {
	if !render.IsEnvironmentName(f.Environment) {
		return fmt.Errorf("%q is not the name of an environment", f.Environment)
	}
	if repository, err := openRepository(f.root, nil); err == nil { // delete works without a repository
		defer repository.Close()
		f.Repository = origin(cmd.Context(), repository)
	}
	return f.run(cmd, newApplyReport(cmd, &f), nil, apply.Delete)
}
