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
	tip           string     // the later of the two
	commit        git.Commit // of the tip
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
	if now.tip, err = p.later(ctx, now.local, now.remote); err != nil || now.tip == "" {
		return now, err
	}
	now.commit, err = p.git.Read(ctx, now.tip)
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

// extends reports whether the branch lacks what is to be published, and gets a commit. Its error says why
// nothing can be published, and what to do.
func (p *publisher) extends(ctx context.Context, now *branch) (bool, error) {
	if now.tip == "" {
		return true, nil
	}
	if err := p.refuse(now.commit); err != nil {
		return false, err
	}
	source := now.commit.Trailers[trailerSource]
	isEqual, isKnown := now.commit.Tree == p.tree, p.git.Has(ctx, source)
	isAfter := false // HEAD
	if isKnown {
		var err error
		if isAfter, err = p.git.IsAncestor(ctx, source, p.head); err != nil {
			return false, err
		}
	}
	switch {
	case isEqual && isAfter:
		// Where a commit between the two has other files, another run may be about to publish it, and must
		// find that HEAD was published.
		return p.git.ChangedBetween(ctx, source, p.head, p.folder)
	case isAfter:
		return true, nil
	case isEqual:
		return false, nil
	}
	return false, p.outOfOrder(ctx, source, isKnown)
}

// refuse returns an error for a branch whose last commit render did not publish from the same folder.
func (p *publisher) refuse(tip git.Commit) error {
	const another = "publish to another branch with --branch, or delete this one first"
	environment, folder := tip.Trailers[trailerEnvironment], tip.Trailers[trailerPath]
	switch {
	case !objectID.MatchString(tip.Trailers[trailerSource]):
		return fmt.Errorf("branch %s is not one that render publishes: its last commit says no source: %s", p.Branch, another)
	case environment != p.Environment:
		return fmt.Errorf("branch %s has environment %s, not %s: %s", p.Branch, git.Tidy(environment), p.Environment, another)
	case folder != p.path():
		return fmt.Errorf("branch %s has %s, not %s: %s", p.Branch, git.Tidy(folder), p.path(), another)
	}
	return nil
}

// outOfOrder returns the error of a HEAD that does not come after the published commit.
func (p *publisher) outOfOrder(ctx context.Context, source string, isKnown bool) error {
	has := fmt.Sprintf("branch %s has what commit %s renders to", p.Branch, source)
	drop := "git branch -D " + p.Branch
	if p.remote != "" {
		drop += " and git push " + p.remote + " --delete " + p.Branch
	}
	isBefore, err := p.git.IsAncestor(ctx, p.head, source)
	switch {
	case isKnown && err != nil:
		return err
	case isBefore:
		return fmt.Errorf("%s, which is later than HEAD, %s: publish that or a later one; to go back, revert commits and publish the result", has, p.head)
	case p.git.IsShallow:
		return fmt.Errorf("%s, and whether HEAD is later is not known here, as this clone is shallow: %s", has, git.Unshallow)
	case !isKnown:
		return fmt.Errorf("%s, which this clone does not have: run git fetch or, where history was rewritten, drop what was published with %s", has, drop)
	}
	return fmt.Errorf("%s, which is not in the history of HEAD, %s: merge it first or, where history was rewritten, drop what was published with %s", has, p.head, drop)
}
