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

// openGit opens the git repository of a folder, with the index of the hook that calls, if any.
func openGit(ctx context.Context, dir string) (*git.Repository, error) {
	in, err := git.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	return in.InHook(), nil
}

// readGit selects the environments that may differ from f.since and, for a check of the index, sets root to a copy of
// the index, which stays until remove. With --staged, files of the index count as changed, and with --check no others.
func (f *flags) readGit(ctx context.Context, root *string) (remove func(), err error) {
	repository, err := openRepository(f.root, nil) // the kinds do not matter for files
	if err != nil {
		return nil, err
	}
	defer repository.Close()
	in, err := openGit(ctx, repository.Dir())
	if err != nil {
		return nil, err
	}
	ofIndex := f.check && f.staged
	if f.since != "" {
		if f.Changed, err = in.ChangedFiles(ctx, f.since, !ofIndex, f.staged); err != nil {
			return nil, fmt.Errorf("--changed-since: %w", err)
		}
		f.All = true
	}
	if !ofIndex {
		return func() {}, nil
	}
	*root, remove, err = in.CheckOutIndex(ctx)
	return remove, err
}

// adviseToAdd prints the missing git add for new files of rendered/ and for new source files: `git commit --all`
// leaves them out, and only CI would notice. With --staged changed files count too, and the exit code says so.
func adviseToAdd(cmd *cobra.Command, repository *render.Repository, update *render.Update, f flags) error {
	if !f.staged && (f.watch || f.output != "text") {
		return nil
	}
	in, err := openGit(cmd.Context(), repository.Dir())
	if err != nil && !f.staged {
		return nil // without git there is nothing to add
	}
	if err != nil {
		return err
	}
	var sources []string
	for _, e := range update.Environments {
		sources = append(sources, e.Sources...)
	}
	missing, err := in.Missing(cmd.Context(), sources, []string{tree.Folder, tree.EnvironmentsFolder}, f.staged)
	files := count(len(missing.Changed)+len(missing.Ignored), "file")
	commands := slices.Concat(addCommand(in, "git add", git.Tops(missing.Changed)),
		addCommand(in, "git add --force", missing.Ignored))
	switch {
	case err != nil || len(commands) == 0:
		return err
	case f.staged:
		fmt.Fprintf(cmd.ErrOrStderr(), "the commit lacks %s: run %s\n", files, strings.Join(commands, " && "))
		return exitCode(exitDiffers)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "git does not track %s: run %s\n", files, strings.Join(commands, " && "))
	return nil
}

// addCommand returns the command that adds files to the index, if there are any.
func addCommand(in *git.Repository, command string, files []string) []string {
	if len(files) == 0 {
		return nil
	}
	for _, file := range files {
		command += " " + quote(fromHere(filepath.Join(in.Dir(), file)))
	}
	return []string{command}
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
	for i := range update.Environments {
		e := &update.Environments[i]
		if len(e.CRLF) == 0 {
			continue
		}
		in, err := openGit(ctx, repository.Dir())
		if err != nil {
			return // nothing converts them
		}
		converted, _ := in.Converted(ctx, e.CRLF)
		for _, file := range converted {
			e.Problems = append(e.Problems, manifest.Problem{Code: manifest.CRLF,
				File: file, Line: 1, Warning: true,
				Message: "has CRLF line ends here and LF in git, so the generated object differs from that of " +
					"CI: write environments/** text=auto eol=lf into .gitattributes, remove the file, and run " +
					"git checkout -- " + file})
		}
		e.Problems = manifest.SortProblems(e.Problems)
	}
}
