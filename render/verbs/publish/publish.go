// Package publish commits the rendered files of an environment, and nothing else, to a branch of its own.
// It touches neither work tree nor index.
package publish

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"time"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
)

// Options say what to publish where.
type Options struct {
	Environment string
	// Branch is the name of the branch. Empty means env/ENVIRONMENT.
	Branch string
	// Push also pushes the branch to a remote.
	Push bool
	// DryRun changes no branch.
	DryRun bool
}

// Result is what was published, or would be.
type Result struct {
	Environment string `json:"environment"`
	Branch      string `json:"branch"`
	// Source is the commit that was checked out.
	Source string `json:"source"`
	// Commit is the last commit of the branch; empty where a dry run did not make it.
	Commit string `json:"commit,omitempty"`
	// Changed reports whether the branch has a new commit.
	Changed bool `json:"changed"`
	// Pushed reports whether the branch was pushed to Remote.
	Pushed bool   `json:"pushed"`
	Remote string `json:"remote,omitempty"`
	// SupersededBy is a later commit that somebody else published during the run.
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

// Progress is told each step, and whether git or a program that it starts may ask for a password in it.
type Progress func(step string, mayAsk bool)

// Run publishes an environment. It returns a result, or the problems of the environment, or an error.
func Run(ctx context.Context, repository *render.Repository, options Options, progress Progress) (*Result, []manifest.Problem, error) {
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

// prepare checks that the branch can be published to, whatever it has.
func (p *publisher) prepare(ctx context.Context) error {
	if err := git.CheckBranch(ctx, p.Branch); err != nil {
		return err
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
	// attempts is the number of attempts while others publish.
	attempts = 12
	// pause is the longest wait after the first attempt. It doubles with each.
	pause = 50 * time.Millisecond
	// longestPause is the longest wait after any attempt.
	longestPause = time.Second
)

// publish publishes on top of the branch as it was at the start, or as other runs left it.
func (p *publisher) publish(ctx context.Context, start *branch) error {
	now := start
	for attempt := 1; ; attempt++ {
		err := p.publishOn(ctx, now, start)
		switch {
		case !errors.Is(err, git.ErrRaced):
			return p.halfDone(err)
		case attempt == attempts:
			return p.halfDone(fmt.Errorf("%w, over and over: run this again", err))
		}
		if err := wait(ctx, min(pause<<(attempt-1), longestPause)); err != nil {
			return err
		}
		if now, err = p.lookUp(ctx); err != nil {
			return p.halfDone(err)
		}
	}
}

// halfDone adds to an error that the branch of the remote was changed before it, if it was.
func (p *publisher) halfDone(err error) error {
	if err == nil || !p.result.Pushed {
		return err
	}
	return fmt.Errorf("branch %s was pushed to %s, and was not changed here: %w", p.Branch, p.remote, err)
}

// wait waits for a random time, so that two runs do not meet again.
func wait(ctx context.Context, atMost time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(rand.N(atMost)): //nolint:gosec // it keeps no secret
		return nil
	}
}

// publishOn publishes on top of the branch as it is now. The error is git.ErrRaced if it has changed.
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

// move moves the branch of the remote, and then the local one, to the last commit. Interrupted between
// the two, the next run completes it.
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
