package command

import (
	"github.com/spf13/cobra"

	"example.com/gatehouse/kind/rbac"
	"example.com/gatehouse/kind/registry"
)

func newRBACCommand(kinds *registry.Kinds) *cobra.Command {
	return &cobra.Command{
		Use:     "rbac",
		Short:   "Print the controller's ClusterRole and Role",
		Example: "  # Update the rights of the controller\n  controller rbac > environments/base/gatehouse/role.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			manifest, err := rbac.Manifest(kinds)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(manifest)
			return err
		},
	}
}
