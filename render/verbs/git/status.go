package git

import (
	"context"
	"slices"
	"strings"
)

// Uncommitted returns the files at or below paths that differ from HEAD in the work tree or the index, and
// untracked files that are not ignored. All paths are relative to the folder.
func (r *Repository) Uncommitted(ctx context.Context, paths ...string) (changed, untracked []string, err error) {
	literal := make([]string, len(paths))
	for i, name := range paths {
		literal[i] = ":(literal)" + name
	}
	out, err := r.git(ctx, nil, append([]string{"status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=none", "--no-renames", "--"}, literal...)...)
	for entry := range strings.SplitSeq(out, "\x00") {
		if file, ok := strings.CutPrefix(entry, "?? "); ok {
			untracked = append(untracked, r.inFolder(file))
		} else if entry != "" {
			changed = append(changed, r.inFolder(entry[len("XY "):]))
		}
	}
	return changed, untracked, err
}

// FileChange is a file or submodule of the work tree that differs from a commit. A File that does not exist
// is nil.
type FileChange struct {
	Path          string // from the top of the work tree
	Before, After *File  // without OIDs
}

// ChangedSince returns the files and submodules of the work tree that differ from a commit. It includes
// untracked files that are not ignored. With inIndex it compares the index.
func (r *Repository) ChangedSince(ctx context.Context, commit string, inIndex bool) (changes []FileChange, err error) {
	// The flags override settings, such as ignore in .gitmodules.
	args := []string{"diff", "--raw", "-z", "--no-renames", "--no-relative", "--no-ext-diff", "--ignore-submodules=dirty"}
	if inIndex {
		args = append(args, "--cached")
	}
	out, err := r.git(ctx, nil, append(args, commit, "--")...)
	if err != nil {
		return nil, err
	}
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
	if inIndex {
		return changes, nil
	}
	out, err = r.git(ctx, nil, "ls-files", "-z", "--others", "--exclude-standard", "--full-name", "--", ":/")
	for name := range strings.SplitSeq(out, "\x00") {
		if name != "" {
			changes = append(changes, FileChange{Path: name, After: &File{Mode: "100644"}})
		}
	}
	return changes, err
}

// HashFiles returns the ids of files of the work tree after filters and conversion of line ends, as git add
// computes them. Files are relative to the folder.
func (r *Repository) HashFiles(ctx context.Context, files []string) (hashes []string, err error) {
	const most = 200 // fits a command line on any system
	for some := range slices.Chunk(files, most) {
		out, err := r.git(ctx, nil, append([]string{"hash-object", "--"}, some...)...)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, strings.Fields(out)...)
	}
	return hashes, nil
}
