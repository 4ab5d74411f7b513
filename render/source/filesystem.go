package source

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/regular"
	"example.com/gatehouse/render/watchdog"
)

// FileSystem is the file system that kustomize builds from. Its root, "/", is the folder with
// environments/. No path and no link leads out of it. It reads each file once and keeps the content.
// Its methods may be called concurrently.
type FileSystem struct {
	filesys.FileSystem // empty, for methods that no build calls

	*seen

	standIns map[string][]byte // content in place of, or beside, the files of the revision
	folders  map[string]bool   // of standIns
	ignoring *ignoring         // see InArtifact
	links    map[string]Link   // all files, if not nil: see Only
	noted    *Looks            // see Noting
}

// NewFileSystem returns the file system of a revision. The path of its root on disk, without links, is dir. It calls
// look, if not nil, with each path below the root, with slashes, before it is first read. Calls may be concurrent.
func NewFileSystem(revision Revision, dir string, look func(name string)) *FileSystem {
	if look == nil {
		look = func(string) {}
	}
	return &FileSystem{FileSystem: filesys.MakeFsInMemory(),
		seen: &seen{revision: revision, dir: dir, look: look, resolved: map[string]resolution{},
			files: map[string][]byte{}}}
}

// With returns a file system with some files in place of, or beside, the files of the revision.
func (f *FileSystem) With(files map[string][]byte) *FileSystem {
	with := &FileSystem{FileSystem: f.FileSystem, seen: f.seen, standIns: maps.Clone(f.standIns),
		folders: maps.Clone(f.folders), ignoring: f.ignoring, links: f.links, noted: f.noted}
	if with.standIns == nil {
		with.standIns = map[string][]byte{}
		with.folders = map[string]bool{}
	}
	for file, content := range files {
		with.standIns[file] = content
		for dir := path.Dir(file); !with.folders[dir] && dir != "/"; dir = path.Dir(dir) {
			with.folders[dir] = true
		}
	}
	return with
}

// Link is a file of an artifact: the files of the repository that it is made of, from the root, and its content if that
// is another one.
type Link struct {
	From    []string
	Content []byte
}

// Only returns a file system with nothing but some files, by their paths.
func (f *FileSystem) Only(links map[string]Link) *FileSystem {
	content := map[string][]byte{}
	for name, link := range links {
		content[name] = link.Content
	}
	only := f.With(content)
	only.standIns = map[string][]byte{}
	only.ignoring = nil
	only.links = links
	return only
}

// Looks are the paths from the root that readings look at, and the files whose content they consume. It may be used
// concurrently. A nil Looks keeps nothing.
type Looks struct {
	mu       sync.Mutex
	paths    map[string]bool
	consumed map[string]bool
}

// consume adds a file whose content is read.
func (l *Looks) consume(name string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.consumed == nil {
		l.consumed = map[string]bool{}
	}
	l.consumed[Relative(name)] = true
}

// Consumed returns the files whose content is read, sorted: without links, from the root.
func (l *Looks) Consumed() []string {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.consumed))
}

// Consumes reports whether the content of a file is read.
func (l *Looks) Consumes(name string) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.consumed[name]
}

// Add adds a path.
func (l *Looks) Add(name string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.paths == nil {
		l.paths = map[string]bool{}
	}
	l.paths[Relative(name)] = true
}

// Has reports whether a reading looks at a path.
func (l *Looks) Has(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.paths[name]
}

// Noting returns a file system with all paths that are looked at by it.
func (f *FileSystem) Noting() (noting *FileSystem, noted *Looks) {
	noting = f.With(nil)
	noting.noted = &Looks{}
	return noting, noting.noted
}

// FilesRead returns the files read from the revision, sorted, relative to the root.
func (f *FileSystem) FilesRead() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	files := slices.Sorted(maps.Keys(f.files))
	for i, file := range files {
		files[i] = Relative(file)
	}
	return files
}

// KustomizationFile returns the path of the kustomization of a folder, or "".
func (f *FileSystem) KustomizationFile(dir string) string {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if file := path.Join(dir, name); f.Exists(file) {
			return file
		}
	}
	return ""
}

