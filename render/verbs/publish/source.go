package publish

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
)

// renderSource renders the environment of the source commit in a temporary folder, and calls use with the
// update. If the environment has errors, it returns the problems instead.
func (p *publisher) renderSource(ctx context.Context, kinds *registry.Kinds, progress func(step string),
	use func(render.TreeUpdate) ([]manifest.Problem, error)) ([]manifest.Problem, error) {
	progress("checking out the source")
	dir, remove, err := p.git.CheckOut(ctx, p.head)
	if err != nil {
		return nil, err
	}
	defer remove()
	source, err := render.Open(dir, kinds, render.Options{})
	if err != nil {
		return nil, err
	}
	defer source.Close()
	return render.UpdateOne(ctx, source, p.Environment, progress, use)
}

// checkHead returns problems unless HEAD has exactly the files that rendering its sources gives, and the work
// tree has no others.
func (p *publisher) checkHead(ctx context.Context, kinds *registry.Kinds,
	progress func(step string)) ([]manifest.Problem, error) {
	if problems, err := p.uncommitted(ctx, tree.EnvironmentsFolder, p.folder); err != nil || len(problems) > 0 {
		return problems, err
	}
	return p.renderSource(ctx, kinds, progress, func(e render.TreeUpdate) ([]manifest.Problem, error) {
		if problems, err := p.uncommitted(ctx, git.Tops(e.Sources)...); err != nil || len(problems) > 0 {
			return problems, err
		}
		if problems, err := p.stale(ctx, e.Plan.Files()); err != nil || len(problems) > 0 {
			return problems, err
		}
		return nil, p.writeTree(ctx)
	})
}

// uncommitted returns a problem for each file at or below paths that differs from HEAD, in order.
func (p *publisher) uncommitted(ctx context.Context, paths ...string) (problems []manifest.Problem, err error) {
	states, err := p.git.Status(ctx, paths...)
	for file, state := range states {
		switch state {
		case git.Ignored:
		case git.Untracked:
			problems = append(problems,
				manifest.Problem{Code: manifest.NotCommitted,
					File: file, Message: "is not committed: add and commit it, or remove it"})
		default:
			problems = append(problems,
				manifest.Problem{Code: manifest.NotCommitted,
					File: file, Message: "differs from HEAD: commit it, or use git stash"})
		}
	}
	return inOrder(problems), err
}

// stale returns a problem for each rendered file of HEAD that differs from the rendering, in order.
func (p *publisher) stale(ctx context.Context, rendered []tree.File) (problems []manifest.Problem, err error) {
	committed, err := p.git.Files(ctx, p.head, p.folder)
	again := fmt.Sprintf(": run render --env %s, and commit", p.Environment)
	messages := map[difference]string{
		missing: "is rendered, but not in HEAD" + again,
		changed: "is rendered with another content than in HEAD" + again,
		extra:   "is in HEAD, but is not rendered: render again, remove the file if it is still there, and commit",
	}
	for file, d := range p.differences(committed, rendered) {
		if within := strings.TrimPrefix(file, p.folder+"/"); d != extra ||
			tree.IsOrphan(within, committed[file].IsRegular()) {
			problems = append(problems, manifest.Problem{Code: manifest.NotCommitted, File: file, Message: messages[d]})
		}
	}
	return inOrder(problems), err
}

func inOrder(problems []manifest.Problem) []manifest.Problem {
	slices.SortFunc(problems, func(a, b manifest.Problem) int { return cmp.Compare(a.File, b.File) })
	return problems
}

// difference is a difference between the files of a commit and a rendering.
type difference int

const (
	missing difference = iota // in the commit
	changed
	extra // in the commit
)

// differences compares files of a commit with rendered ones.
func (p *publisher) differences(committed map[string]git.File, rendered []tree.File) map[string]difference {
	differences := map[string]difference{}
	for file := range committed {
		differences[file] = extra
	}
	for _, file := range rendered {
		name := path.Join(p.folder, file.Path)
		switch is, ok := committed[name]; {
		case !ok:
			differences[name] = missing
		case !is.IsRegular() || is.OID != p.git.Hash(file.Content):
			differences[name] = changed
		default:
			delete(differences, name)
		}
	}
	return differences
}
