// Package scaffold makes of a git repository one that Gatehouse renders: environments, what
// is rendered from them, files for CI and attributes, from what is in the program alone.
package scaffold

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/git"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/tree"
)

// Options say what to make.
type Options struct {
	// Kinds are those that people may write.
	Kinds *registry.Kinds
	// Environment is the name of the environment.
	Environment string
	// Image is that of the controller: NAME:TAG, NAME@DIGEST or NAME:TAG@DIGEST. It is empty
	// for the one of this release.
	Image string
	// CI is the host that runs the checks, one of CIs. It is empty for the one of the remote.
	CI string
	// Now is when this is, for warnings.
	Now time.Time
}

// CIs are the hosts that there are files for, and none.
var CIs = []string{github, gitlab, noCI}

const (
	github = "github"
	gitlab = "gitlab"
	noCI   = "none"
)

// Made is what was made.
type Made struct {
	// Files are files and folders, relative to the folder of the repository.
	Files []string
	// Prefix is the path of the folder from the top of the git repository.
	Prefix string
	// CI is the host whose file was made.
	CI string
	// CIFile is that file, from the top of the git repository; empty where there is none.
	CIFile string
	// Include is the file of GitLab that has to include CIFile and does not; empty where none has to.
	Include string
	// Warnings are those of what was rendered.
	Warnings []object.Problem
}

// Init makes environments in a folder of a git repository. It overwrites nothing: all that is
// in the way is one error, and then nothing was written. Progress is told what is being done.
func Init(ctx context.Context, dir string, o Options, progress func(step string)) (*Made, error) {
	image, err := o.check()
	if err != nil {
		return nil, err
	}
	place, err := openPlace(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer place.close()
	progress("waiting for another run")
	unlock, err := tree.Lock(ctx, place.top)
	if err != nil {
		return nil, err
	}
	defer unlock()

	if o.CI == "" {
		o.CI = place.ci(ctx)
	}
	progress("rendering")
	s, err := place.stage(ctx, o, image)
	if err != nil {
		return nil, fmt.Errorf("nothing was written: %w", err)
	}
	defer s.discard()
	if err := s.inTheWay(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	progress("writing")
	err = s.write()
	s.warnOfIgnored(ctx)
	return s.made, err
}

// warnOfIgnored warns of files that will be in no commit: nobody would sync or check them.
func (s *stage) warnOfIgnored(ctx context.Context) {
	var paths []string
	for _, file := range s.made.Files {
		if path, err := filepath.Rel(filepath.FromSlash("/"+s.prefix), filepath.FromSlash("/"+file)); err == nil {
			paths = append(paths, path)
		}
	}
	ignored := s.git.Ignored(ctx, paths)
	if len(ignored) == 0 {
		return
	}
	message := fmt.Sprintf("git ignores it, so that no commit will have it: see git check-ignore -v %s", ignored[0])
	if len(ignored) > 1 {
		message += fmt.Sprintf(" (and %d more)", len(ignored)-1)
	}
	s.made.Warnings = append(s.made.Warnings, object.Problem{Warning: true, File: ignored[0], Message: message})
}

// check returns the image, or all that is wrong with the options.
func (o Options) check() (image, error) {
	var errs []error
	if !render.IsEnvironmentName(o.Environment) {
		errs = append(errs, fmt.Errorf("--env %q is not the name of an environment: write up to 63 lower case letters, digits and '-', but not base", o.Environment))
	}
	if o.CI != "" && !slices.Contains(CIs, o.CI) {
		errs = append(errs, fmt.Errorf("--ci %s: write github, gitlab or none", o.CI))
	}
	image, err := parseImage(o.Image)
	return image, errors.Join(append(errs, err)...)
}

// place is where environments are made.
type place struct {
	git    *git.Repository
	top    string   // of the work tree of git
	root   *os.Root // the same
	prefix string   // of the folder, from the top; empty where that is it
}

func openPlace(ctx context.Context, dir string) (*place, error) {
	resolved, err := filepath.EvalSymlinks(dir)
	if err == nil {
		resolved, err = filepath.Abs(resolved)
	}
	var info os.FileInfo
	if err == nil {
		info, err = os.Stat(resolved)
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%s: no such folder: make it, or name another with --root", dir)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is a file: name a folder of a git repository", dir)
	}
	repository, err := git.Open(ctx, resolved)
	if err != nil {
		return nil, err
	}
	if err := checkNested(resolved); err != nil {
		return nil, err
	}
	p := &place{git: repository, prefix: repository.Prefix(), top: resolved}
	for range strings.FieldsFunc(p.prefix, func(r rune) bool { return r == '/' }) {
		p.top = filepath.Dir(p.top)
	}
	p.root, err = os.OpenRoot(p.top)
	return p, err
}

// ci is the host of the remote, as far as its name or what is there for it says.
func (p *place) ci(ctx context.Context) string {
	host := p.git.Host(ctx)
	_, err := p.root.Lstat(gitlabCI)
	if strings.Contains(host, gitlab) || err == nil && !strings.Contains(host, github) {
		return gitlab
	}
	return github
}

func (p *place) close() { _ = p.root.Close() }

// checkNested is the error of a folder within environments/ or rendered/ of another.
func checkNested(dir string) error {
	root, err := render.FindRoot(filepath.Dir(dir))
	if err != nil {
		return nil //nolint:nilerr // there is no other
	}
	within, err := filepath.Rel(root, dir)
	if err != nil {
		return err
	}
	if first, _, _ := strings.Cut(filepath.ToSlash(within), "/"); first == "environments" || first == tree.Folder {
		return fmt.Errorf("%s is within %s of %s: run this in a folder of its own", dir, first, root)
	}
	return nil
}

// path is a path in the folder, from the top.
func (p *place) path(name string) string { return path.Join(p.prefix, name) }

// Rendered is the folder of what is rendered, from the top of the git repository.
func (m *Made) Rendered() string {
	for _, file := range m.Files {
		if strings.HasPrefix(file, path.Join(m.Prefix, tree.Folder)+"/") {
			return file
		}
	}
	return ""
}
