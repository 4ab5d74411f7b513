package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// built returns a program with made-up content.
func built(name, goos, arch string) program {
	return program{name, v1.Platform{OS: goos, Architecture: arch}, []byte("program for " + arch), &buildinfo.BuildInfo{
		GoVersion: "go1.26.8",
		Path:      "example.com/gatehouse/cmd/" + name,
		Main:      debug.Module{Path: "example.com/gatehouse"},
		Deps: []*debug.Module{
			{Path: "example.com/a", Version: "v1.0.0+incompatible", Sum: "h1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},
			{Path: "example.com/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/c", Version: "v2.0.0"}},
		},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "e1bcca2"}, {Key: "vcs.time", Value: "2026-11-21T20:58:12Z"}, {Key: "vcs.modified", Value: "true"}},
	}}
}

func newTestRelease(t *testing.T) *release {
	t.Helper()
	r, err := newRelease("..", "dist", "v1.2.3", "registry.example.com/gatehouse-controller:v1.2.3", "registry.example.com/gatehouse-render:v1.2.3", "acme/gatehouse")
	if err != nil {
		t.Fatal(err)
	}
	r.out = t.TempDir()
	return r
}

// files returns the contents of all files below a folder, by path.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	contents := map[string]string{}
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		contents[strings.TrimPrefix(name, folder+"/")] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return contents
}

