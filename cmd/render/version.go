package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"example.com/gatehouse/render/build"
	"example.com/gatehouse/render/check/apiserver"
)

// versions are the version of this program, and those of the programs whose code it has.
type versions struct {
	Render     string `json:"render"`
	Kustomize  string `json:"kustomize"`
	Kubernetes string `json:"kubernetes"`
	Go         string `json:"go"`
}

// versionOutputs are the forms in which versions are printed.
var versionOutputs = []string{"text", "json"}

func newVersionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and those of the kustomize and the Kubernetes within",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output, versionOutputs); err != nil {
				return err
			}
			return printVersion(cmd.OutOrStdout(), output)
		},
	}
	addOutputFlag(cmd, &output, versionOutputs)
	return cmd
}

func printVersion(w io.Writer, output string) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("this program was built without its version")
	}
	v := versions{Render: info.Main.Version, Kustomize: build.KustomizeRelease, Kubernetes: apiserver.Release, Go: info.GoVersion}
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(v)
	}
	_, err := fmt.Fprintf(w, "render: %s\nkustomize: %s\nkubernetes: %s\ngo: %s\n", v.Render, v.Kustomize, v.Kubernetes, v.Go)
	return err
}
