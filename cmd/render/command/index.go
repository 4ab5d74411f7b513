package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
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

// changedFiles returns the files that differ from the merge base of f.since and HEAD, relative to the root. It returns
// nil, for all files, before the first commit. With --staged it includes files of the index, and with --check no
// others.
func changedFiles(ctx context.Context, f flags) ([]string, error) {
	in, err := openGit(ctx, f.root)
	if err != nil {
		return nil, err
	}
	files, err := in.ChangedFiles(ctx, f.since, !f.check || !f.staged, f.staged)
	if err != nil {
		return nil, fmt.Errorf("--changed-since: %w", err)
	}
	return files, nil
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

// missingAdds returns the commands that add the source files and rendered files of an update to the index, and the
// number of files.
func missingAdds(ctx context.Context, in *git.Repository, update *render.Update,
	staged bool) (commands string, files int, err error) {
	var sources []string
	for _, e := range update.Environments {
		sources = append(sources, e.Sources...)
	}
	missing, err := in.Missing(ctx, sources, []string{tree.Folder, tree.EnvironmentsFolder}, staged)
	var all []string
	add := func(command string, files []string) {
		for _, file := range files {
			command += " " + quote(fromHere(filepath.Join(in.Dir(), file)))
		}
		if len(files) > 0 {
			all = append(all, command)
		}
	}
	add("git add", git.Tops(missing.Changed))
	add("git add --force", missing.Ignored)
	return strings.Join(all, " && "), len(missing.Changed) + len(missing.Ignored), err
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

// warnOfLineEnds adds warnings of generators' files whose line ends git has converted: the generated objects, and the
// hashes in their names, are others in CI.
func warnOfLineEnds(ctx context.Context, repository *render.Repository, update *render.Update) {
	var files []string
	for _, e := range update.Environments {
		files = append(files, e.CRLF...)
	}
	if len(files) == 0 {
		return
	}
	in, err := openGit(ctx, repository.Dir())
	if err != nil {
		return // nothing converts them
	}
	converted, _ := in.Converted(ctx, files)
	for i, e := range update.Environments {
		for _, file := range e.CRLF {
			if slices.Contains(converted, file) {
				e.Problems = append(e.Problems, manifest.Problem{Code: manifest.CRLF,
					File: file, Line: 1, Warning: true,
					Message: "has CRLF line ends here and LF in git, so the generated object differs from that of " +
						"CI: write environments/** text=auto eol=lf into .gitattributes, remove the file, and run " +
						"git checkout -- " + file})
			}
		}
		update.Environments[i].Problems = manifest.SortProblems(e.Problems)
	}
}
