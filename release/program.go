package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing/fstest"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// program is a built program.
type program struct {
	name     string
	platform v1.Platform
	content  []byte
	info     *buildinfo.BuildInfo
}

// build builds a statically linked program of cmd/ with the given linker flags.
func (r *release) build(ctx context.Context, work, name string, platform v1.Platform, linked string) (program, error) {
	file := filepath.Join(work, name+"-"+platform.OS+"-"+platform.Architecture)
	fmt.Fprintf(os.Stderr, "building %s for %s\n", name, platform)
	// #nosec G204 -- the user chooses the flags
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=auto", "-ldflags=-s -w "+linked, "-o", file,
		"./cmd/"+name)
	cmd.Dir = r.root
	// Settings of this machine must not change the release.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Architecture, "GOAMD64=v1",
		"GOARM64=v8.0", "GOFLAGS=-trimpath", "GOEXPERIMENT=")
	cmd.Stdout = os.Stderr
	cmd.Stderr = os.Stderr
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

// has reports whether the program contains a text.
func (p program) has(text string) bool { return bytes.Contains(p.content, []byte(text)) }

// setting returns a setting of the build, or "".
func (p program) setting(key string) string {
	for _, s := range p.info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// revision returns the commit of the build, or "".
func (p program) revision() string {
	if p.setting("vcs.modified") == "true" {
		return p.setting("vcs.revision") + "-dirty"
	}
	return p.setting("vcs.revision")
}

// time returns the time of the commit, for all files.
func (p program) time() time.Time {
	at, err := time.Parse(time.RFC3339, p.setting("vcs.time"))
	if err != nil {
		return time.Unix(0, 0).UTC()
	}
	return at.UTC()
}

// executable returns the name of the program in an archive.
func (p program) executable() string {
	if p.platform.OS == "windows" {
		return p.name + ".exe"
	}
	return p.name
}

// archive returns the name of the archive of a program.
func (r *release) archive(p program) string {
	if p.platform.OS == "windows" {
		return r.fileName(p) + ".zip"
	}
	return r.fileName(p) + ".tar.gz"
}

// pack writes the archive for downloads: the program, its license and the README.
func (r *release) pack(p program) error {
	file := func(content []byte, mode fs.FileMode) *fstest.MapFile {
		return &fstest.MapFile{Data: content, Mode: mode, ModTime: p.time()}
	}
	files := fstest.MapFS{}
	for _, name := range []string{"LICENSE", "README.md"} {
		content, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return err
		}
		files[name] = file(content, 0o644)
	}
	archive := filepath.Join(r.out, r.archive(p))
	files[p.executable()] = file(p.content, 0o755)
	if p.platform.OS == "windows" {
		return create(archive, func(w io.Writer) error { return writeZip(w, files) })
	}
	return create(archive, func(w io.Writer) error {
		compressed := gzip.NewWriter(w)
		return errors.Join(writeTar(compressed, files), compressed.Close())
	})
}

// create creates a file with the output of write.
func create(name string, write func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

func writeTar(w io.Writer, files fs.FS) error {
	archive := tar.NewWriter(w)
	return errors.Join(archive.AddFS(files), archive.Close())
}

func writeZip(w io.Writer, files fs.FS) error {
	archive := zip.NewWriter(w)
	return errors.Join(archive.AddFS(files), archive.Close())
}
