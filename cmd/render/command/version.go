package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"example.com/gatehouse/render/build"
	"example.com/gatehouse/render/check/apiserver"
)

// release is the version of a release, which its linker sets.
var release string

// versions are the version of this program, and those of the programs whose code it has.
type versions struct {
	Render string `json:"render"`
	// Revision is the commit that it was built from, "-dirty" where files differed from that,
	// and RevisionTime that of the commit: empty where the build did not know them.
	Revision     string `json:"revision,omitempty"`
	RevisionTime string `json:"revisionTime,omitempty"`
	Kustomize    string `json:"kustomize"`
	Kubernetes   string `json:"kubernetes"`
	Go           string `json:"go"`
}

func newVersionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version and revision, and the versions of the kustomize and the Kubernetes within",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output, textOrJSON); err != nil {
				return err
			}
			return printVersion(cmd.OutOrStdout(), output)
		},
	}
	addOutputFlag(cmd, &output, textOrJSON)
	return cmd
}

func printVersion(w io.Writer, output string) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("this program was built without its version")
	}
	v := versionsOf(info)
	if output == "json" {
		return printJSON(w, v)
	}
	_, err := fmt.Fprintf(w, "render: %s\nrevision: %s\nkustomize: %s\nkubernetes: %s\ngo: %s\n", v.Render, v.describeRevision(), v.Kustomize, v.Kubernetes, v.Go)
	return err
}

// versionsOf are the versions that a build noted.
func versionsOf(info *debug.BuildInfo) versions {
	v := versions{Render: cmp.Or(release, info.Main.Version), Kustomize: build.KustomizeRelease, Kubernetes: apiserver.Release, Go: info.GoVersion}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	v.Revision, v.RevisionTime = settings["vcs.revision"], settings["vcs.time"]
	if v.Revision == "" {
		v.Revision, v.RevisionTime = revisionOf(info.Main.Version)
	}
	if settings["vcs.modified"] == "true" {
		v.Revision += "-dirty"
	}
	return v
}

// pseudoVersion matches a version that go makes of a commit without a tag.
// https://go.dev/ref/mod#pseudo-versions
var pseudoVersion = regexp.MustCompile(`^v.*[-.](\d{14})-([0-9a-f]{12})(\+incompatible)?$`)

// revisionOf is what the version of a module, as `go install` takes it, says of the commit:
// the beginning of its hash, and its time. Both are empty for a tag.
func revisionOf(version string) (revision, at string) {
	match := pseudoVersion.FindStringSubmatch(version)
	if match == nil {
		return "", ""
	}
	committed, err := time.Parse("20060102150405", match[1])
	if err != nil {
		return "", ""
	}
	return match[2], committed.Format(time.RFC3339)
}

// describeRevision is the revision for people.
func (v versions) describeRevision() string {
	switch {
	case v.Revision == "":
		return "unknown: go notes it when it builds in a clone, without -buildvcs=false"
	case v.RevisionTime == "":
		return v.Revision
	}
	return v.Revision + " (" + v.RevisionTime + ")"
}
