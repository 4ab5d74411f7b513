package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// InHook returns the repository with the index that git names to a hook: `git commit --all` commits a
// temporary one.
func (r *Repository) InHook() (*Repository, error) {
	in, err := *r, error(nil)
	if in.index = os.Getenv("GIT_INDEX_FILE"); in.index != "" {
		in.index, err = filepath.Abs(in.index)
	}
	return &in, err
}

// CheckOutIndex writes the files of the index that are in the folder to another folder, and returns the
// folder's place there.
func (r *Repository) CheckOutIndex(ctx context.Context, to string) (string, error) {
	_, err := r.git(ctx, nil, "checkout-index", "--all", "--ignore-skip-worktree-bits", "--prefix="+to+string(filepath.Separator))
	return filepath.Join(to, filepath.FromSlash(r.prefix)), err
}

// Unstaged returns the untracked files at or below a path that are not ignored, and with modified also the
// files that differ from the index. All paths are relative to the folder.
func (r *Repository) Unstaged(ctx context.Context, name string, modified bool) ([]string, error) {
	args := []string{"ls-files", "-z", "--others", "--exclude-standard"}
	if modified {
		args = append(args, "--modified")
	}
	out, err := r.git(ctx, nil, append(args, "--", ":(literal)"+name)...)
	return strings.FieldsFunc(out, func(c rune) bool { return c == 0 }), err
}
