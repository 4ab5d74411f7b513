package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// InHook returns the repository with the index that git names to a hook: `git commit --all` commits a
// temporary one.
func (r *Repository) InHook() *Repository {
	in := *r
	in.index = os.Getenv("GIT_INDEX_FILE")
	if in.index != "" && !filepath.IsAbs(in.index) {
		in.index = filepath.Join(r.Top().dir, in.index)
	}
	return &in
}

// CheckOutIndex writes the files of the folder that a commit of the index would have to another folder, and
// returns the folder's place there.
func (r *Repository) CheckOutIndex(ctx context.Context, to string) (string, error) {
	tree, err := r.git(ctx, nil, "write-tree", "--missing-ok")
	if err != nil {
		return "", err
	}
	return r.CheckOut(ctx, strings.TrimSpace(tree), to)
}

// CheckOut writes the files of the folder in a commit or tree to another folder, and returns the folder's place
// there. It includes submodules, if the work tree has them.
func (r *Repository) CheckOut(ctx context.Context, tree, to string) (string, error) {
	dir, err := os.MkdirTemp("", "render-index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	with := *r
	with.index = filepath.Join(dir, "index")
	if _, err := with.git(ctx, nil, "read-tree", tree); err != nil {
		return "", err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return "", err
	}
	target := with
	target.target = to // so the attributes are those of the tree
	if _, err := target.git(ctx, nil, "checkout-index", "--all", "--ignore-skip-worktree-bits"); err != nil {
		return "", err
	}
	out, err := with.git(ctx, nil, "ls-files", "-z", "--stage", "--full-name")
	for entry := range strings.SplitSeq(out, "\x00") {
		described, name, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(described) // mode, id, stage
		if len(fields) != 3 || fields[0] != modeSubmodule {
			continue
		}
		submodule := &Repository{dir: filepath.Join(r.Top().dir, name)}
		if _, err := os.Lstat(filepath.Join(submodule.dir, ".git")); err != nil {
			continue // render reports missing files
		}
		if _, err := submodule.CheckOut(ctx, fields[1], filepath.Join(to, name)); err != nil {
			return "", err
		}
	}
	return filepath.Join(to, filepath.FromSlash(r.prefix)), err
}
