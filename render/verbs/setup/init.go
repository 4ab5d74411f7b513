// Package setup creates source files: `render init` creates environments in a git repository, and
// `render new` adds an object to an environment.
package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	yamlv3 "go.yaml.in/yaml/v3"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/entry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
)

// Options describe the environment to create.
type Options struct {
	// Kinds are the kinds of source objects.
	Kinds *registry.Kinds
	// Environment is the name of the environment. With From it may be empty: then it is the name of the folder or
	// of the delivery object. Without both, only a CI file is written, and the settings that Kubernetes is for.
	Environment string
	// Entries are the clusters that the repository has, see Entries.
	Entries []string
	// From is an overlay outside of environments/ that the environment lists instead of a base, the folder of a cluster
	// or of several, or a file with the Kustomizations of Flux and Applications of Argo CD that sync overlays.
	From string
	// Image is the controller's image: NAME:TAG, NAME@DIGEST or NAME:TAG@DIGEST. Empty means the image
	// of this release.
	Image string
	// Kubernetes is the minor version of the cluster, such as 1.35. If it is empty, the environment
	// declares no version, and the newest one applies.
	Kubernetes string
	// CI is the host of CI, one of CIs. Empty means the host of the remote.
	CI string
	// Now is the time for warnings.
	Now time.Time
}

// Patience is the time before a run says that it waits for another.
const Patience = 200 * time.Millisecond

// CIs are the supported hosts of CI, and none.
var CIs = []string{github, gitlab, NoCI}

const (
	github = "github"
	gitlab = "gitlab"
	// NoCI writes no CI file.
	NoCI = "none"
)

// Result lists the files of Init. Paths are from the top of the git repository.
type Result struct {
	// Files are new files and folders.
	Files []string
	// Rendered are the folders of rendered files.
	Rendered []string
	// Unrendered are the environments with errors. They are written and not rendered.
	Unrendered []string
	// Patched are their kustomizations, with a place for patches.
	Patched []string
	// Delivery is the file that From names, as it has to be once the rendered files are synced, or nil.
	Delivery []byte
	// Moves are the paths to change in the objects that sync clusters.
	Moves []Move
	// CIFile is the new CI file, if any.
	CIFile string
	// Placeholders names the values that users must set in CIFile, if any.
	Placeholders string
	// Include is an existing file of GitLab that must include CIFile, if any.
	Include string
	// Appended is an existing file with a new line, if any.
	Appended string
	// Base is the kustomization that must name an image of the controller. It is empty if the image is in
	// a registry.
	Base string
	// Problems are the warnings of the rendered environments, and the errors of the others.
	Problems []manifest.Problem

	files      map[string][]byte // all new files except rendered ones
	attributes []byte            // the new content of .gitattributes, or nil
	adoptions  []*adoption       // with From
	objects    []*yamlv3.Node    // of the file that From names
	idle       []string          // the environments without patches that select nothing
}

// Move is a change of the path that a cluster is synced from.
type Move struct {
	// Files have the objects that sync the cluster; none if they are elsewhere.
	Files []string
	// IsDirectory reports whether one is an Application with a field directory. Argo CD would read rendered/ by it in
	// place of its index, so it has to go.
	IsDirectory bool
	From, To    string
}

// Init creates an environment in a folder of a git repository. It overwrites no file, and appends a line to
// an existing .gitattributes. On an error, nothing is written.
func Init(ctx context.Context, dir string, o Options, progress func(step string)) (*Result, error) {
	image, err := o.check()
	if err != nil {
		return nil, err
	}
	p, err := openTarget(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer p.root.Close()
	waiting := time.AfterFunc(Patience, func() { progress("waiting for another run") })
	unlock, err := tree.Lock(ctx, p.top)
	waiting.Stop()
	if err != nil {
		return nil, err
	}
	defer unlock()

	made, err := p.plan(ctx, o, image)
	if made != nil {
		err = errors.Join(err, p.checkNew(made))
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

// check returns the entry for the image, or an error with every invalid option.
func (o Options) check() (image string, err error) {
	var errs []error
	if !IsFreeName(o.Environment) && o.Environment != "" {
		errs = append(errs, invalidName(o.Environment))
	}
	if o.Kubernetes != "" {
		if err := render.CheckKubernetes(o.Kubernetes); err != nil {
			errs = append(errs, fmt.Errorf("--kubernetes: %w", err))
		}
	}
	if o.CI != "" && !slices.Contains(CIs, o.CI) {
		errs = append(errs, fmt.Errorf("--ci %s: use github, gitlab or none", o.CI))
	}
	if o.From != "" && o.Image != "" {
		errs = append(errs, errors.New("--image is for the controller, and --from adds no controller: omit one of "+
			"them"))
	}
	image, err = imageEntry(o.Image)
	return image, errors.Join(append(errs, err)...)
}

// Entries returns the clusters and overlays of a repository without environments of its own, those that tools sync
// first. CI judges them as they are.
func Entries(dir string, kinds *registry.Kinds) []string {
	resolved, err := resolve(dir)
	if err != nil {
		return nil
	}
	repository, err := render.Open(resolved, kinds, render.Options{})
	if err != nil { // it has no entries
		return nil
	}
	defer repository.Close()
	names, err := repository.Environments() // own ones come first
	if err != nil || len(names) > 0 && !render.IsFolder(names[0]) || repository.HasEnvironment("base") {
		return nil
	}
	entries, _, _ := repository.Entries().All()
	slices.SortStableFunc(entries, func(a, b entry.Entry) int {
		return cmp.Compare(strconv.FormatBool(b.IsDelivered()), strconv.FormatBool(a.IsDelivered()))
	})
	names = names[:0]
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
}

// IsFreeName reports whether an environment may have a name: environments/definitions has
// CustomResourceDefinitions.
func IsFreeName(name string) bool { return render.IsEnvironmentName(name) && name != "definitions" }

func invalidName(name string) error {
	return fmt.Errorf("%q is not a valid name of an environment: pass one by --env, with up to 63 lower case "+
		"letters, digits and '-', and neither base nor definitions", name)
}

// target is the folder of a git repository for environments/.
type target struct {
	git    *git.Repository
	top    string   // the top of the work tree
	root   *os.Root // the same
	prefix string   // the path of the folder from the top
}

func openTarget(ctx context.Context, dir string) (*target, error) {
	resolved, err := resolve(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such folder: create it, or name another with --root", dir)
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
		if first, _, _ := strings.Cut(filepath.ToSlash(within), "/"); first == tree.EnvironmentsFolder ||
			first == tree.Folder {
			return nil, fmt.Errorf("%s is inside %s of %s: run this in a separate folder", resolved, first, root)
		}
	}
	p := &target{git: repository, prefix: repository.Prefix(), top: repository.Top().Dir()}
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

// ciHost guesses the host of CI from the URL of the remote and existing files.
func (p *target) ciHost(ctx context.Context) string {
	url := strings.ToLower(p.git.URL(ctx))
	if !strings.Contains(url, github) && (strings.Contains(url, gitlab) || p.exists(gitlabCI)) {
		return gitlab
	}
	return github
}

func (p *target) exists(name string) bool {
	_, err := p.root.Lstat(name)
	return err == nil
}
