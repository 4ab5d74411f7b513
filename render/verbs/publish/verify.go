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
	// SourceBranch is the branch that has the source, if one was named.
	SourceBranch string `json:"sourceBranch,omitempty"`
	// Differences are files of the published commit, in order.
	Differences []Difference `json:"differences"`
}

// Difference is a published file that rendering its source does not give.
type Difference struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// Verify renders the source of a published commit, in a temporary folder, and compares each byte. The source must be
// later than all sources that were published before and, unless its name is empty, on a branch.
// It returns a result, the problems of the source, or an error.
func Verify(ctx context.Context, repository *render.Repository, environment, revision, sourceBranch string,
	progress func(step string)) (*Verification, []manifest.Problem, error) {
	g, err := git.Open(ctx, repository.Dir())
	if err != nil {
		return nil, nil, err
	}
	v := &Verification{Environment: environment, SourceBranch: sourceBranch, Differences: []Difference{}}
	if v.Commit, err = g.Resolve(ctx, revision); err != nil {
		return nil, nil, err
	}
	commit, err := publishedCommit(ctx, g, v.Commit)
	if err != nil {
		return nil, nil, err
	}
	p := &publisher{Options: Options{Environment: environment, Branch: revision}, git: g,
		folder: path.Join(tree.Folder, environment)}
	if err := p.checkTip(commit); err != nil {
		return nil, nil, fmt.Errorf("%w: name a commit that render publish made for %s", err, environment)
	}
	v.Source = commit.Trailers[trailerSource]
	p.head = v.Source
	if id, err := g.Resolve(ctx, v.Source); err != nil || id != v.Source { // a trailer may name any object
		return nil, nil, fmt.Errorf("this clone does not have commit %s, the source of %s: run git fetch",
			v.Source, revision)
	}
	if err := v.checkSource(ctx, p); err != nil {
		return nil, nil, err
	}
	problems, err := p.renderSource(ctx, repository.Kinds(), progress,
		func(e render.TreeUpdate) ([]manifest.Problem, error) {
			return nil, v.compare(ctx, p, e.Plan.Files())
		})
	return v, problems, err
}

// checkSource returns an error unless the source is later than all sources that were published before, and on the
// branch. An old published commit on top of the branch would take back reviewed changes.
func (v *Verification) checkSource(ctx context.Context, p *publisher) error {
	if p.git.IsShallow {
		return fmt.Errorf("this shallow clone does not have all commits that were published before: %s", git.Unshallow)
	}
	history, err := p.git.History(ctx, v.Commit)
	if err != nil {
		return err
	}
	var sources []string
	for _, commit := range history {
		if p.checkTip(commit) == nil {
			sources = append(sources, commit.Trailers[trailerSource])
		}
	}
	switch later, err := p.git.Lacks(ctx, v.Source, sources); {
	case err != nil:
		return fmt.Errorf("read the sources that were published before: %w: run git fetch", err)
	case later != "":
		const instead = "revert commits and publish the result instead"
		return fmt.Errorf("%s is published from commit %s, which lacks commit %s, which was published before: %s",
			v.Commit, v.Source, later, instead)
	case v.SourceBranch == "":
		return nil
	}
	tip, err := p.git.ResolveBranch(ctx, v.SourceBranch)
	if err != nil {
		return err
	}
	is, err := p.git.IsOnBranch(ctx, v.Source, tip)
	if err == nil && !is {
		err = fmt.Errorf("%s is published from commit %s, at which branch %s never was: publish a commit of the branch",
			v.Commit, v.Source, v.SourceBranch)
	}
	return err
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
