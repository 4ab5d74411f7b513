// Command release builds a release in dist/: render for each platform, the images of the controller and of
// render, SBOMs, manifests for package managers, and checksums. The build is reproducible. `make release` and `make
// image` run it.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sync/errgroup"
)

// The platforms of each program.
var (
	renderPlatforms = []v1.Platform{
		{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"},
		{OS: "darwin", Architecture: "amd64"}, {OS: "darwin", Architecture: "arm64"},
		{OS: "windows", Architecture: "amd64"}, {OS: "windows", Architecture: "arm64"},
	}
	controllerPlatforms = renderPlatforms[:2]
)

// Variables of render that the linker sets: its version, and the controller's image and the GitHub
// action for `render init`.
const (
	versionVariable = "example.com/gatehouse/cmd/render/command.release"
	imageVariable   = "example.com/gatehouse/render/verbs/setup.Image"
	actionVariable  = "example.com/gatehouse/render/verbs/setup.Action"
)

// release describes a release.
type release struct {
	root    string   // the folder of this repository
	out     string   // the folder to write
	version string   // part of the names of files
	image   name.Tag // of the controller
	render  name.Tag // the image of render

	// repository is the OWNER/NAME of the release on GitHub; empty for a release elsewhere.
	repository string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ExitOnError)
	root := flags.String("root", "..", "the `folder` of the repository")
	out := flags.String("out", "dist", "the `folder` there to write the release to, emptied first")
	version := flags.String("version", "", "the version of the release")
	image := flags.String("image", "", "the `name:tag` of the image of the controller")
	render := flags.String("render-image", "gatehouse-render:dev", "the `name:tag` of the image of render")
	repository := flags.String("repository", "",
		"the `owner/name` of the release on GitHub, for the action and for package managers; empty for neither")
	archive := flags.String("archive", "", "write only the image, for this machine, to a `file` for docker load")
	_ = flags.Parse(args)
	r, err := newRelease(*root, *out, *version, *image, *render, *repository)
	if err != nil {
		return err
	}
	if *archive != "" {
		return r.writeArchive(ctx, resolve(r.root, *archive))
	}
	return r.write(ctx)
}

// resolve returns file, below folder unless file is absolute.
func resolve(folder, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(folder, file)
}

// fileNamePart matches versions that are safe in file names.
var fileNamePart = regexp.MustCompile(`^[A-Za-z0-9][-+.\w]*$`)

// gitHubRepository matches OWNER/NAME.
var gitHubRepository = regexp.MustCompile(`^[\w-]+/[-.\w]+$`)

func newRelease(root, out, version, image, render, repository string) (*release, error) {
	var errs []error
	if !fileNamePart.MatchString(version) {
		errs = append(errs,
			fmt.Errorf("version %q cannot be part of the name of a file: write one like VERSION=v1.2.3", version))
	}
	tag, err := name.NewTag(image)
	if err != nil {
		errs = append(errs,
			fmt.Errorf("image %q: %w: write one like IMAGE=registry.example.com/gatehouse-controller:v1.2.3",
				image, err))
	}
	renderTag, err := name.NewTag(render)
	if err != nil {
		errs = append(errs,
			fmt.Errorf("image %q: %w: write one like RENDER_IMAGE=registry.example.com/gatehouse-render:v1.2.3",
				render, err))
	}
	if repository != "" && !gitHubRepository.MatchString(repository) {
		errs = append(errs, fmt.Errorf("repository %q: write one like REPOSITORY=acme/gatehouse", repository))
	}
	root, err = filepath.Abs(root)
	errs = append(errs, err)
	return &release{root: root, out: filepath.Join(root, out), version: version, image: tag, render: renderTag,
		repository: repository}, errors.Join(errs...)
}

// write writes a release. The checksums come last, and mark it as complete.
func (r *release) write(ctx context.Context) error {
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	controllers, err := r.buildAll(ctx, work, "controller", controllerPlatforms, "")
	if err != nil {
		return err
	}
	if controllers[0].revision() == "" {
		fmt.Fprintln(os.Stderr,
			"warning: go does not know the revision: build in a clone of the git repository, not in a worktree of it")
	}
	digest, err := r.writeLayout(controllers, r.image)
	if err != nil {
		return err
	}
	image := r.image.String() + "@" + digest
	linked := fmt.Sprintf("-X %s=%s -X %s=%s", versionVariable, r.version, imageVariable, image)
	if r.repository != "" {
		linked += fmt.Sprintf(" -X %s=%s@%s", actionVariable, r.repository, r.version)
	}
	renders, err := r.buildAll(ctx, work, "render", renderPlatforms, linked)
	if err != nil {
		return err
	}
	for _, p := range renders {
		if !p.has(digest) { // the linker ignores variables that do not exist
			return fmt.Errorf("the variable %s does not exist: correct its name in release/main.go", imageVariable)
		}
		if err := r.pack(p); err != nil {
			return err
		}
	}
	renderDigest, err := r.writeLayout(renders[:len(controllerPlatforms)], r.render)
	if err != nil {
		return err
	}
	for _, p := range append(controllers, renders...) {
		if err := writeBOM(filepath.Join(r.out, r.fileName(p)+".cdx.json"), p, r.version); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "the controller's image is %s\nrender's image is %s@%s\n", image, r.render, renderDigest)
	return r.writeChecksums(renders)
}

// writeArchive writes the controller's image for the architecture of this machine.
func (r *release) writeArchive(ctx context.Context, file string) error {
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	p, err := r.build(ctx, work, "controller", v1.Platform{OS: "linux", Architecture: runtime.GOARCH}, "")
	if err != nil {
		return err
	}
	image, err := r.newImage(p)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return tarball.WriteToFile(file, r.image, image)
}

// buildAll builds a program for several platforms, two at a time: a linker uses one core.
func (r *release) buildAll(ctx context.Context, work, name string, platforms []v1.Platform,
	linked string) ([]program, error) {
	programs := make([]program, len(platforms))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for i, platform := range platforms {
		group.Go(func() (err error) {
			programs[i], err = r.build(ctx, work, name, platform, linked)
			return err
		})
	}
	return programs, group.Wait()
}

// fileName returns the base name of a program's files, without the suffix.
func (r *release) fileName(p program) string {
	return strings.Join([]string{p.name, r.version, p.platform.OS, p.platform.Architecture}, "_")
}

// checksums returns the SHA-256 sums of all files in a folder, by path.
func checksums(folder string) (map[string][sha256.Size]byte, error) {
	sums := map[string][sha256.Size]byte{}
	files := os.DirFS(folder)
	return sums, fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		sums[name] = sha256.Sum256(content)
		return err
	})
}

// sumsFile has the checksums of a release in the format of sha256sum.
const sumsFile = "SHA256SUMS"

// writeChecksums writes the manifests for package managers, with the sums of the archives, and then sumsFile.
func (r *release) writeChecksums(programs []program) error {
	sums, err := checksums(r.out)
	if err == nil && r.repository != "" {
		err = r.writeManifests(programs, sums)
	}
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&lines, "%x  %s\n", sums[name], name)
	}
	return os.WriteFile(filepath.Join(r.out, sumsFile), []byte(lines.String()), 0o644)
}
