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

// CheckOutIndex is CheckOut for the files that a commit of the index would have.
func (r *Repository) CheckOutIndex(ctx context.Context) (folder string, remove func(), err error) {
	tree, err := r.git(ctx, nil, "write-tree", "--missing-ok")
	if err != nil {
		return "", nil, err
	}
	return r.CheckOut(ctx, strings.TrimSpace(tree))
}

// CheckOut writes the files of a commit or tree to a temporary folder, which stays until remove. It returns the
// repository's folder there.
func (r *Repository) CheckOut(ctx context.Context, tree string) (folder string, remove func(), err error) {
	temporary, err := os.MkdirTemp("", "render-checkout-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(temporary) }
	files := filepath.Join(temporary, "files")
	if err = r.checkOut(ctx, tree, filepath.Join(temporary, "index"), files); err != nil {
		remove()
	}
	return filepath.Join(files, filepath.FromSlash(r.prefix)), remove, err
}

// checkOut writes files to a folder, by way of an index. It includes submodules, if the work tree has them.
func (r *Repository) checkOut(ctx context.Context, tree, index, to string) error {
	with := *r
	with.index = index
	if _, err := with.git(ctx, nil, "read-tree", tree); err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	with.target = to // so the attributes of the tree apply
	if _, err := with.git(ctx, nil, "checkout-index", "--all", "--ignore-skip-worktree-bits"); err != nil {
		return err
	}
	entries, err := r.Top().Files(ctx, tree)
	for name, entry := range entries {
		if entry.Mode != modeSubmodule {
			continue
		}
		submodule := &Repository{dir: filepath.Join(r.Top().dir, name)}
		if _, err := os.Lstat(filepath.Join(submodule.dir, ".git")); err != nil {
			continue // render reports missing files
		}
		if err := submodule.checkOut(ctx, entry.OID, index, filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return err
}