// ReadKustomization reads fields of the kustomization of a folder. Without one the error wraps fs.ErrNotExist.
func (f *FileSystem) ReadKustomization(folder string, fields any) (err error) {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		var content []byte
		if content, err = f.ReadFile(path.Join(folder, name)); err == nil {
			err = yaml.Unmarshal(content, fields)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return err
}

// Resolve follows the links of an absolute path and reports whether it leads to a folder. The error
// wraps fs.ErrNotExist if nothing exists there.
func (f *FileSystem) Resolve(name string) (resolved string, isDir bool, err error) {
	name = path.Clean("/" + filepath.ToSlash(name))
	f.noted.Add(name)
	if _, ok := f.standIns[name]; ok {
		f.look(name)
		return name, false, nil
	}
	if f.folders[name] || name == "/" && f.links != nil {
		return name, true, nil
	}
	if f.links != nil {
		return f.resolveLink(name)
	}
	resolved, isDir, err = f.resolve(name)
	f.noted.Add(resolved)
	if err == nil && !isDir && f.ignoring.has(resolved) {
		err = &fs.PathError{Op: "open", Path: Relative(name), Err: fs.ErrNotExist}
	}
	return resolved, isDir, err
}

// resolveLink looks at the files that a file of an artifact is made of.
func (f *FileSystem) resolveLink(name string) (resolved string, isDir bool, err error) {
	link, isThere := f.links[name]
	if !isThere {
		return "", false, &fs.PathError{Op: "open", Path: Relative(name), Err: fs.ErrNotExist}
	}
	for _, from := range link.From {
		f.look("/" + from)
		f.noted.Add("/" + from)
	}
	return name, false, nil
}

// readLink returns the content of a file of an artifact.
func (f *FileSystem) readLink(name string) (content []byte, err error) {
	link := f.links[name]
	for _, from := range link.From {
		if content, err = f.read("/" + from); err != nil {
			return nil, err
		}
		f.noted.consume("/" + from)
	}
	if link.Content != nil {
		content = link.Content
	}
	return content, nil
}

// ReadFile returns the content of a file. The watchdog names the last one that kustomize reads.
func (f *FileSystem) ReadFile(name string) ([]byte, error) {
	if !strings.Contains(name, "/.gatehouse") { // a file of ours: users cannot change it
		watchdog.Open(Relative(name))
	}
	return f.ReadAny(name)
}

// ReadAny returns the content of any file, which kustomize does not expand.
func (f *FileSystem) ReadAny(name string) ([]byte, error) {
	_, content, err := f.find(name)
	return content, err
}

// find returns the path of a file without links, and its content.
func (f *FileSystem) find(name string) (resolved string, content []byte, err error) {
	resolved, isDir, err := f.Resolve(name)
	if err != nil {
		return "", nil, err
	}
	if isDir {
		return "", nil, fmt.Errorf("read %s: is a folder", Relative(name))
	}
	if content, ok := f.standIns[resolved]; ok {
		return resolved, content, nil
	}
	if f.links != nil {
		content, err = f.readLink(resolved)
		return resolved, content, err
	}
	if content, err = f.read(resolved); err == nil {
		f.noted.consume(resolved)
	}
	return resolved, content, err
}

// List returns the names in a folder, sorted.
func (f *FileSystem) List(folder string) (names []string, err error) {
	listed := strings.TrimSuffix(folder, "/") + "/"
	if folder == "/" {
		listed = "/./" // each reading looks at "/", and few list it
	}
	if f.links == nil {
		f.look(listed)
		entries, err := f.revision.ReadDir(nameIn(folder))
		if err != nil && !f.folders[folder] {
			return nil, readError(folder, err)
		}
		for _, entry := range entries {
			if entry.IsDir() || !f.ignoring.has(path.Join("/", folder, entry.Name())) {
				names = append(names, entry.Name())
			}
		}
	}
	for _, name := range slices.AppendSeq(slices.Collect(maps.Keys(f.standIns)), maps.Keys(f.links)) {
		if below, is := strings.CutPrefix(name, strings.TrimSuffix(folder, "/")+"/"); is {
			first, _, _ := strings.Cut(below, "/")
			names = append(names, first)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Files returns the files below a folder, from the root, as git has them: hidden ones too, and links as files.
func (f *FileSystem) Files(folder string) (files []string) {
	names, _ := f.List(folder) // an unreadable folder has none
	for _, name := range names {
		at := path.Join(folder, name)
		switch {
		case regular.IsGit(name):
		case f.mode(at).IsDir() || f.folders[at]:
			files = append(files, f.Files(at)...)
		default:
			files = append(files, Relative(at))
		}
	}
	return files
}

// mode returns the type of a file: of a link too.
func (f *FileSystem) mode(name string) fs.FileMode {
	if f.links != nil && f.folders[name] {
		return fs.ModeDir
	}
	if info, err := f.revision.Lstat(nameIn(name)); err == nil && f.links == nil {
		return info.Mode()
	}
	return 0
}

// Regular returns the files below a folder, from the root, as Flux archives them: without links.
func (f *FileSystem) Regular(folder string) []string {
	return slices.DeleteFunc(f.Files(folder), func(name string) bool { return !f.mode("/" + name).IsRegular() })
}

// Manifests returns the resources of a folder without a kustomization, as Flux lists them: the files of YAML below it,
// and the folders below it with a kustomization.
func (f *FileSystem) Manifests(folder string) (resources []string) {
	var visit func(within string)
	visit = func(within string) {
		names, _ := f.List(path.Join(folder, within)) // an unreadable folder is an error where a build reads it
		for _, name := range names {
			name = path.Join(within, name)
			at := path.Join(folder, name)
			isDir := f.mode(at).IsDir() // no link
			isKustomization := isDir && f.KustomizationFile(at) != ""
			switch {
			case regular.IsGit(path.Base(name)):
			case isKustomization || !isDir && IsYAML(name):
				resources = append(resources, "./"+name)
			case isDir:
				visit(name)
			}
		}
	}
	visit("")
	return resources
}

// CleanedAbs follows the links of a path and splits it into folder and file. The folder has the
// separators of the operating system, as kustomize compares it with others.
func (f *FileSystem) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	resolved, isDir, err := f.Resolve(name)
	if err != nil {
		return "", "", err
	}
	if isDir {
		return filesys.ConfirmedDir(filepath.FromSlash(resolved)), "", nil
	}
	return filesys.ConfirmedDir(filepath.FromSlash(path.Dir(resolved))), path.Base(resolved), nil
}

// Exists reports whether there is a file or folder, readable or not.
func (f *FileSystem) Exists(name string) bool {
	_, _, err := f.Resolve(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// IsDir reports whether there is a folder.
func (f *FileSystem) IsDir(name string) bool {
	_, isDir, err := f.Resolve(name)
	return err == nil && isDir
}

// Relative returns an absolute path of a FileSystem relative to the root.
func Relative(name string) string {
	return strings.TrimPrefix(name, "/")
}

// IsWithin reports whether a file or folder is a folder or in it.
func IsWithin(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}

// seen has the files and links that were read from a revision.
type seen struct {
	revision Revision
	dir      string
	look     func(name string)

	mu       sync.Mutex
	resolved map[string]resolution
	files    map[string][]byte
}

type resolution struct {
	path  string
	isDir bool
	err   error
}

func (s *seen) resolve(name string) (string, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.resolveLocked(name)
	return r.path, r.isDir, r.err
}

func (s *seen) resolveLocked(name string) resolution {
	r, ok := s.resolved[name]
	if !ok {
		s.look(name)
		r = s.follow(name)
		s.resolved[name] = r
	}
	return r
}

// follow follows the links of a path. The error wraps fs.ErrNotExist only if nothing exists there: a
// broken link exists.
func (s *seen) follow(name string) resolution {
	if name == "/" {
		return resolution{path: name, isDir: true}
	}
	nothing := resolution{err: &fs.PathError{Op: "open", Path: Relative(name), Err: fs.ErrNotExist}}
	folder := s.resolveLocked(path.Dir(name))
	switch {
	case errors.Is(folder.err, fs.ErrNotExist), folder.err == nil && !folder.isDir:
		return nothing
	case folder.err != nil:
		return folder
	case regular.IsGit(path.Base(name)):
		return resolution{err: errGit(name)}
	}
	resolved := path.Join(folder.path, path.Base(name))
	if resolved != name {
		s.look(resolved)
	}
	info, err := s.revision.Lstat(nameIn(resolved))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nothing
	case err != nil:
		return resolution{err: readError(name, err)}
	case info.Mode()&fs.ModeSymlink == 0:
		return resolution{path: resolved, isDir: info.IsDir()}
	}
	return s.followLink(name, resolved)
}

// followLink follows a link whose path has no other links, part by part: each may be a link.
func (s *seen) followLink(name, resolved string) resolution {
	target, err := s.revision.ReadLink(nameIn(resolved))
	at := resolution{path: path.Dir(resolved), isDir: true}
	if err == nil && filepath.IsAbs(target) {
		at.path = "/"
		target, err = filepath.Rel(s.dir, target)
	}
	if err != nil {
		return resolution{err: readError(name, err)}
	}
	s.resolved[resolved] = resolution{err: readError(name, errors.New("too many links"))} // if it leads here
	defer delete(s.resolved, resolved)
	for part := range strings.SplitSeq(filepath.ToSlash(target), "/") {
		switch {
		case regular.IsGit(part):
			return resolution{err: errGit(name)}
		case part == ".." && at.path == "/":
			return resolution{err: errOutside(Relative(name))}
		}
		switch at = s.resolveLocked(path.Join(at.path, part)); {
		case errors.Is(at.err, fs.ErrNotExist):
			return resolution{err: fmt.Errorf("%s is a link to nothing: fix or remove it", Relative(name))}
		case at.err != nil:
			return at
		}
	}
	return at
}

// errOutside reports a path that leads out of the root.
func errOutside(name string) error {
	return fmt.Errorf("%s leads out of the top folder, of this repository or --root: copy the file below it and "+
		"write its path", name)
}

// errGit reports a path in git's folder, whose configuration often has the token of a CI job.
func errGit(name string) error {
	return fmt.Errorf("%s belongs to git, and may have a token: list a committed file", Relative(name))
}

// readError returns an error of reading a path, with the path relative to the root.
func readError(name string, err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return fmt.Errorf("read %s: %w", Relative(name), err)
}

// read returns the content of a file. Its path has no links.
func (s *seen) read(resolved string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if content, ok := s.files[resolved]; ok {
		return content, nil
	}
	content, err := s.revision.ReadFile(nameIn(resolved))
	if err != nil {
		return nil, err
	}
	s.files[resolved] = content
	watchdog.Share(len(content))
	return content, nil
}
