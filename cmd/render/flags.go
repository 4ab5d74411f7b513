package main

import "github.com/spf13/cobra"

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
