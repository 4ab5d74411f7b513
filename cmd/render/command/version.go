package command

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/render/verdict/zone"
)

// release is the version of a release, set by the linker.
var release string

// versions has the versions of this program and of the code in it.
type versions struct {
	Render string `json:"render"`
	// Revision is the source commit, with "-dirty" if files differed. It is empty if the build did not
	// record it.
	Revision     string `json:"revision,omitempty"`
	RevisionTime string `json:"revisionTime,omitempty"`
	Kustomize    string `json:"kustomize"`
	Kubernetes   string `json:"kubernetes"`
	// KubernetesVersions are the versions that an environment may declare, oldest first.
	KubernetesVersions []string `json:"kubernetesVersions"`
	Go                 string   `json:"go"`
	// TimeZones is the release of the tz database for schedules.
	TimeZones string `json:"timeZones"`
}

func newVersionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of render, kustomize and Kubernetes",
		Example: `  # Print the Kubernetes release of the checks
  render version -o json | jq -r .kubernetes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output == "json" {
				return printJSON(cmd.OutOrStdout(), programVersions())
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), programVersions())
			return err
		},
	}
	addOutputFlag(cmd, &output, "text", "json")
	return cmd
}

func (v versions) String() string {
	revision := cmp.Or(strings.TrimSpace(v.Revision+" "+v.RevisionTime), "unknown")
	return fmt.Sprintf(
		"render: %s\nrevision: %s\nkustomize: %s\nkubernetes: %s, checks as %s\ngo: %s\ntime zones: %s\n", v.Render,
		revision, v.Kustomize, v.Kubernetes, strings.Join(v.KubernetesVersions, ", "), v.Go, v.TimeZones)
}

func programVersions() versions {
	info, ok := debug.ReadBuildInfo()
	if !ok { // built without modules
		info = &debug.BuildInfo{}
	}
	return versionsOf(info)
}

func versionsOf(info *debug.BuildInfo) versions {
	v := versions{Render: cmp.Or(release, info.Main.Version), Kustomize: kustomize.KustomizeRelease,
		Kubernetes: apiserver.Release, KubernetesVersions: render.KubernetesVersions(), Go: info.GoVersion,
		TimeZones: zone.Release()}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	v.Revision = settings["vcs.revision"]
	v.RevisionTime = settings["vcs.time"]
	if settings["vcs.modified"] == "true" {
		v.Revision += "-dirty"
	}
	return v
}
