package main

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"runtime/debug"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeBOM writes the SBOM of a program: the modules that the linker recorded, with their checksums
// from go.sum, and the standard library.
func writeBOM(file string, p program, version string) error {
	whole := cdx.Component{
		BOMRef:  p.name,
		Type:    cdx.ComponentTypeApplication,
		Name:    p.info.Path,
		Version: version,
		PackageURL: packageURL(p.info.Main.Path, version) + "?type=module&goos=" + p.platform.OS + "&goarch=" +
			p.platform.Architecture + "#cmd/" + p.name,
	}
	if revision := p.revision(); revision != "" {
		whole.Properties = &[]cdx.Property{{Name: "vcs.revision", Value: revision}}
	}
	std := &debug.Module{Path: "std", Version: strings.TrimPrefix(p.info.GoVersion, "go")}
	modules := append([]*debug.Module{std}, p.info.Deps...)
	components := make([]cdx.Component, len(modules))
	refs := make([]string, len(modules))
	for i, m := range modules {
		components[i] = componentOf(m)
		refs[i] = components[i].BOMRef
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: p.time().Format(time.RFC3339), Component: &whole}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: whole.BOMRef, Dependencies: &refs}}
	return create(file, func(w io.Writer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	})
}

// componentOf returns the component of a module, or of its replacement.
func componentOf(m *debug.Module) cdx.Component {
	if m.Replace != nil {
		m = m.Replace
	}
	url := packageURL(m.Path, m.Version) + "?type=module"
	c := cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: url}
	encoded, ok := strings.CutPrefix(m.Sum, "h1:")
	if hash, err := base64.StdEncoding.DecodeString(encoded); ok && err == nil {
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(hash)}}
	}
	return c
}

// packageURL returns the package URL of a version of a module.
// https://github.com/package-url/purl-spec
func packageURL(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}
