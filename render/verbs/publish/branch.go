package publish

import (
	"context"
	"fmt"

	"example.com/gatehouse/render/verbs/git"
)

// branch is the state of the branch to publish to.
type branch struct {
	// local and remote are the local commit and the commit at the remote. They are empty if there is no
	// branch.
	local, remote string
	tip           string     // the later of the two
	commit        git.Commit // the published commit at the tip
}

// readBranch returns the state of the branch. With --push it asks the remote, and otherwise it uses the
// remote-tracking branch.
func (p *publisher) readBranch(ctx context.Context) (*branch, error) {
	now := &branch{}
	var err error
	if now.local, err = p.git.Tip(ctx, git.BranchRef(p.Branch)); err != nil {
		return nil, err
	}
	switch {
	case p.Push:
		now.remote, err = p.git.RemoteTip(ctx, p.remote, p.Branch)
		if err == nil && now.remote != "" && !p.git.HasObject(ctx, now.remote) {
			err = p.git.Fetch(ctx, p.remote, p.Branch, now.local == "")
		}
	case p.remote != "":
		now.remote, err = p.git.Tip(ctx, "refs/remotes/"+p.remote+"/"+p.Branch)
	}
	if err != nil {
		return nil, err
	}
	if now.tip, err = p.laterCommit(ctx, now.local, now.remote); err != nil || now.tip == "" {
		return now, err
	}
	now.commit, err = publishedCommit(ctx, p.git, now.tip)
	return now, err
}

// publishedCommit reads the last commit of a branch. In place of a merge commit with the tree of one of its parents
// it reads the parent: GitOps Promoter pushes such commits to settle conflicts, and people merge branches.
func publishedCommit(ctx context.Context, g *git.Repository, id string) (git.Commit, error) {
	commit, err := g.ReadCommit(ctx, id)
	if err != nil || commit.Trailers[trailerSource] != "" || len(commit.Parents) < 2 {
		return commit, err
	}
	for _, parent := range commit.Parents {
		switch merged, err := g.ReadCommit(ctx, parent); {
		case err != nil:
			return commit, err
		case merged.Tree == commit.Tree:
			return publishedCommit(ctx, g, parent)
		}
	}
	return commit, nil
}

// laterCommit returns the commit that has the other in its history.
func (p *publisher) laterCommit(ctx context.Context, local, remote string) (string, error) {
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
	return "",
		fmt.Errorf("branch %s and its copy at %s have diverged: delete the local one with git branch -D %s, and "+
			"publish again", p.Branch, p.remote, p.Branch)
}

// needsCommit reports whether the branch needs a new commit. It returns an error if HEAD cannot be published
// to the branch.
func (p *publisher) needsCommit(ctx context.Context, now *branch) (bool, error) {
	if now.tip == "" {
		return true, nil
	}
	if err := p.checkTip(now.commit); err != nil {
		return false, fmt.Errorf("%w: publish to another branch with --branch, or delete this one first", err)
	}
	source := now.commit.Trailers[trailerSource]
	isEqual := p.isPublished(ctx, now)
	isKnown := p.git.HasObject(ctx, source)
	isAfter := false // HEAD is the source or later
	if isKnown {
		var err error
		if isAfter, err = p.git.IsAncestor(ctx, source, p.head); err != nil {
			return false, err
		}
	}
	switch {
	case isEqual && isAfter:
		// If a commit between the two has other files, another run may be about to publish it. The new commit
		// records that HEAD was published later.
		return p.git.ChangedBetween(ctx, source, p.head, p.folder)
	case isAfter:
		return true, nil
	case isEqual:
		return false, nil
	}
	return false, p.orderError(ctx, source, isKnown)
}

// checkTip returns an error unless render published the last commit of the branch from the same folder.
func (p *publisher) checkTip(tip git.Commit) error {
	environment := tip.Trailers[trailerEnvironment]
	folder := tip.Trailers[trailerPath]
	switch {
	case !git.IsID(tip.Trailers[trailerSource]):
		return fmt.Errorf("branch %s is not a branch of render publish: its last commit has no trailer "+
			"Gatehouse-Source", p.Branch)
	case environment != p.Environment:
		return fmt.Errorf("branch %s belongs to environment %s, not %s", p.Branch, git.Tidy(environment), p.Environment)
	case folder != p.path():
		return fmt.Errorf("branch %s belongs to %s, not %s", p.Branch, git.Tidy(folder), p.path())
	}
	return nil
}

// orderError returns the error for a HEAD that is not later than the published revision.
func (p *publisher) orderError(ctx context.Context, source string, isKnown bool) error {
	has := fmt.Sprintf("branch %s is published from commit %s", p.Branch, source)
	drop := "git branch -D " + p.Branch
	if p.remote != "" {
		drop += " and git push " + p.remote + " --delete " + p.Branch
	}
	isBefore, err := p.git.IsAncestor(ctx, p.head, source)
	switch {
	case isKnown && err != nil:
		return err
	case isBefore:
		return fmt.Errorf("%s, which is later than HEAD, %s: publish it or a later commit; to go back, revert "+
			"commits and publish the result", has, p.head)
	case p.git.IsShallow:
		return fmt.Errorf("%s, and this shallow clone cannot tell whether HEAD is later: %s", has, git.Unshallow)
	case !isKnown:
		return fmt.Errorf("%s, which this clone does not have: run git fetch, as another run may have published a "+
			"later commit. Only if history was rewritten, delete the branch with %s", has, drop)
	}
	return fmt.Errorf("%s, which is not in the history of HEAD, %s: merge it first or, if history was rewritten, "+
		"delete the branch with %s", has, p.head, drop)
}
