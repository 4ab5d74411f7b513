// Package setup writes what people begin with: `render init` makes environments in a git
// repository, and `render new` adds an object to an environment.
package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
)

// Options say what to make.
type Options struct {
	// Kinds are those that people may write.
	Kinds *registry.Kinds
	// Environment is the name of the environment.
	Environment string
	// From is a folder with a kustomization, outside of environments/, that the environment lists instead of a base.
	From string
	// Image is the image of the controller: NAME:TAG, NAME@DIGEST or NAME:TAG@DIGEST. Empty means
	// the one of this release.
	Image string
	// Kubernetes is the minor version that the environment is for, such as 1.35. Empty means the
	// newest, and the environment says none.
	Kubernetes string
	// CI is the host that runs the checks, one of CIs. Empty means the host of the remote.
	CI string
	// Now is the time for warnings.
	Now time.Time
}

// CIs are the hosts that Init has files for, and none.
var CIs = []string{github, gitlab, noCI}

const (
	github = "github"
	gitlab = "gitlab"
	noCI   = "none"
)

// Made is what Init made. Its paths are from the top of the git repository.
type Made struct {
	// Files are files and folders.
	Files []string
	// Rendered is the folder of what is rendered.
	Rendered string
	// CIFile is the file for CI; empty where there is none.
	CIFile string
	// ToSet is what people have to set in CIFile; empty for nothing.
	ToSet string
	// Include is the file of GitLab that has to include CIFile and does not; empty where none has to.
	Include string
	// Appended is a file that was there, and has a line more; empty where there is none.
	Appended string
	// Base is the kustomization that has to name an image of the controller; empty where it has one of
	// a registry.
	Base string
	// Warnings are those of what was rendered.
	Warnings []manifest.Problem

	files      map[string][]byte // all but rendered ones
	attributes []byte            // the new content of .gitattributes; nil where it stays
}

// Init makes environments in a folder of a git repository. It overwrites nothing, and appends a line to
// a .gitattributes: its error names what exists, and then nothing was written.
func Init(ctx context.Context, dir string, o Options, progress func(step string)) (*Made, error) {
	image, err := o.check()
	if err != nil {
		return nil, err
	}
	p, err := openPlace(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer p.root.Close()
	progress("waiting for another run")
	unlock, err := tree.Lock(ctx, p.top)
	if err != nil {
		return nil, err
	}
	defer unlock()

	made, err := p.plan(ctx, o, image)
	if err == nil {
		err = p.checkFree(made)
	}
	if err = cmp.Or(err, ctx.Err()); err == nil {
		progress("writing")
		if err = p.write(ctx, o, made); err != nil {
			p.remove(made)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("nothing was written: %w", err)
	}
	return made, nil
}

// check returns the image as an entry of a kustomization, or an error with every wrong option.
func (o Options) check() (image string, err error) {
	var errs []error
	if !render.IsEnvironmentName(o.Environment) {
		errs = append(errs, fmt.Errorf("--env %q is not the name of an environment: write up to 63 lower case letters, digits and '-', but not base", o.Environment))
	}
	if o.Kubernetes != "" {
		if err := render.CheckKubernetes(o.Kubernetes); err != nil {
			errs = append(errs, fmt.Errorf("--kubernetes: %w", err))
		}
	}
	if o.CI != "" && !slices.Contains(CIs, o.CI) {
		errs = append(errs, fmt.Errorf("--ci %s: write github, gitlab or none", o.CI))
	}
	if o.From != "" && o.Image != "" {
		errs = append(errs, errors.New("--image is for the controller, which --from leaves out: write one of the two"))
	}
	image, err = imageEntry(o.Image)
	return image, errors.Join(append(errs, err)...)
}

// place is a folder of a git repository where environments are made.
type place struct {
	git    *git.Repository
	top    string   // of the work tree of git
	root   *os.Root // the same
	prefix string   // of the folder, from the top; empty where it is the top
}

func openPlace(ctx context.Context, dir string) (*place, error) {
	resolved, err := resolve(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such folder: make it, or name another with --root", dir)
	}
	if err != nil {
		return nil, err
	}
	repository, err := git.Open(ctx, resolved)
	if err != nil {
		return nil, err
	}
	if root, err := render.FindRoot(filepath.Dir(resolved)); err == nil {
		within, _ := filepath.Rel(root, resolved)
		if first, _, _ := strings.Cut(filepath.ToSlash(within), "/"); first == tree.EnvironmentsFolder || first == tree.Folder {
			return nil, fmt.Errorf("%s is within %s of %s: run this in a folder of its own", resolved, first, root)
		}
	}
	p := &place{git: repository, prefix: repository.Prefix(), top: resolved}
	for range strings.FieldsFunc(p.prefix, func(r rune) bool { return r == '/' }) {
		p.top = filepath.Dir(p.top)
	}
	p.root, err = os.OpenRoot(p.top)
	return p, err
}

// resolve returns the path of a folder from the root of the file system, without links.
func resolve(dir string) (string, error) {
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	return filepath.Abs(resolved)
}

// overlay returns the path of the folder that o.From names, from the folder of the environment; empty
// where it names none.
func (p *place) overlay(o Options) (string, error) {
	if o.From == "" {
		return "", nil
	}
	resolved, err := resolve(o.From)
	if err != nil {
		return "", fmt.Errorf("--from: %w", err)
	}
	if within, err := filepath.Rel(p.top, resolved); err != nil || !filepath.IsLocal(within) {
		return "", fmt.Errorf("--from %s is outside of the git repository %s: name a folder in it", o.From, p.top)
	}
	environments := filepath.Join(p.top, filepath.FromSlash(p.prefix), tree.EnvironmentsFolder)
	if within, err := filepath.Rel(environments, resolved); err == nil && filepath.IsLocal(within) {
		return "", fmt.Errorf("--from %s is a folder of %s already: run render --env %s", o.From, tree.EnvironmentsFolder, o.Environment)
	}
	listed, err := filepath.Rel(filepath.Join(environments, o.Environment), resolved)
	return filepath.ToSlash(listed), err
}

// ciHost returns the host of the remote, as its URL and the files for it tell.
func (p *place) ciHost(ctx context.Context) string {
	url := p.git.URL(ctx)
	if !strings.Contains(url, github) && (strings.Contains(url, gitlab) || p.exists(gitlabCI)) {
		return gitlab
	}
	return github
}

// exists reports whether there is a file, a folder or a link.
func (p *place) exists(name string) bool {
	_, err := p.root.Lstat(name)
	return err == nil
}
