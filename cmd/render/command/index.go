package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

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
	return in.InHook(), nil
}

// leftOut returns a function that reports whether a sparse checkout leaves out an environment. It asks git once, when
// an environment seems to be gone.
func leftOut(ctx context.Context, repository *render.Repository) func(environment string) bool {
	ask := sync.OnceValue(func() map[string]bool {
		in, err := git.Open(ctx, repository.Dir())
		if err != nil {
			return nil
		}
		return in.LeftOut(ctx, tree.EnvironmentsFolder)
	})
	return func(environment string) bool { return ask()[environment] }
}

// changedFiles returns the files that differ from the merge base of f.since and HEAD, relative to the root. It returns
// nil, for all files, before the first commit. With --staged it includes files of the index, and with --check no
// others.
func changedFiles(ctx context.Context, f flags) (files []string, err error) {
	in, err := openGit(ctx, f.root)
	if err != nil {
		return nil, err
	}
	if head, err := in.Tip(ctx, git.Head); head == "" || err != nil {
		return nil, err
	}
	base, err := in.MergeBase(ctx, f.since)
	if err != nil {
		return nil, fmt.Errorf("--changed-since: %w", err)
	}
	var changes, staged []git.FileChange
	if !f.check || !f.staged {
		changes, err = in.ChangedSince(ctx, base)
	}
	if err == nil && f.staged {
		staged, err = in.StagedSince(ctx, base)
	}
	files = []string{}
	for _, c := range slices.Concat(changes, staged) {
		files = append(files, in.InFolder(c.Path))
	}
	return files, err
}

// adviseToAdd prints the missing git add for new files of rendered/ and for new source files: `git commit --all`
// leaves them out, and only CI would notice. With --staged changed files count too, and the exit code says so.
func adviseToAdd(cmd *cobra.Command, repository *render.Repository, update *render.Update, f flags) error {
	if !f.staged && (f.watch || f.output != "text") {
		return nil
	}
	in, err := git.Open(cmd.Context(), repository.Dir())
	switch {
	case err != nil && !f.staged:
		return nil // without git there is nothing to add
	case err != nil:
		return err
	case f.staged:
		in = in.InHook()
	}
	commands, files, err := missingAdds(cmd.Context(), in, update, f.staged)
	switch {
	case err != nil || files == 0:
		return err
	case f.staged:
		fmt.Fprintf(cmd.ErrOrStderr(), "the commit lacks %s: run %s\n", count(files, "file"), commands)
		return exitCode(exitDiffers)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "git does not track %s: run %s\n", count(files, "file"), commands)
	return nil
}

// missingAdds returns the commands that add the untracked source files and rendered files of an update to the
// index, and the number of files. With staged it includes changed and ignored files.
func missingAdds(ctx context.Context, in *git.Repository, update *render.Update,
	staged bool) (commands string, files int, err error) {
	isSource, read := map[string]bool{}, []string{tree.Folder, tree.EnvironmentsFolder}
	for _, e := range update.Environments {
		for _, file := range e.Sources {
			isSource[file] = true
			read = append(read, file)
		}
	}
	states, err := in.Status(ctx, git.Tops(read)...)
	if err != nil {
		return "", 0, err
	}
	var added, ignored []string
	for file, state := range states {
		switch {
		case staged && state[1] == 'D' && strings.HasPrefix(file, tree.EnvironmentsFolder+"/"):
			added = append(added, file)
		case !isSource[file] && !strings.HasPrefix(file, tree.Folder+"/"):
		case staged && state == git.Ignored:
			ignored = append(ignored, file)
		case state == git.Untracked, staged && state != git.Ignored && state[1] != ' ':
			added = append(added, file)
		}
	}
	return addCommands(in, added, ignored), len(added) + len(ignored), nil
}

// addCommands returns the commands that add files, and ignored files, to the index.
func addCommands(in *git.Repository, added, ignored []string) string {
	var commands []string
	add := func(command string, files []string) {
		for _, file := range files {
			command += " " + quote(fromHere(filepath.Join(in.Dir(), file)))
		}
		if len(files) > 0 {
			commands = append(commands, command)
		}
	}
	add("git add", git.Tops(added))
	add("git add --force", slices.Sorted(slices.Values(ignored)))
	return strings.Join(commands, " && ")
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
