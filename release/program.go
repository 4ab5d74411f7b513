package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// program is a program that was built.
type program struct {
	name     string
	platform v1.Platform
	content  []byte
	info     *buildinfo.BuildInfo
}

// build builds a program of cmd/ that needs no file beside it, with flags for its linker.
func (r *release) build(ctx context.Context, work, name string, platform v1.Platform, linked string) (program, error) {
	file := filepath.Join(work, name+"-"+platform.OS+"-"+platform.Architecture)
	fmt.Fprintf(os.Stderr, "building %s for %s\n", name, platform)
	// #nosec G204 -- the flags are those of who runs this
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=auto", "-ldflags=-s -w "+linked, "-o", file, "./cmd/"+name)
	cmd.Dir = r.root
	// What somebody prefers elsewhere is not part of a release.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Architecture, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=-trimpath", "GOEXPERIMENT=")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return program{}, fmt.Errorf("build %s for %s: %w", name, platform, err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return program{}, err
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return program{}, err
	}
	return program{name, platform, content, info}, os.Remove(file)
}

// has says whether a text is in the program.
func (p program) has(text string) bool { return bytes.Contains(p.content, []byte(text)) }

// setting is a setting that the program was built with, empty where it is not known.
func (p program) setting(key string) string {
	for _, s := range p.info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// revision is the commit that the program was built from, if it was built from one.
func (p program) revision() string {
	if p.setting("vcs.modified") == "true" {
		return p.setting("vcs.revision") + "-dirty"
	}
	return p.setting("vcs.revision")
}

// time is that of the revision. No file has any other.
func (p program) time() time.Time {
	at, err := time.Parse(time.RFC3339, p.setting("vcs.time"))
	if err != nil {
		return time.Unix(0, 0).UTC()
	}
	return at.UTC()
}

// packed is a file in an archive.
type packed struct {
	name    string
	mode    os.FileMode
	content []byte
}

// pack writes the archive that people download, of a program and what they read about it.
func (r *release) pack(p program) error {
	files := []packed{{p.name, 0o755, p.content}}
	if p.platform.OS == "windows" {
		files[0].name += ".exe"
	}
	for _, name := range []string{"LICENSE", "README.md"} {
		content, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return err
		}
		files = append(files, packed{name, 0o644, content})
	}
	archive, suffix := tarGz, ".tar.gz"
	if p.platform.OS == "windows" {
		archive, suffix = zipped, ".zip"
	}
	content, err := archive(files, p.time())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, r.fileName(p)+suffix), content, 0o644)
}

// tarred is a tar archive of files that belong to root.
func tarred(files []packed, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: int64(f.mode), Size: int64(len(f.content)), ModTime: at, Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func tarGz(files []packed, at time.Time) ([]byte, error) {
	content, err := tarred(files, at)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

func zipped(files []packed, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		file, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := file.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
