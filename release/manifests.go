package main

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// templates are the templates of the manifests for package managers, with .tmpl after the names of the files.
//
// krew installs render as `kubectl gatehouse`, because its index refuses generic names. aqua reads the
// checksums from SHA256SUMS.
// https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
// https://docs.brew.sh/Formula-Cookbook
// https://aquaproj.github.io/docs/reference/registry-config
//
//go:embed manifests/*.tmpl
var templates embed.FS

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
		data.Archives = append(data.Archives, archive{p.platform.OS, p.platform.Architecture, url,
			fmt.Sprintf("%x", sums[file]), p.executable()})
	}
	parsed, err := template.New("").Delims("<<", ">>").ParseFS(templates, "manifests/*.tmpl")
	if err != nil {
		return err
	}
	for _, t := range parsed.Templates() {
		file := strings.TrimSuffix(t.Name(), ".tmpl")
		var manifest bytes.Buffer
		if err := t.Execute(&manifest, data); err != nil {
			return err
		}
		sums[file] = sha256.Sum256(manifest.Bytes())
		if err := os.WriteFile(filepath.Join(r.out, file), manifest.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
