package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
)

// openGit opens the git repository of the folder root, or of the nearest one with environments, as in a hook.
func openGit(ctx context.Context, root string) (*git.Repository, error) {
	repository, err := openRepository(root, nil) // the kinds do not matter for files
	if err != nil {
		return nil, err
	}
	defer repository.Close()
	in, err := git.Open(ctx, repository.Dir())
	if err != nil {
		return nil, err
	}
	return in.InHook()
}

// changedFiles returns the files that differ from the merge base of a revision and HEAD, relative to the root: files
// of the work tree, or of the index. It returns nil, for all files, before the first commit.
func changedFiles(ctx context.Context, root, revision string, inIndex bool) ([]string, error) {
	in, err := openGit(ctx, root)
	if err != nil {
		return nil, err
	}
	if head, err := in.Tip(ctx, git.Head); head == "" || err != nil {
		return nil, err
	}
	base, err := in.MergeBase(ctx, revision)
	if err != nil {
		return nil, fmt.Errorf("--changed-since: %w", err)
	}
	changes, err := in.ChangedSince(ctx, base, inIndex)
	files := []string{}
	for _, c := range changes {
		files = append(files, strings.TrimPrefix(strings.TrimPrefix(c.Path, in.Prefix()), "/"))
	}
	return files, err
}

// checkOutIndex writes the index of the repository at root, or of the nearest one, to a temporary folder.
func checkOutIndex(ctx context.Context, root string) (folder string, remove func(), err error) {
	in, err := openGit(ctx, root)
	if err != nil {
		return "", nil, err
	}
	to, err := os.MkdirTemp("", "render-index-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(to) }
	if folder, err = in.CheckOutIndex(ctx, to); err != nil {
		remove()
	}
	return folder, remove, err
}

// adviseToAdd prints the missing git add for new files of rendered/: `git commit --all` leaves them out, and
// only CI would notice. With --staged changed files count too, and the exit code says so.
func adviseToAdd(cmd *cobra.Command, repository *render.Repository, f flags) error {
	in, err := git.Open(cmd.Context(), repository.Dir())
	if err != nil && !f.staged {
		return nil // without git there is nothing to add
	}
	if err == nil && f.staged {
		in, err = in.InHook()
	}
	var files []string
	if err == nil {
		files, err = in.Unstaged(cmd.Context(), tree.Folder, f.staged)
	}
	if err != nil || len(files) == 0 {
		return err
	}
	if !f.watch && (f.staged || f.output == "text") {
		kept := "git does not track"
		if f.staged {
			kept = "the commit lacks"
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "rendered/ has %s that %s: run git add %s\n", count(len(files), "file"), kept, quote(fromHere(filepath.Join(repository.Dir(), tree.Folder))))
	}
	if f.staged {
		return exitCode(exitDiffers)
	}
	return nil
}

func fromHere(name string) string {
	here, err := os.Getwd()
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	if relative, relErr := filepath.Rel(here, name); err == nil && relErr == nil {
		return filepath.ToSlash(relative)
	}
	return name
}
