package git

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/gatehouse/render/regular"
	"example.com/gatehouse/render/watchdog"
)

// Snapshot is the files of a commit in the folder of the repository, without a check-out. Names are as in package fs.
// One git process reads their contents until Close. Its methods may be called concurrently.
type Snapshot struct {
	ctx        context.Context //nolint:containedctx // it reads where a file system is read
	repository *Repository
	files      map[string]File
	folders    map[string][]fs.DirEntry // the entries of each folder, sorted

	mu     sync.Mutex
	reader *blobReader // nil until the first ReadFile
}

// Snapshot returns the files of a commit. It is an error if one of some paths is a submodule.
func (r *Repository) Snapshot(ctx context.Context, commit string, paths ...string) (*Snapshot, error) {
	files, err := r.Files(ctx, commit, append([]string{"."}, paths...)...)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{ctx: ctx, repository: r, files: files, folders: map[string][]fs.DirEntry{".": nil}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		s.addEntry(name, files[name].fileMode())
	}
	for _, entries := range s.folders {
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return s, nil
}

// addEntry adds a name to its folder, and its folder to the folder above.
func (s *Snapshot) addEntry(name string, mode fs.FileMode) {
	for {
		dir := path.Dir(name)
		_, isKnown := s.folders[dir]
		s.folders[dir] = append(s.folders[dir], fs.FileInfoToDirEntry(info{path.Base(name), mode}))
		if isKnown {
			return
		}
		name = dir
		mode = fs.ModeDir
	}
}

// fileMode returns the mode of a file, a link, or a submodule, whose folder is empty.
func (f File) fileMode() fs.FileMode {
	switch f.Mode {
	case modeLink:
		return fs.ModeSymlink
	case modeSubmodule:
		return fs.ModeDir
	}
	return 0
}

// Files returns the files by name.
func (s *Snapshot) Files() map[string]File { return s.files }

// Lstat returns the mode of a file or folder. Its size and time are unknown.
func (s *Snapshot) Lstat(name string) (fs.FileInfo, error) {
	if file, ok := s.files[name]; ok {
		return info{path.Base(name), file.fileMode()}, nil
	}
	if _, ok := s.folders[name]; ok {
		return info{path.Base(name), fs.ModeDir}, nil
	}
	return nil, missing("lstat", name)
}

// ReadDir returns the entries of a folder, sorted.
func (s *Snapshot) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, ok := s.folders[name]
	if !ok && s.files[name].Mode != modeSubmodule {
		return nil, missing("open", name)
	}
	return slices.Clone(entries), nil
}

// ReadLink returns the target of a link.
func (s *Snapshot) ReadLink(name string) (string, error) {
	if s.files[name].Mode != modeLink {
		return "", missing("readlink", name)
	}
	target, err := s.read(name)
	return string(target), err
}

// ReadFile returns the content of a regular file.
func (s *Snapshot) ReadFile(name string) ([]byte, error) {
	if !s.files[name].IsRegular() {
		return nil, missing("open", name)
	}
	return s.read(name)
}

// Close ends the git process.
func (s *Snapshot) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != nil {
		_ = s.reader.close()
	}
	s.reader = nil
}

func (s *Snapshot) read(name string) (content []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader == nil {
		if s.reader, err = s.repository.newBlobReader(s.ctx); err != nil {
			return nil, err
		}
	}
	if content, err = s.reader.read(s.files[name].OID); err != nil {
		return nil, fmt.Errorf("read committed file %s: %w", Tidy(name), err)
	}
	watchdog.Read("git "+s.files[name].OID, len(content))
	return content, nil
}

// blobReader is a running `git cat-file --batch`.
type blobReader struct {
	ctx    context.Context //nolint:containedctx // see Snapshot
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
	done   func() // of the watchdog
}

// catFile is the command of a blobReader.
var catFile = []string{"cat-file", "--batch"}

func (r *Repository) newBlobReader(ctx context.Context) (*blobReader, error) {
	b := &blobReader{ctx: ctx, cmd: r.command(ctx, catFile...)}
	b.cmd.Stdin = nil
	b.cmd.Stderr = &b.stderr
	out, err := b.cmd.StdoutPipe()
	if err == nil {
		b.in, err = b.cmd.StdinPipe()
	}
	if err == nil {
		b.out, err = bufio.NewReader(out), b.cmd.Start()
	}
	if err == nil {
		b.done = r.guard(b.cmd, catFile[0])
	}
	return b, commandError(ctx, catFile, "", err)
}

func (b *blobReader) read(id string) ([]byte, error) {
	if _, err := io.WriteString(b.in, id+"\n"); err != nil {
		return nil, err
	}
	header, err := b.out.ReadString('\n')
	fields := strings.Fields(header)
	if err != nil || len(fields) != 3 {
		return nil, fmt.Errorf("git cat-file: %s", Tidy(header))
	}
	size, err := strconv.Atoi(fields[2])
	if err != nil {
		return nil, fmt.Errorf("git cat-file: %s", Tidy(header))
	}
	if size > regular.MaxSize {
		return nil, fmt.Errorf("git cat-file: %s: is over %d MiB: split it", Tidy(header), regular.MaxSize>>20)
	}
	content := make([]byte, size+1) // with the end of its line
	if _, err := io.ReadFull(b.out, content); err != nil || content[size] != '\n' {
		return nil, fmt.Errorf("git cat-file: %s: the content is cut off", Tidy(header))
	}
	return content[:size], nil
}

func (b *blobReader) close() error {
	_ = b.in.Close()
	_, _ = io.Copy(io.Discard, b.out) // so that git ends
	err := b.cmd.Wait()               // before the read of what it said
	b.done()
	return commandError(b.ctx, catFile, b.stderr.String(), err)
}

// info is a name with its mode.
type info struct {
	name string
	mode fs.FileMode
}

func (i info) Name() string      { return i.name }
func (info) Size() int64         { return 0 }
func (i info) Mode() fs.FileMode { return i.mode }
func (info) ModTime() time.Time  { return time.Time{} }
func (i info) IsDir() bool       { return i.mode.IsDir() }
func (info) Sys() any            { return nil }

func missing(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}
