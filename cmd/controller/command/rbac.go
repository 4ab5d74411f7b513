package command

import (
	"github.com/spf13/cobra"

	"example.com/gatehouse/kind/rbac"
	"example.com/gatehouse/kind/registry"
)

func newRBACCommand(kinds *registry.Kinds) *cobra.Command {
	return &cobra.Command{
		Use:     "rbac",
		Short:   "Print the ClusterRole and the Role that the controller needs",
		Example: "  controller rbac > environments/base/gatehouse/role.yaml",
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
