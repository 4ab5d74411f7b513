package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// manifests are the manifests for package managers, by file. They name the archives of the release.
var manifests = map[string]string{
	// krew installs render as `kubectl gatehouse`, because its index refuses generic names:
	// https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
	"gatehouse.yaml": `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: gatehouse
spec:
  version: << printf "%q" .Version >>
  homepage: https://github.com/<< .Repository >>
  shortDescription: Render GitOps manifests, and review them
  description: |
    Renders the kustomize overlays and the custom resources of a git repository to plain manifests,
    checks them as the API server would, and says what a pull request does to the clusters.
  platforms:
<<- range .Archives >>
  - selector:
      matchLabels:
        os: << .OS >>
        arch: << .Architecture >>
    uri: << .URL >>
    sha256: << .Sum >>
    bin: << .Executable >>
<<- end >>
`,
	// https://docs.brew.sh/Formula-Cookbook
	"gatehouse.rb": `class Gatehouse < Formula
  desc "Render GitOps manifests, and review them"
  homepage "https://github.com/<< .Repository >>"
  version "<< .Number >>"
  license "Apache-2.0"
<< range .Archives >><< if ne .OS "windows" >>
  on_<< if eq .OS "darwin" >>macos<< else >>linux<< end >> do
    on_<< if eq .Architecture "arm64" >>arm<< else >>intel<< end >> do
      url "<< .URL >>"
      sha256 "<< .Sum >>"
    end
  end
<< end >><< end >>
  def install
    bin.install "render"
    bin.install_symlink "render" => "kubectl-gatehouse"
    generate_completions_from_executable(bin/"render", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/render version")
  end
end
`,
	// aqua reads the checksums from SHA256SUMS: https://aquaproj.github.io/docs/reference/registry-config
	"aqua.yaml": `packages:
- type: github_release
  repo_owner: << .Owner >>
  repo_name: << .Name >>
  description: Render GitOps manifests, and review them
  asset: render_{{.Version}}_{{.OS}}_{{.Arch}}.{{.Format}}
  format: tar.gz
  overrides:
  - goos: windows
    format: zip
  files:
  - name: render
  checksum:
    type: github_release
    asset: << .Sums >>
    algorithm: sha256
  github_artifact_attestations:
    signer_workflow: << .Repository >>/.github/workflows/release.yaml
`,
}

// archive describes the archive of a program to manifests.
type archive struct{ OS, Architecture, URL, Sum, Executable string }

// writeManifests writes the manifests of the archives in a release, and adds their checksums to sums.
func (r *release) writeManifests(programs []program, sums map[string][sha256.Size]byte) error {
	owner, name, _ := strings.Cut(r.repository, "/")
	data := struct {
		Version, Number, Repository, Owner, Name, Sums string
		Archives                                       []archive
	}{r.version, strings.TrimPrefix(r.version, "v"), r.repository, owner, name, sumsFile, nil}
	for _, p := range programs {
		file := r.archive(p)
		url := fmt.Sprintf("https://github.com/%s/releases/download/%s/%s", r.repository, r.version, file)
		data.Archives = append(data.Archives, archive{p.platform.OS, p.platform.Architecture, url, fmt.Sprintf("%x", sums[file]), p.executable()})
	}
	for file, text := range manifests {
		var manifest bytes.Buffer
		if err := template.Must(template.New(file).Delims("<<", ">>").Parse(text)).Execute(&manifest, data); err != nil {
			return err
		}
		sums[file] = sha256.Sum256(manifest.Bytes())
		if err := os.WriteFile(filepath.Join(r.out, file), manifest.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
