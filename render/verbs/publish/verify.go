package publish

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
)

// Verification compares a published commit with a rendering of its source.
type Verification struct {
	Environment string `json:"environment"`
	Commit      string `json:"commit"`
	// Source is the commit that the published one names.
	Source string `json:"source"`
	// Differences are files of the published commit, in order.
	Differences []Difference `json:"differences"`
}

// Difference is a published file that rendering its source does not give.
type Difference struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// Verify renders the source of a published commit, in a temporary folder, and compares each byte.
// It returns a result, the problems of the source, or an error.
func Verify(ctx context.Context, repository *render.Repository, environment, revision string, progress func(step string)) (*Verification, []manifest.Problem, error) {
	g, err := git.Open(ctx, repository.Dir())
	if err != nil {
		return nil, nil, err
	}
	v := &Verification{Environment: environment, Differences: []Difference{}}
	if v.Commit, err = g.Resolve(ctx, revision); err != nil {
		return nil, nil, err
	}
	commit, err := publishedCommit(ctx, g, v.Commit)
	if err != nil {
		return nil, nil, err
	}
	p := &publisher{Options: Options{Environment: environment, Branch: revision}, git: g, folder: path.Join(tree.Folder, environment)}
	if err := p.checkTip(commit); err != nil {
		return nil, nil, fmt.Errorf("%w: name a commit that render publish made for %s", err, environment)
	}
	v.Source = commit.Trailers[trailerSource]
	p.head = v.Source
	if id, err := g.Tip(ctx, v.Source); err != nil || id != v.Source { // a trailer may name any object
		return nil, nil, fmt.Errorf("this clone does not have commit %s, the source of %s: run git fetch", v.Source, revision)
	}
	problems, err := p.renderSource(ctx, repository.Kinds(), progress, func(e render.TreeUpdate) ([]manifest.Problem, error) {
		return nil, v.compare(ctx, p, e.Plan.Files())
	})
	return v, problems, err
}

// compare compares all published files with rendered ones, and metadataFile with the source. A file without
// objects in the rendered folder of the source is published with it.
func (v *Verification) compare(ctx context.Context, p *publisher, rendered []tree.File) error {
	committed, err := p.git.Files(ctx, p.head, p.folder)
	if err != nil {
		return err
	}
	published, err := p.git.Top().Files(ctx, v.Commit, ".")
	if err != nil {
		return err
	}
	reasons := map[difference]string{
		missing: "is rendered, and not published",
		changed: "is published with another content than is rendered",
		extra:   "is published, and not rendered",
	}
	inFolder := map[string]git.File{}
	for file, is := range published {
		switch {
		case file == metadataFile && p.isMetadata(ctx, is):
		case p.git.Holds(file):
			inFolder[p.git.InFolder(file)] = is
		default:
			v.Differences = append(v.Differences, Difference{file, reasons[extra]})
		}
	}
	for file, d := range p.differences(inFolder, rendered) {
		is := inFolder[file]
		isBeside := committed[file] == is && !tree.IsOrphan(strings.TrimPrefix(file, p.folder+"/"), is.IsRegular())
		if d != extra || !isBeside {
			v.Differences = append(v.Differences, Difference{file, reasons[d]})
		}
	}
	slices.SortFunc(v.Differences, func(a, b Difference) int { return cmp.Compare(a.File, b.File) })
	return nil
}
