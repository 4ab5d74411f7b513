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
