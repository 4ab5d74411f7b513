package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// krewFile is the manifest for krew, which installs render as `kubectl render`:
// https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
const krewFile = "render.yaml"

const krewHead = `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: render
spec:
  version: %q
  homepage: https://github.com/%s
  shortDescription: Render GitOps manifests, and review them
  description: |
    Renders the kustomize overlays and the custom resources of a git repository to plain manifests,
    checks them as the API server would, and says what a pull request does to the clusters.
  platforms:
`

const krewPlatform = `  - selector:
      matchLabels:
        os: %s
        arch: %s
    uri: https://github.com/%s/releases/download/%s/%s
    sha256: %x
    bin: %s
`

// writeKrew writes krew's manifest of the archives in a release, and adds its checksum to sums.
func (r *release) writeKrew(programs []program, sums map[string][sha256.Size]byte) error {
	var manifest strings.Builder
	fmt.Fprintf(&manifest, krewHead, r.version, r.repository)
	for _, p := range programs {
		archive := r.archive(p)
		fmt.Fprintf(&manifest, krewPlatform, p.platform.OS, p.platform.Architecture, r.repository, r.version, archive, sums[archive], p.executable())
	}
	sums[krewFile] = sha256.Sum256([]byte(manifest.String()))
	return os.WriteFile(filepath.Join(r.out, krewFile), []byte(manifest.String()), 0o644)
}
