package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/entry"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/settings"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/charts"
	"example.com/gatehouse/render/source/fetched"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/tree"
)

// baseFolder is the folder under environments/ that environments build on.
const baseFolder = "base"

// Repository is a folder that holds environments/, or entries of clusters: a tree, and what its environments share.
type Repository struct {
	options Options
	kinds   *registry.Kinds
	root    *os.Root
	dir     string            // the path of root on disk, without links
	locked  string            // the folder that locks: environments/, or dir without it
	files   source.Revision   // the work tree, or see At
	overlay map[string][]byte // see With
	shared  *memo.Memo        // results for all environments of a run, if Memo is nil
	once
}

// Options are what a repository does not have in its files. They do not change.
type Options struct {
	// Now is the time of rendering. Only warnings depend on it; zero disables these.
	Now time.Time
	// Look, if not nil, is called with each path below the root, with slashes, before it is
	// read. The path of a folder that is listed ends with a slash.
	Look func(name string)
	// Memo, if not nil, keeps results from one rendering to the next.
	Memo *memo.Memo
	// IsLeftOut, if not nil, reports whether a sparse checkout leaves out an environment.
	IsLeftOut func(environment string) bool
	// Origin, if not nil, returns the place of the tree by git.
	Origin func() application.Origin
}

// once has what is read once from the files of a repository.
type once struct {
	settings func() settings.Settings
	found    func() entries // outside of environments/
	defined  func() map[schema.GroupKind][]fileDefinition
	argo     func() application.Installation
}

// setOnce sets what is read once from the files.
func (r *Repository) setOnce() {
	r.once = once{sync.OnceValue(r.readSettings), sync.OnceValue(r.findEntries), sync.OnceValue(r.findDefinitions),
		sync.OnceValue(func() application.Installation { return application.FindInstallation(r.files) })}
}

// Open opens the repository in a folder, with objects of some kinds.
func Open(dir string, kinds *registry.Kinds, options Options) (*Repository, error) {
	resolved, err := filepath.EvalSymlinks(dir)
	if err == nil {
		resolved, err = filepath.Abs(resolved)
	}
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(resolved)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such folder: name the one that holds %s", dir, tree.EnvironmentsFolder)
	}
	if err != nil {
		return nil, fmt.Errorf("open the folder that holds %s: %w", tree.EnvironmentsFolder, err)
	}
	r := &Repository{options: options, kinds: kinds, root: root, dir: resolved, files: source.Disk(root, resolved),
		shared: &memo.Memo{}}
	r.setOnce()
	if r.fileSystem().IsDir("/" + tree.EnvironmentsFolder) {
		r.locked = filepath.Join(resolved, tree.EnvironmentsFolder)
		return r, nil
	}
	r.locked = resolved
	if len(r.found().all) == 0 {
		r.Close()
		if wrong := r.Settings().Problems; len(wrong) > 0 {
			return nil, errors.New(wrong[0].String())
		}
		return nil, fmt.Errorf("%s has no folder %s, and nothing else to judge: %s; create the folder with render "+
			"init, or name the folder that holds it", resolved, tree.EnvironmentsFolder, entry.LookedFor)
	}
	return r, nil
}

// Close closes the repository.
func (r *Repository) Close() { _ = r.root.Close() }

// With returns the repository with the content of some files replaced. Their paths are from the
// root, with a leading slash and without links, in existing folders.
func (r *Repository) With(files map[string][]byte) *Repository {
	with := r.reading(r.files, r.options)
	with.overlay = files
	with.setOnce()
	return with
}

// Still returns the repository as it is: each file is read once, for all environments of a run.
func (r *Repository) Still() *Repository { return r.reading(source.Once(r.files), r.options) }

// At returns the repository at another revision, which does not change. It shares what it reads and builds, by content,
// and the locks.
func (r *Repository) At(revision source.Revision) *Repository {
	options := r.options
	options.IsLeftOut = nil
	at := r.reading(source.Once(source.Fetching(revision, source.FetcherOf(r.files))), options)
	at.setOnce()
	return at
}

