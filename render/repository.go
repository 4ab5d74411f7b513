package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

const (
	environmentsFolder = "environments"

	// baseFolder is the folder under environments/ that environments build on.
	baseFolder = "base"
)

// Repository is a folder that holds environments/.
type Repository struct {
	// Now is when it is rendered, for warnings of what is past; zero has none of those.
	// What is written does not depend on it.
	Now time.Time
	// Look, if not nil, is told of each path below the root, with slashes, before it is
	// looked at; with a slash at the end of a folder before that is listed.
	Look func(name string)

	kinds   *registry.Kinds
	root    *os.Root
	dir     string            // its path on disk, without links
	overlay map[string][]byte // see With
}

// Open opens the repository in a folder, in which people may write some kinds. Close it after
// use.
func Open(dir string, kinds *registry.Kinds) (*Repository, error) {
	resolved, err := filepath.EvalSymlinks(dir)
	if err == nil {
		resolved, err = filepath.Abs(resolved)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such folder: name the one that holds %s", dir, environmentsFolder)
	}
	if err != nil {
		return nil, fmt.Errorf("open the folder that holds %s: %w", environmentsFolder, err)
	}
	//nolint:gosec // whoever runs this may name any folder
	if info, err := os.Stat(resolved); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file: name the folder that holds %s", dir, environmentsFolder)
	}
	root, err := os.OpenRoot(resolved)
	if err != nil {
		return nil, fmt.Errorf("open the folder that holds %s: %w", environmentsFolder, err)
	}
	r := &Repository{kinds: kinds, root: root, dir: resolved}
	if !r.fileSystem().IsDir("/" + environmentsFolder) {
		r.Close()
		return nil, fmt.Errorf("%s has no folder %s%s", resolved, environmentsFolder, rootAbove(resolved))
	}
	return r, nil
}

// Close closes the repository.
func (r *Repository) Close() { _ = r.root.Close() }

// With returns the repository as it would be if files had that content. Their paths are from
// the root, with a slash first and without links, in folders that there are.
func (r *Repository) With(files map[string][]byte) *Repository {
	with := *r
	with.overlay = files
	return &with
}

// Kinds returns those that people may write in it.
func (r *Repository) Kinds() *registry.Kinds { return r.kinds }

// Dir is its folder on disk, without links.
func (r *Repository) Dir() string { return r.dir }

// Lock keeps other runs from writing to the repository, and from reading it, until
// unlock. It waits for those that do.
func (r *Repository) Lock(ctx context.Context) (unlock func(), err error) {
	return tree.Lock(ctx, filepath.Join(r.dir, environmentsFolder))
}

// Rendered returns the files that an environment was rendered to.
func (r *Repository) Rendered(environment string) ([]tree.File, error) {
	return tree.Read(r.root, environment)
}

// RLock keeps other runs from writing to the repository until unlock, where it can be
// locked: a file system without locks may be read. It waits for those that write.
func (r *Repository) RLock(ctx context.Context) (unlock func(), err error) {
	unlock, err = tree.RLock(ctx, filepath.Join(r.dir, environmentsFolder))
	if err != nil && ctx.Err() == nil {
		return func() {}, nil
	}
	return unlock, err
}

// fileSystem returns the repository as it is on disk now.
func (r *Repository) fileSystem() *source.FileSystem {
	files := source.NewFileSystem(r.root, r.dir)
	files.Tell(r.Look)
	files.Overlay(r.overlay)
	return files
}

// look tells of a path that is looked at.
func (r *Repository) look(name string) {
	if r.Look != nil {
		r.Look(name)
	}
}

// lookBelow tells of a folder and of those in it.
func (r *Repository) lookBelow(folder string) {
	r.look(folder + "/")
	entries, _ := fs.ReadDir(r.root.FS(), folder) // what cannot be read, or is no folder, is looked at itself
	for _, entry := range entries {
		r.look(path.Join(folder, entry.Name()) + "/")
	}
}

// FindRoot returns the folder at or above dir that holds environments/.
func FindRoot(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		//nolint:gosec // whoever runs this may name any folder
		if info, err := os.Stat(filepath.Join(at, environmentsFolder)); err == nil && info.IsDir() {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no folder %s at or above %s: name the folder that holds it with --root", environmentsFolder, dir)
		}
	}
}

// rootAbove returns the hint at the folder above dir that holds environments/; empty where none
// does.
func rootAbove(dir string) string {
	root, err := FindRoot(dir)
	if err != nil {
		return ""
	}
	return ": did you mean " + root + "?"
}

// Environments returns the names of the environments: the folders of environments/ with a
// kustomization, but for base and components.
func (r *Repository) Environments() ([]string, error) {
	r.look(environmentsFolder + "/")
	entries, err := fs.ReadDir(r.root.FS(), environmentsFolder)
	if err != nil {
		return nil, err
	}
	files := r.fileSystem()
	var names []string
	for _, entry := range entries {
		if entry.Name() != baseFolder && isBuildable(files, path.Join("/", environmentsFolder, entry.Name())) {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// isBuildable reports whether a folder has a kustomization that is not a component.
func isBuildable(files *source.FileSystem, folder string) bool {
	file := files.KustomizationFile(folder)
	if file == "" {
		return false
	}
	content, _ := files.ReadFile(file) // what cannot be read, or is malformed, fails when it is built
	var kustomization types.TypeMeta
	_ = yaml.Unmarshal(content, &kustomization)
	return kustomization.Kind != types.ComponentKind
}

// Selection says which environments to render.
type Selection struct {
	// Names are the names of environments.
	Names []string
	// All adds every environment that there is, and those that were rendered and
	// are no more.
	All bool
}

var environmentName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// IsEnvironmentName reports whether an environment can have a name.
func IsEnvironmentName(name string) bool {
	return environmentName.MatchString(name) && name != baseFolder
}

// Select returns the names of the environments to render, sorted, each once.
func (r *Repository) Select(selection Selection) ([]string, error) {
	var errs []error
	names := slices.Clone(selection.Names)
	if selection.All {
		all, err := r.Environments()
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("%s/ has no environment: make a folder there with a kustomization.yaml", environmentsFolder)
		}
		errs = append(errs, err)
		names = append(names, all...)
	}
	for _, name := range names {
		if !environmentName.MatchString(name) {
			errs = append(errs, r.notAName(name))
		} else if name == baseFolder {
			errs = append(errs, fmt.Errorf("%s/%s is what environments build on: render those", environmentsFolder, baseFolder))
		}
	}
	if selection.All {
		rendered, err := tree.Environments(r.root)
		errs = append(errs, err)
		for _, name := range rendered {
			if IsEnvironmentName(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), errors.Join(errs...)
}

// hasEnvironment reports whether there is a folder for an environment, or anything else of
// its name: gone is only what does not exist.
func (r *Repository) hasEnvironment(name string) bool {
	return r.fileSystem().Exists(path.Join("/", environmentsFolder, name))
}
