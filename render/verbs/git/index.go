package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"example.com/gatehouse/render/regular"
	"example.com/gatehouse/render/watchdog"
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

// CheckOut writes the files of the folder in a commit or tree to a temporary folder, which stays until remove. It
// returns the repository's folder there. Files have the bytes of the commit: git would filter them.
func (r *Repository) CheckOut(ctx context.Context, tree string) (folder string, remove func(), err error) {
	temporary, remove, err := watchdog.Scratch()
	if err != nil {
		return "", nil, err
	}
	folder = filepath.Join(temporary, "files", filepath.FromSlash(r.prefix))
	if err = r.checkOut(ctx, tree, folder); err != nil {
		remove()
	}
	return folder, remove, err
}

// checkOut writes files to a folder. It includes submodules, if the work tree has them.
func (r *Repository) checkOut(ctx context.Context, tree, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	files, err := r.Files(ctx, tree, ".")
	if err != nil {
		return err
	}
	if err := r.writeFiles(ctx, files, to); err != nil {
		return err
	}
	for name, file := range files {
		submodule := filepath.Join(r.dir, name)
		if file.Mode != modeSubmodule || gitDirOf(submodule) == "" {
			continue // render reports missing files
		}
		in, err := Open(ctx, submodule)
		if err != nil {
			return err
		}
		if err := in.checkOut(ctx, file.OID, filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

// writeFiles writes files and links to a folder, and nothing outside of it.
func (r *Repository) writeFiles(ctx context.Context, files map[string]File, to string) error {
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	return r.readBlobs(ctx, files, func(name string, content []byte) error {
		if slices.ContainsFunc(strings.Split(name, "/"), regular.IsGit) {
			return fmt.Errorf("git checks out no file %s", Tidy(name))
		}
		if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
			return err
		}
		if files[name].Mode == modeLink {
			return root.Symlink(string(content), name)
		}
		file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = file.Write(content)
		return errors.Join(err, file.Close())
	})
}

// ChangedFiles returns the files of the work tree and of the index, if asked for, that differ from the merge base of a
// revision and HEAD, relative to the folder. It returns nil, for all files, before the first commit.
func (r *Repository) ChangedFiles(ctx context.Context, since string, inWorkTree, inIndex bool) ([]string, error) {
	if head, err := r.Tip(ctx, Head); head == "" || err != nil {
		return nil, err
	}
	base, err := r.MergeBase(ctx, since)
	if err != nil {
		return nil, err
	}
	var changes, staged []FileChange
	if inWorkTree {
		changes, err = r.ChangedSince(ctx, base)
	}
	if err == nil && inIndex {
		staged, err = r.StagedSince(ctx, base)
	}
	files := []string{}
	for _, c := range slices.Concat(changes, staged) {
		files = append(files, r.InFolder(c.Path))
	}
	return files, err
}

// Missing has files that a commit would lack, relative to the folder and sorted.
type Missing struct {
	Changed []string // untracked, or other than in the index
	Ignored []string
}

// Missing returns the untracked ones of some files, and of all files in the first of some folders. With isStaged it
// includes changed and ignored files, and removed files in any of the folders.
func (r *Repository) Missing(ctx context.Context, files, folders []string, isStaged bool) (missing Missing, err error) {
	isKnown := map[string]bool{}
	for _, file := range files {
		isKnown[file] = true
	}
	states, err := r.Status(ctx, Tops(slices.Concat(files, folders))...)
	isIn := func(file, folder string) bool { return strings.HasPrefix(file, folder+"/") }
	for file, state := range states {
		switch {
		case isStaged && state[1] == 'D' && slices.ContainsFunc(folders, func(f string) bool { return isIn(file, f) }):
			missing.Changed = append(missing.Changed, file)
		case !isKnown[file] && !isIn(file, folders[0]):
		case isStaged && state == Ignored:
			missing.Ignored = append(missing.Ignored, file)
		case state == Untracked, isStaged && state != Ignored && state[1] != ' ':
			missing.Changed = append(missing.Changed, file)
		}
	}
	slices.Sort(missing.Changed)
	slices.Sort(missing.Ignored)
	return missing, err
}