// Fetching returns the repository with the files that its deliveries name and it does not have. A fetcher gets each
// once, for all revisions.
func (r *Repository) Fetching(fetcher fetched.Fetcher) *Repository {
	return r.reading(source.Fetching(r.files, fetcher), r.options)
}

// Recording returns the repository with what it looks at added to looks.
func (r *Repository) Recording(looks *source.Looks) *Repository {
	options := r.options
	options.Look = func(name string) {
		looks.Add(name)
		r.look(name)
	}
	return r.reading(r.files, options)
}

// reading returns the repository with other files.
func (r *Repository) reading(files source.Revision, options Options) *Repository {
	other := *r
	other.files = files
	other.options = options
	return &other
}

// Files returns the files of the repository.
func (r *Repository) Files() source.Revision { return r.files }

// Now returns the time of rendering.
func (r *Repository) Now() time.Time { return r.options.Now }

// Kinds returns the kinds of source objects.
func (r *Repository) Kinds() *registry.Kinds { return r.kinds }

// Dir returns the folder of the repository on disk, without links.
func (r *Repository) Dir() string { return r.dir }

// Lock waits until no other run reads or writes the repository, and keeps others away until
// unlock.
func (r *Repository) Lock(ctx context.Context) (unlock func(), err error) {
	return tree.Lock(ctx, r.locked)
}

// Rendered returns the files of a rendered environment.
func (r *Repository) Rendered(environment string) ([]tree.File, error) {
	return tree.Read(r.root, environment)
}

// RenderedFor returns the version of Kubernetes in the index of a rendered environment; empty if
// the index has none.
func (r *Repository) RenderedFor(environment string) (kubernetes string, isRendered bool, err error) {
	index, err := tree.ReadIndex(r.root, environment)
	return tree.KubernetesOf(index), index != nil, err
}

// RLock waits until no other run writes to the repository, and keeps others from writing until
// unlock. It does not lock a file system without locks.
func (r *Repository) RLock(ctx context.Context) (unlock func(), err error) {
	unlock, err = tree.RLock(ctx, r.locked)
	if err != nil && ctx.Err() == nil {
		return func() {}, nil
	}
	return unlock, err
}

// fileSystem returns a file system that reads the repository from disk.
func (r *Repository) fileSystem() *source.FileSystem {
	files := r.files
	if origin := r.options.Origin; origin != nil {
		files = source.Knowing(files, func(from fetched.Source) (source.Revision, string) {
			return origin().Revision(from)
		})
	}
	return source.NewFileSystem(files, r.dir, r.options.Look).With(r.overlay)
}

func (r *Repository) look(name string) {
	if r.options.Look != nil {
		r.options.Look(name)
	}
}

// lookBelow calls Look for a folder and the folders in it.
func (r *Repository) lookBelow(folder string) {
	r.look(folder + "/")
	entries, _ := r.files.ReadDir(folder) // without entries the folder itself is enough
	for _, entry := range entries {
		r.look(path.Join(folder, entry.Name()) + "/")
	}
}

// FindRoot returns the folder at or above dir that holds environments/ or the settings.
func FindRoot(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, tree.EnvironmentsFolder)); err == nil && info.IsDir() {
			return at, nil
		}
		if info, err := os.Stat(filepath.Join(at, settings.File)); err == nil && info.Mode().IsRegular() {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "",
				fmt.Errorf("no folder %s at or above %s: create it with render init, or name the top folder of the "+
					"repository with --root", tree.EnvironmentsFolder, dir)
		}
	}
}

// Environments returns the names of the environments in environments/, and of the entries outside of it.
func (r *Repository) Environments() ([]string, error) {
	names, err := r.ownEnvironments()
	return append(names, r.entryNames()...), err
}