func TestLayoutHasOneImageForAllPlatforms(t *testing.T) {
	r := newTestRelease(t)
	digest, err := r.writeLayout([]program{built("controller", "linux", "amd64"), built("controller", "linux", "arm64")}, r.image)
	if err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(filepath.Join(r.out, "controller"))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	top, err := index.IndexManifest()
	if err != nil || len(top.Manifests) != 1 || top.Manifests[0].Digest.String() != digest || top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "v1.2.3" ||
		top.Manifests[0].Annotations["io.containerd.image.name"] != "registry.example.com/gatehouse-controller:v1.2.3" {
		t.Fatalf("error %v: %+v, want %s", err, top, digest)
	}
	image, err := index.ImageIndex(top.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := image.IndexManifest()
	if err != nil || len(manifest.Manifests) != 2 || manifest.Annotations["org.opencontainers.image.revision"] != "e1bcca2-dirty" {
		t.Fatalf("error %v: %+v", err, manifest)
	}
	for i, arch := range []string{"amd64", "arm64"} {
		if got := manifest.Manifests[i].Platform.String(); got != "linux/"+arch {
			t.Errorf("%s, want %s", got, arch)
		}
		image, err := image.Image(manifest.Manifests[i].Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, image, arch)
	}
}

// checkImage checks that an image contains the program and an empty /tmp, and runs the program as an unprivileged user.
func checkImage(t *testing.T, image v1.Image, arch string) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Architecture != arch || config.OS != "linux" || config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/controller"}) ||
		config.Config.Labels["org.opencontainers.image.version"] != "v1.2.3" || config.Created.String() != "2026-11-21 20:58:12 +0000 UTC" {
		t.Errorf("%+v", config)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("error %v: %d layers", err, len(layers))
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	r := tar.NewReader(content)
	header, err := r.Next()
	if err != nil || header.Name != "controller" || header.Mode != 0o555 || header.Uid != 0 {
		t.Errorf("error %v: %+v", err, header)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != "program for "+arch {
		t.Errorf("error %v: %s", err, got)
	}
	if header, err := r.Next(); err != nil || header.Name != "tmp/" || header.FileInfo().Mode() != fs.ModeDir|fs.ModeSticky|0o777 {
		t.Errorf("no /tmp: error %v: %+v", err, header)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("more than the program: %v", err)
	}
}

func TestSameProgramsMakeSameBytes(t *testing.T) {
	var first map[string]string
	for range 2 {
		r := newTestRelease(t)
		if _, err := r.writeLayout([]program{built("controller", "linux", "amd64"), built("controller", "linux", "arm64")}, r.image); err != nil {
			t.Fatal(err)
		}
		renders := []program{built("render", "linux", "amd64"), built("render", "windows", "arm64")}
		for _, p := range renders {
			if err := r.pack(p); err != nil {
				t.Fatal(err)
			}
			if err := writeBOM(filepath.Join(r.out, r.fileName(p)+".cdx.json"), p, r.version); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.writeChecksums(renders); err != nil {
			t.Fatal(err)
		}
		got := files(t, r.out)
		if sums := got["SHA256SUMS"]; strings.Count(sums, "\n") != len(got)-1 || !strings.Contains(sums, "  controller/index.json\n") {
			t.Errorf("sums of %d files: %s", len(got), sums)
		}
		if first == nil {
			first = got
		}
		if !maps.Equal(first, got) {
			t.Errorf("%v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(first)))
		}
	}
}

func TestArchiveHasExecutableAndTexts(t *testing.T) {
	r := newTestRelease(t)
	for _, goos := range []string{"linux", "windows"} {
		if err := r.pack(built("render", goos, "amd64")); err != nil {
			t.Fatal(err)
		}
	}
	content := files(t, r.out)
	unzipped, err := gzip.NewReader(strings.NewReader(content["render_v1.2.3_linux_amd64.tar.gz"]))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	archive := tar.NewReader(unzipped)
	for header, err := archive.Next(); err != io.EOF; header, err = archive.Next() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, header.FileInfo().Mode().String()+" "+header.Name+" "+header.ModTime.UTC().String())
	}
	const at = " 2026-11-21 20:58:12 +0000 UTC"
	if want := []string{"-rw-r--r-- LICENSE" + at, "-rw-r--r-- README.md" + at, "-rwxr-xr-x render" + at}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	zipped := content["render_v1.2.3_windows_amd64.zip"]
	windows, err := zip.NewReader(strings.NewReader(zipped), int64(len(zipped)))
	if err != nil || len(windows.File) != 3 || windows.File[2].Name != "render.exe" {
		t.Errorf("error %v: %+v", err, windows)
	}
}

func TestBOMListsLinkedModules(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bom")
	if err := writeBOM(file, built("render", "linux", "amd64"), "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		BomFormat string
		Metadata  struct {
			Component struct{ Name, Version, Purl string }
		}
		Components []struct {
			Purl   string
			Hashes []struct{ Alg, Content string }
		}
		Dependencies []struct{ DependsOn []string }
	}
	if err := json.NewDecoder(bytes.NewReader(content)).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	var purls []string
	for _, c := range bom.Components {
		purls = append(purls, c.Purl)
	}
	want := []string{"pkg:golang/std@1.26.8?type=module", "pkg:golang/example.com/a@v1.0.0%2Bincompatible?type=module", "pkg:golang/example.com/c@v2.0.0?type=module"}
	if bom.BomFormat != "CycloneDX" || !slices.Equal(purls, want) || !slices.Equal(bom.Dependencies[0].DependsOn, want) {
		t.Errorf("%s", content)
	}
	if h := bom.Components[1].Hashes[0]; h.Alg != "SHA-256" || h.Content != "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f" {
		t.Errorf("hash %+v", h)
	}
	if c := bom.Metadata.Component; c.Name != "example.com/gatehouse/cmd/render" || c.Version != "v1.2.3" || c.Purl != "pkg:golang/example.com/gatehouse@v1.2.3?type=module&goos=linux&goarch=amd64#cmd/render" {
		t.Errorf("%+v", c)
	}
}

func TestNewReleaseReportsAllWrongNames(t *testing.T) {
	_, err := newRelease("..", "dist", "release/1", "Registry/Image:v1", "Registry/Render:v1", "acme")
	if err == nil || !strings.Contains(err.Error(), `version "release/1" cannot be part`) || !strings.Contains(err.Error(), `image "Registry/Image:v1": `) || !strings.Contains(err.Error(), `image "Registry/Render:v1": `) {
		t.Error(err)
	}
}

func TestResolveKeepsAbsolutePaths(t *testing.T) {
	absolute, err := filepath.Abs("controller.tar")
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{filepath.Join("bin", "c.tar"): filepath.Join("folder", "bin", "c.tar"), absolute: absolute} {
		if got := resolve("folder", file); got != want {
			t.Errorf("%s is %s, want %s", file, got, want)
		}
	}
}

func TestManifestsHaveEveryArchive(t *testing.T) {
	r := newTestRelease(t)
	programs := []program{built("render", "linux", "amd64"), built("render", "windows", "arm64")}
	for _, p := range programs {
		if err := r.pack(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.writeChecksums(programs); err != nil {
		t.Fatal(err)
	}
	content := files(t, r.out)
	for name, text := range content {
		if line := fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(text)), name); name != "SHA256SUMS" && !strings.Contains(content["SHA256SUMS"], line) {
			t.Errorf("no %s in\n%s", line, content["SHA256SUMS"])
		}
	}
	sum := func(name string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content[name]))) }
	const (
		folder  = "https://github.com/acme/gatehouse/releases/download/v1.2.3/"
		linux   = "render_v1.2.3_linux_amd64.tar.gz"
		windows = "render_v1.2.3_windows_arm64.zip"
	)
	for file, wants := range map[string][]string{
		"gatehouse.yaml": {
			"  name: gatehouse\n", "version: \"v1.2.3\"\n",
			"uri: " + folder + linux + "\n    sha256: \"" + sum(linux) + "\"\n    bin: render\n",
			"uri: " + folder + windows + "\n    sha256: \"" + sum(windows) + "\"\n    bin: render.exe\n",
		},
		"gatehouse.rb": {"  version \"1.2.3\"\n", "  on_linux do\n    on_intel do\n      url \"" + folder + linux + "\"\n      sha256 \"" + sum(linux) + "\"\n    end\n  end\n"},
		"aqua.yaml":    {"  repo_owner: acme\n  repo_name: gatehouse\n", "  asset: render_{{.Version}}_{{.OS}}_{{.Arch}}.{{.Format}}\n", "    asset: SHA256SUMS\n", "signer_workflow: acme/gatehouse/.github/workflows/release.yaml\n"},
	} {
		for _, want := range wants {
			if !strings.Contains(content[file], want) {
				t.Errorf("%s: no %s in\n%s", file, want, content[file])
			}
		}
	}
	if strings.Contains(content["gatehouse.rb"], "windows") {
		t.Error("Homebrew does not run on Windows")
	}
}
