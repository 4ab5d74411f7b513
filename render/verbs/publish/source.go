package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
)

// headCheck compares the files of an environment with HEAD.
type headCheck struct {
	git    *git.Repository
	dir    string
	folder string              // rendered/ENVIRONMENT
	head   map[string]git.File // the files of HEAD by their paths from dir
	wrong  map[string]string   // the first problem of each file
}

// checkHead renders the environment. It returns problems unless HEAD has exactly its source files and
// rendered files.
func (p *publisher) checkHead(ctx context.Context, repository *render.Repository, progress func(step string)) ([]manifest.Problem, error) {
	return render.UpdateOne(ctx, repository, p.Environment, progress, func(e render.TreeUpdate) ([]manifest.Problem, error) {
		progress("comparing with HEAD")
		s := &headCheck{git: p.git, dir: repository.Dir(), folder: p.folder, wrong: map[string]string{}}
		if err := s.compare(ctx, p.head, e); err != nil || len(s.wrong) > 0 {
			return s.problems(), err
		}
		return nil, p.writeTree(ctx)
	})
}

// compare compares the work tree with a commit.
func (s *headCheck) compare(ctx context.Context, commit string, e render.TreeUpdate) error {
	tops := make([]string, 0, len(e.Sources)+1)
	tops = append(tops, s.folder)
	for _, file := range e.Sources {
		top, _, _ := strings.Cut(file, "/")
		tops = append(tops, top)
	}
	slices.Sort(tops)
	tops = slices.Compact(tops)
	changed, untracked, err := s.git.Uncommitted(ctx, tops...)
	if err != nil {
		return err
	}
	for _, file := range changed {
		s.report(file, "differs from HEAD: commit it, or use git stash")
	}
	for _, file := range untracked {
		s.report(file, "is not committed: add and commit it, or remove it")
	}
	if s.head, err = s.git.Files(ctx, commit, tops...); err != nil {
		return err
	}
	if err := s.compareSources(ctx, e.Sources); err != nil {
		return err
	}
	s.findMissing(e)
	s.compareRendered(e.Plan)
	return nil
}

func (s *headCheck) report(file, message string) {
	if s.wrong[file] == "" {
		s.wrong[file] = message
	}
}

// compareSources reports source files that differ from HEAD and that git status does not show.
func (s *headCheck) compareSources(ctx context.Context, files []string) error {
	hashes, err := s.git.HashFiles(ctx, files)
	if err != nil || len(hashes) != len(files) {
		return fmt.Errorf("read source files of %s: %w", s.folder, err)
	}
	for i, file := range files {
		committed, ok := s.head[file]
		switch {
		case !ok:
			s.report(file, "is ignored by git, or in a submodule: add it with git add --force and commit it, or remove it")
		case committed.OID != hashes[i]:
			s.report(file, fmt.Sprintf("differs from HEAD, and git is set to ignore the change: run git update-index --no-assume-unchanged --no-skip-worktree %s, and commit it", file))
		}
	}
	return nil
}

// findMissing reports files of HEAD that are missing in folders of source files, as in a sparse checkout.
// They could change the rendering.
func (s *headCheck) findMissing(e render.TreeUpdate) {
	folders := map[string]bool{}
	for _, file := range e.Sources {
		folders[path.Dir(file)] = true
	}
	for file := range s.head {
		if !folders[path.Dir(file)] && !strings.HasPrefix(file, path.Join(tree.EnvironmentsFolder, e.Name)+"/") {
			continue
		}
		if _, err := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(file))); errors.Is(err, fs.ErrNotExist) {
			s.report(file, fmt.Sprintf("is in HEAD, but not in the work tree: run git checkout HEAD -- %s or, in a sparse checkout, git sparse-checkout add %s", file, path.Dir(file)))
		}
	}
}

// compareRendered reports rendered files that differ from HEAD.
func (s *headCheck) compareRendered(plan *tree.Plan) {
	isRendered, isCommitted := map[string]bool{}, len(s.wrong) == 0 && !plan.Changes()
	for _, file := range plan.Files() {
		name := path.Join(s.folder, file.Path)
		isRendered[name] = true
		committed, ok := s.head[name]
		isSame := ok && committed.OID == s.git.Hash(file.Content)
		switch {
		case !ok:
			s.reportStale(name, "is rendered, but not in HEAD")
		case !isSame && isCommitted:
			s.report(name, "is converted by git: add 'rendered/** text eol=lf -filter -ident -working-tree-encoding' to .gitattributes, run git add --renormalize rendered, and commit")
		case !isSame || !committed.IsRegular():
			s.reportStale(name, "is rendered with another content than in HEAD")
		}
	}
	for name, file := range s.head {
		within, ok := strings.CutPrefix(name, s.folder+"/")
		if ok && !isRendered[name] && tree.IsOrphan(within, file.IsRegular()) {
			s.report(name, "is in HEAD, but is not rendered: render again, remove the file if it is still there, and commit")
		}
	}
}

// reportStale reports a rendered file that differs from HEAD, with a hint.
func (s *headCheck) reportStale(name, message string) {
	s.report(name, fmt.Sprintf("%s: run render --env %s, and commit", message, path.Base(s.folder)))
}

func (s *headCheck) problems() (problems []manifest.Problem) {
	for _, file := range slices.Sorted(maps.Keys(s.wrong)) {
		problems = append(problems, manifest.Problem{File: file, Message: s.wrong[file]})
	}
	return problems
}
