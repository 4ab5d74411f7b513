package publish

import (
	"context"
	"fmt"

	"example.com/gatehouse/render/verbs/git"
)

// branch is the state of the branch to publish to.
type branch struct {
	// local and remote are its commits here and at the remote; empty where there is no branch.
	local, remote string
	tip           tip // of the later of the two
}

// tip is the last commit of a branch; zero where there is no branch.
type tip struct {
	id, tree string
	published
}

// lookUp returns the state of the branch. With --push it asks the remote, else it takes what git knows of
// it.
func (p *publisher) lookUp(ctx context.Context) (*branch, error) {
	now := &branch{}
	var err error
	if now.local, err = p.git.Tip(ctx, git.BranchRef(p.Branch)); err != nil {
		return nil, err
	}
	switch {
	case p.Push:
		now.remote, err = p.git.RemoteTip(ctx, p.remote, p.Branch)
		if err == nil && now.remote != "" && !p.git.Has(ctx, now.remote) {
			err = p.git.Fetch(ctx, p.remote, p.Branch, now.local == "")
		}
	case p.remote != "":
		now.remote, err = p.git.Tip(ctx, "refs/remotes/"+p.remote+"/"+p.Branch)
	}
	if err != nil {
		return nil, err
	}
	if now.tip.id, err = p.later(ctx, now.local, now.remote); err != nil || now.tip.id == "" {
		return now, err
	}
	commit, err := p.git.Read(ctx, now.tip.id)
	now.tip.tree, now.tip.published = commit.Tree, publishedBy(commit)
	return now, err
}

// later returns the one of two commits that has the other in its history.
func (p *publisher) later(ctx context.Context, local, remote string) (string, error) {
	switch {
	case local == remote, remote == "":
		return local, nil
	case local == "":
		return remote, nil
	}
	for _, one := range [][2]string{{local, remote}, {remote, local}} {
		is, err := p.git.IsAncestor(ctx, one[0], one[1])
		if is || err != nil {
			return one[1], err
		}
	}
	return "", fmt.Errorf("branch %s has commits here that %s has not, and the other way round: git branch -D %s drops those here, which can be published again", p.Branch, p.remote, p.Branch)
}

// decision is what to do with the branch.
type decision int

const (
	keep       decision = iota // nothing: it has what is to be published
	extend                     // add a commit
	superseded                 // nothing: somebody else published a later commit
)

// decide returns what to do with the branch as it is now, and was at the start of the run. Its error says
// why nothing can be published, and what to do.
func (p *publisher) decide(ctx context.Context, now, start *branch) (decision, error) {
	if now.tip.id == "" {
		return extend, nil
	}
	if err := p.refuse(now.tip.published); err != nil {
		return keep, err
	}
	source, isEqual := now.tip.source, now.tip.tree == p.tree
	if source == p.head {
		if isEqual {
			return keep, nil
		}
		return extend, nil
	}
	var isAfter, isBefore bool // HEAD, and the source
	var err error
	isKnown := p.git.Has(ctx, source)
	if isKnown {
		isAfter, err = p.git.IsAncestor(ctx, source, p.head)
	}
	if isKnown && !isAfter && err == nil {
		isBefore, err = p.git.IsAncestor(ctx, p.head, source)
	}
	switch {
	case err != nil:
		return keep, err
	case isEqual && isAfter:
		return p.decideEqual(ctx, source)
	case isEqual:
		return keep, nil
	case isAfter:
		return extend, nil
	case isBefore && now.tip.id != start.tip.id:
		return superseded, nil
	}
	return keep, p.outOfOrder(source, isKnown, isBefore)
}

// decideEqual returns what to do with a branch that has the same files from an earlier commit. Where a
// commit between the two has other files, another run may be about to publish it, and must find that HEAD
// was published.
func (p *publisher) decideEqual(ctx context.Context, source string) (decision, error) {
	differed, err := p.git.ChangedBetween(ctx, source, p.head, p.folder)
	if differed {
		return extend, err
	}
	return keep, err
}

// refuse returns an error for a branch whose last commit render did not publish from the same folder.
func (p *publisher) refuse(is published) error {
	const another = "publish to another branch with --branch, or delete this one first"
	want := p.published()
	switch {
	case is.source == "":
		return fmt.Errorf("branch %s is not one that render publishes: its last commit says no source: %s", p.Branch, another)
	case is.environment != want.environment:
		return fmt.Errorf("branch %s has environment %s, not %s: %s", p.Branch, git.Tidy(is.environment), want.environment, another)
	case is.path != want.path:
		return fmt.Errorf("branch %s has %s, not %s: %s", p.Branch, git.Tidy(is.path), want.path, another)
	}
	return nil
}

// outOfOrder returns the error of a HEAD that does not come after the published commit.
func (p *publisher) outOfOrder(source string, isKnown, isBefore bool) error {
	has := fmt.Sprintf("branch %s has what commit %s renders to", p.Branch, source)
	drop := "git branch -D " + p.Branch
	if p.remote != "" {
		drop += " and git push " + p.remote + " --delete " + p.Branch
	}
	switch {
	case isBefore:
		return fmt.Errorf("%s, which is later than HEAD, %s: publish that or a later one; to go back, revert commits and publish the result", has, p.head)
	case p.git.IsShallow:
		return fmt.Errorf("%s, and whether HEAD is later is not known here, as this clone is shallow: %s", has, git.Unshallow)
	case !isKnown:
		return fmt.Errorf("%s, which this clone does not have: run git fetch or, where history was rewritten, drop what was published with %s", has, drop)
	}
	return fmt.Errorf("%s, which is not in the history of HEAD, %s: merge it first or, where history was rewritten, drop what was published with %s", has, p.head, drop)
}
