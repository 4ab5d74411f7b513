package git

import (
	"context"
	"slices"
	"strings"
)

// Status returns the files at or below paths that differ between HEAD, the index and the work tree. The values
// are the two letters of `git status --short`, for the index and for the work tree. All paths are relative to
// the folder.
func (r *Repository) Status(ctx context.Context, paths ...string) (map[string]string, error) {
	literal := make([]string, len(paths))
	for i, name := range paths {
		literal[i] = ":(literal)" + name
	}
	out, err := r.git(ctx, nil, append([]string{"status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored", "--ignore-submodules=none", "--no-renames", "--"}, literal...)...)
	states := map[string]string{}
	for entry := range strings.SplitSeq(out, "\x00") {
		if entry != "" {
			states[r.InFolder(entry[len("XY "):])] = entry[:len("XY")]
		}
	}
	return states, err
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
	// The flags override settings, such as ignore in .gitmodules.
	args := []string{"diff", "--raw", "-z", "--no-renames", "--no-relative", "--no-ext-diff", "--ignore-submodules=none"}
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
