package git

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Status returns the files at or below paths that differ between HEAD, the index and the work tree. The values
// are the two letters of `git status --short`, for the index and for the work tree. All paths are relative to
// the folder.
func (r *Repository) Status(ctx context.Context, paths ...string) (map[string]string, error) {
	literal := literally(paths)
	args := []string{"status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored",
		"--ignore-submodules=dirty", "--no-renames", "--"}
	out, err := r.git(ctx, nil, append(args, literal...)...)
	if err != nil {
		return nil, err
	}
	edited, err := r.editedSubmodules(ctx, literal...)
	states := map[string]string{}
	for _, name := range edited {
		states[r.InFolder(name)] = " M"
	}
	for entry := range strings.SplitSeq(out, "\x00") {
		if entry != "" {
			states[r.InFolder(entry[len("XY "):])] = entry[:len("XY")]
		}
	}
	return states, err
}

// literally returns paths in the form in which git takes no character of them for a pattern.
func literally(paths []string) (literal []string) {
	for _, name := range paths {
		literal = append(literal, ":(literal)"+name)
	}
	return literal
}

// LeftOutOf returns a function that reports whether a sparse checkout of the repository in dir leaves out a file of
// folder/NAME. It asks git once, at the first call.
func LeftOutOf(ctx context.Context, dir, folder string) func(name string) bool {
	ask := sync.OnceValue(func() map[string]bool {
		in, err := Open(ctx, dir)
		if err != nil {
			return nil
		}
		out, _ := in.git(ctx, nil, "ls-files", "-t", "-z", "--", ":(literal)"+folder)
		names := map[string]bool{}
		for entry := range strings.SplitSeq(out, "\x00") {
			if file, is := strings.CutPrefix(entry, "S "); is {
				name, _, _ := strings.Cut(strings.TrimPrefix(file, folder+"/"), "/")
				names[name] = true
			}
		}
		return names
	})
	return func(name string) bool { return ask()[name] }
}

// Converted returns those files, relative to the folder, whose line ends are LF in the index and others here.
func (r *Repository) Converted(ctx context.Context, files []string) (converted []string, err error) {
	out, err := r.git(ctx, nil, append([]string{"ls-files", "--eol", "-z", "--"}, literally(files)...)...)
	for entry := range strings.SplitSeq(out, "\x00") {
		state, file, _ := strings.Cut(entry, "\t")
		if strings.HasPrefix(state, "i/lf") && !strings.Contains(state, "w/lf") {
			converted = append(converted, file)
		}
	}
	return converted, err
}

// The states of files that are not in the index.
const (
	Untracked = "??"
	Ignored   = "!!"
)

// Tops returns the files and folders at the top of the folder that hold files, sorted.
func Tops(files []string) (tops []string) {
	for _, file := range files {
		top, _, _ := strings.Cut(file, "/")
		tops = append(tops, top)
	}
	slices.Sort(tops)
	return slices.Compact(tops)
}

// FileChange is a file or submodule of the work tree that differs from a commit. A File that does not exist
// is nil.
type FileChange struct {
	Path          string // from the top of the work tree
	Before, After *File  // without OIDs
}

// ChangedSince returns the files and submodules of the work tree that differ from a commit. It includes
// submodules with edits, and untracked files that are not ignored. The path of an untracked repository ends with a
// slash.
func (r *Repository) ChangedSince(ctx context.Context, commit string) ([]FileChange, error) {
	changes, err := r.compare(ctx, commit)
	if err != nil {
		return nil, err
	}
	edited, err := r.editedSubmodules(ctx, ":/")
	if err != nil {
		return nil, err
	}
	for _, name := range edited {
		if !slices.ContainsFunc(changes, func(c FileChange) bool { return c.Path == name }) {
			submodule := &File{Mode: modeSubmodule}
			changes = append(changes, FileChange{name, submodule, submodule})
		}
	}
	out, err := r.git(ctx, nil, "ls-files", "-z", "--others", "--exclude-standard", "--full-name", "--", ":/")
	for name := range strings.SplitSeq(out, "\x00") {
		if name != "" {
			changes = append(changes, FileChange{Path: name, After: &File{Mode: "100644"}})
		}
	}
	return changes, err
}

// StagedSince returns the files and submodules of the index that differ from a commit.
func (r *Repository) StagedSince(ctx context.Context, commit string) ([]FileChange, error) {
	return r.compare(ctx, "--cached", commit)
}

func (r *Repository) compare(ctx context.Context, with ...string) (changes []FileChange, err error) {
	// The flags override settings, such as ignore in .gitmodules. git would read a submodule with its own settings.
	args := []string{"diff", "--raw", "-z", "--no-renames", "--no-relative", "--no-ext-diff",
		"--ignore-submodules=dirty"}
	out, err := r.git(ctx, nil, slices.Concat(args, with, []string{"--"})...)
	fileOf := func(mode string) *File {
		if mode == "000000" {
			return nil
		}
		return &File{Mode: mode}
	}
	fields := strings.Split(out, "\x00")
	for i := 1; i < len(fields); i += 2 {
		if modes := strings.Fields(fields[i-1]); len(modes) == 5 { // :MODE MODE OID OID STATUS
			changes = append(changes, FileChange{fields[i], fileOf(modes[0][1:]), fileOf(modes[1])})
		}
	}
	return changes, err
}

// editedSubmodules returns the submodules at or below paths whose work trees differ from their own commits.
func (r *Repository) editedSubmodules(ctx context.Context, paths ...string) (edited []string, err error) {
	out, err := r.git(ctx, nil, append([]string{"ls-files", "--stage", "-z", "--full-name", "--"}, paths...)...)
	for entry := range strings.SplitSeq(out, "\x00") {
		described, name, _ := strings.Cut(entry, "\t")
		submodule := filepath.Join(r.top, name)
		if !strings.HasPrefix(described, modeSubmodule) || gitDirOf(submodule) == "" {
			continue
		}
		in, err := Open(ctx, submodule)
		if err != nil {
			return nil, err
		}
		changes, err := in.ChangedSince(ctx, Head)
		if err != nil {
			return nil, fmt.Errorf("submodule %s: %w", Tidy(name), err)
		}
		if len(changes) > 0 {
			edited = append(edited, name)
		}
	}
	return edited, err
}
