// Package publish commits what an environment was rendered to, and nothing else, to a branch
// of its own. It touches neither work tree nor index.
package publish

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"time"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/git"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/tree"
)

// Options say what to publish where.
type Options struct {
	Environment string
	// Branch is the name of the branch; env/ENVIRONMENT where it is empty.
	Branch string
	// Push publishes to the branch of a remote, too.
	Push bool
	// DryRun finds out what would be done, and does nothing.
	DryRun bool
}

// Result is what was done, or would be.
type Result struct {
	Environment string `json:"environment"`
	Branch      string `json:"branch"`
	// Source is the commit that was checked out.
	Source string `json:"source"`
	// Commit is the last one of the branch: empty where a dry run would have made it.
	Commit string `json:"commit,omitempty"`
	// Changed says whether the branch has a new commit.
	Changed bool `json:"changed"`
	// Pushed says whether Remote was sent anything.
	Pushed bool   `json:"pushed"`
	Remote string `json:"remote,omitempty"`
	// SupersededBy is a later commit that somebody else published meanwhile.
	SupersededBy string `json:"supersededBy,omitempty"`
	DryRun       bool   `json:"dryRun,omitempty"`
}

// publisher publishes one environment.
type publisher struct {
	Options

	git    *git.Repository
	folder string // rendered/ENVIRONMENT
	remote string // empty where there is none
	head   string
	tree   string // of the commits to make
	result Result
}

// Progress is told what is being done, and whether git or what it starts may ask for a
// password meanwhile.
type Progress func(step string, mayAsk bool)

// Run publishes an environment. Without a result there are problems, which are errors, or the
// error is what keeps it from publishing.
func Run(ctx context.Context, repository *render.Repository, options Options, progress Progress) (*Result, []object.Problem, error) {
	if _, err := repository.Select(render.Selection{Names: []string{options.Environment}}); err != nil {
		return nil, nil, err
	}
	if options.Branch == "" {
		options.Branch = "env/" + options.Environment
	}
	p := &publisher{Options: options, folder: path.Join(tree.Folder, options.Environment)}
	var err error
	if p.git, err = git.Open(ctx, repository.Dir()); err != nil {
		return nil, nil, err
	}
	if p.DryRun {
		quarantined, discard, err := p.git.Quarantine(ctx)
		if err != nil {
			return nil, nil, err
		}
		defer discard()
		p.git = quarantined
	}
	if err := p.prepare(ctx); err != nil {
		return nil, nil, err
	}
	if p.Push {
		progress("asking "+p.remote+" for branch "+p.Branch, true)
	}
	start, err := p.lookUp(ctx)
	if err != nil {
		return nil, nil, err
	}
	if problems, err := p.readSource(ctx, repository, progress); err != nil || len(problems) > 0 {
		return nil, problems, err
	}
	progress("publishing to branch "+p.Branch, true)
	if err := p.publish(ctx, start); err != nil {
		return nil, nil, err
	}
	return &p.result, nil, nil
}

// prepare finds out whether the branch can be published to at all.
func (p *publisher) prepare(ctx context.Context) error {
	if err := p.git.CheckBranch(ctx, p.Branch); err != nil {
		return err
	}
	other, err := p.git.InTheWay(ctx, p.Branch)
	if err != nil {
		return err
	}
	if other != "" {
		return fmt.Errorf("there is a branch %s, beside which git cannot have %s: name another with --branch", other, p.Branch)
	}
	folder, err := p.git.CheckedOut(ctx, p.Branch)
	if err != nil {
		return err
	}
	if folder != "" {
		return fmt.Errorf("branch %s is checked out in %s: check out another there, forget a folder that is gone with git worktree prune, or name another with --branch", p.Branch, folder)
	}
	if p.head, err = p.git.Resolve(ctx, git.Head); err != nil {
		return err
	}
	if p.remote, err = p.git.Remote(ctx); err != nil {
		return err
	}
	if p.Push && p.remote == "" {
		return errors.New("there is no remote to push to, or several: git remote add NAME URL adds one, git config remote.pushDefault NAME names it")
	}
	p.result = Result{Environment: p.Environment, Branch: p.Branch, Source: p.head, DryRun: p.DryRun}
	if p.Push {
		p.result.Remote = p.remote
	}
	return nil
}

const (
	// attempts is how often publishing is tried while others publish.
	attempts = 12
	// pause is the longest that is waited after the first.
	pause = 50 * time.Millisecond
	// longestPause is the longest that is waited after any.
	longestPause = time.Second
)

// publish publishes on top of the branch as it was at the start, or as others leave it.
func (p *publisher) publish(ctx context.Context, start *branch) error {
	now := start
	for attempt := range attempts {
		err := p.publishOn(ctx, now, start)
		if !errors.Is(err, git.ErrRaced) {
			return p.halfDone(err)
		}
		if attempt == attempts-1 {
			return p.halfDone(fmt.Errorf("%w, over and over: run this again", err))
		}
		if err := wait(ctx, min(pause<<attempt, longestPause)); err != nil {
			return err
		}
		if now, err = p.lookUp(ctx); err != nil {
			return p.halfDone(err)
		}
	}
	return nil
}

// halfDone is an error that says so where the branch of the remote was changed before it.
func (p *publisher) halfDone(err error) error {
	if err == nil || !p.result.Pushed {
		return err
	}
	return fmt.Errorf("branch %s was pushed to %s, and was not changed here: %w", p.Branch, p.remote, err)
}

// wait waits for up to a time: who waits as long as another meets it again.
func wait(ctx context.Context, atMost time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(rand.N(atMost)): //nolint:gosec // it keeps no secret
		return nil
	}
}

// publishOn publishes on top of a branch, if it is still that.
func (p *publisher) publishOn(ctx context.Context, now, start *branch) error {
	do, err := p.decide(ctx, now, start)
	if err != nil {
		return err
	}
	p.result.Commit = now.tip.id
	switch {
	case do == superseded:
		p.result.SupersededBy = now.tip.source
	case do == extend && p.DryRun:
		p.result.Commit, p.result.Changed = "", true
	case do == extend:
		if p.result.Commit, err = p.commit(ctx, now.tip.id); err != nil {
			return err
		}
	}
	if p.DryRun {
		p.result.Pushed = p.Push && (p.result.Changed || now.remote != now.tip.id)
		return nil
	}
	return p.move(ctx, now, do == extend)
}

// move has the branch of the remote, and then the local one, point to the last commit. Killed
// between the two, the next run completes it.
func (p *publisher) move(ctx context.Context, now *branch, changes bool) error {
	commit := p.result.Commit
	if p.Push && now.remote != commit {
		if err := p.git.Push(ctx, p.remote, p.Branch, now.remote, commit); err != nil {
			return err
		}
		p.result.Pushed = true
		p.result.Changed = p.result.Changed || changes
	}
	if now.local != commit {
		if err := p.git.Move(ctx, p.Branch, now.local, commit, "render publish: from "+p.head); err != nil {
			return err
		}
	}
	p.result.Changed = p.result.Changed || changes
	return nil
}