// ownEnvironments returns the names of the folders of environments/ with a kustomization, except base and components.
func (r *Repository) ownEnvironments() (names []string, err error) {
	r.look(tree.EnvironmentsFolder + "/")
	files := r.fileSystem()
	if !files.IsDir("/" + tree.EnvironmentsFolder) {
		return nil, nil
	}
	entries, err := r.files.ReadDir(tree.EnvironmentsFolder)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		// rendering reports other errors
		k, err := readHead(files, path.Join("/", tree.EnvironmentsFolder, entry.Name()))
		if entry.Name() != baseFolder && !errors.Is(err, fs.ErrNotExist) && k.Kind != types.ComponentKind {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// PlainBuild returns the objects in the output of `kustomize build` for a folder, which other tools apply.
// folder is from the root, with a leading slash.
func (r *Repository) PlainBuild(folder string) ([]manifest.Object, error) {
	sources := source.Read(nil, nil, r.fileSystem(), nil, (&common{}).clusterOf, nil, folder)
	if manifest.HasErrors(sources.Problems) {
		return nil, errors.New(sources.Problems[0].String())
	}
	return plainObjects(sources, folder)
}

func plainObjects(sources *source.Sources, folder string) ([]manifest.Object, error) {
	output, err := kustomize.Output(sources, folder)
	if err != nil {
		return nil, err
	}
	objects, problems := tree.Objects("", []tree.File{{Path: "output", Content: output}})
	if len(problems) > 0 {
		return nil, errors.New(problems[0].Message)
	}
	return objects, nil
}

// NeededChart is an archive of a chart that an environment names.
type NeededChart struct {
	// Folder is relative to the root, with slashes.
	Folder string
	From   fetched.Source
	// IsThere reports whether the chart is there, perhaps as a folder.
	IsThere bool
}

// Charts returns the charts of the kustomizations of an environment, without its problems.
func (r *Repository) Charts(environment string) []source.Chart {
	root, _ := readEntry(r, environment, LoadOptions{})
	if root.sources == nil {
		return nil
	}
	return root.sources.Charts
}

// urlOf returns the URL of a HelmRepository in any environment, or "".
func (r *Repository) urlOf(id manifest.ID) string {
	environments, _ := r.Environments()
	for _, environment := range environments {
		root, _ := readEntry(r, environment, LoadOptions{})
		if root.sources == nil {
			continue
		}
		for _, d := range root.sources.SourceDocuments(id) {
			if url := node.Text(d.Node(), "spec", "url"); url != "" && d.Name == id.Name &&
				(d.Namespace == id.Namespace || d.Namespace == "") {
				return strings.TrimRight(url, "/")
			}
		}
	}
	return ""
}

// NeededCharts returns the charts that an environment names, in its kustomizations and, if it builds, in its
// releases. The problems include warnings of charts without a repository.
func (r *Repository) NeededCharts(environment string, progress func(step string)) (all []NeededChart,
	problems []manifest.Problem) {
	progress("reading")
	root, problems := readEntry(r, environment, LoadOptions{})
	e := &Environment{Name: environment, common: root.common, built: built{root: root}}
	if root.sources != nil {
		for _, c := range root.sources.Charts {
			if c.Repo != "" && c.Version != "" {
				isThere := charts.IsThere(root.sources.FS, c.Local())
				all = append(all, NeededChart{strings.TrimPrefix(c.Home, "/"), c.From(), isThere})
			}
		}
	}
	if e.report(problems) {
		return all, manifest.SortProblems(e.found)
	}
	progress("building")
	b, problems := root.buildAll(r)
	e.report(problems)
	for _, needed := range b.releases {
		if needed.Repository == "" {
			needed.Repository = r.urlOf(needed.RepositoryID)
		}
		switch {
		case needed.Chart == "" || needed.Unjudged != "":
		case needed.Repository == "":
			e.report([]manifest.Problem{needed.Warning("chart " + needed.String() +
				": its repository is not in this git repository: run helm pull -d " + charts.Folder)})
		default:
			all = append(all, NeededChart{Folder: charts.Folder, From: needed.From()})
		}
	}
	return all, manifest.SortProblems(e.found)
}
