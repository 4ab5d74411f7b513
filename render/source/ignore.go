package source

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"

	"example.com/gatehouse/render/source/fetched"
)

// ignoring finds the files that the artifact of a source of Flux lacks, or git.
type ignoring struct {
	files *FileSystem
	file  string              // with patterns, in a folder
	top   string              // of a fetched source; empty for the tree
	own   []gitignore.Pattern // spec.ignore of the source

	mu       sync.Mutex
	patterns map[string][]gitignore.Pattern // by folder
	ignored  map[string]bool
}

// InArtifact returns the file system as Flux archives it for a source with spec.ignore: without the files that this and
// .sourceignore exclude, or without these Flux's own list (SourceIgnoreFilter in fluxcd/pkg/artifact/storage).
func (f *FileSystem) InArtifact(ignore string) *FileSystem { return f.inArtifact("", ignore) }

// InFetched is InArtifact for the source that has a fetched folder.
func (f *FileSystem) InFetched(folder, ignore string) *FileSystem {
	return f.inArtifact(fetched.Top(folder), ignore)
}

func (f *FileSystem) inArtifact(top, ignore string) *FileSystem {
	artifact := f.With(nil)
	var domain []string // of the patterns
	if top != "" {
		domain = strings.Split(Relative(top), "/")
	}
	artifact.ignoring = &ignoring{files: f, file: sourceignore.IgnoreFile, top: top,
		own:      sourceignore.ReadPatterns(strings.NewReader(ignore), domain),
		patterns: map[string][]gitignore.Pattern{}, ignored: map[string]bool{}}
	return artifact
}

// isIgnored reports whether git ignores a file that is not there, by the files .gitignore of the tree.
func (f *FileSystem) isIgnored(name string) bool {
	by := &ignoring{files: f, file: ".gitignore", patterns: map[string][]gitignore.Pattern{},
		ignored: map[string]bool{}}
	return !f.Exists(name) && by.has(name)
}

// has reports whether the artifact lacks a file.
func (i *ignoring) has(name string) bool {
	if i == nil || fetched.Top(name) != i.top { // of another source
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if ignored, isKnown := i.ignored[name]; isKnown {
		return ignored
	}
	all := slices.Concat(i.of(path.Dir(name)), i.own)
	if len(all) == 0 && i.file == sourceignore.IgnoreFile {
		all = slices.Concat(sourceignore.VCSPatterns(nil), sourceignore.DefaultPatterns(nil))
	}
	const isDir = false
	i.ignored[name] = sourceignore.NewMatcher(all).Match(strings.Split(Relative(name), "/"), isDir)
	return i.ignored[name]
}

// of returns the patterns in the .sourceignore files of a folder and those above it, the weakest first.
func (i *ignoring) of(folder string) []gitignore.Pattern {
	patterns, isKnown := i.patterns[folder]
	if isKnown {
		return patterns
	}
	var domain []string
	if folder != "/" && folder != path.Dir(i.top) {
		patterns = i.of(path.Dir(folder))
		domain = strings.Split(Relative(folder), "/")
	}
	if content, err := i.files.ReadAny(path.Join(folder, i.file)); err == nil {
		patterns = slices.Concat(patterns, sourceignore.ReadPatterns(strings.NewReader(string(content)), domain))
	}
	i.patterns[folder] = patterns
	return patterns
}
