// Package publish commits only the rendered files of an environment to a separate branch. It touches
// neither work tree nor index.
package publish

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
)

// Options select the environment and the branch.
type Options struct {
	Environment string
	// Branch is the name of the branch. Empty means env/ENVIRONMENT.
	Branch string
	// Promoter publishes to the branch with the suffix -next, as GitOps Promoter expects it.
	Promoter bool
	// Push also pushes the branch to a remote.
	Push bool
	// DryRun changes no branch.
	DryRun bool
}

// Result is the published revision.
type Result struct {
	Environment string `json:"environment"`
	Branch      string `json:"branch"`
	// Source is the checked out commit.
	Source string `json:"source"`
	// Commit is the last commit of the branch. It is empty if a dry run did not make it.
	Commit string `json:"commit,omitempty"`
	// Changed reports whether the branch has a new commit.
	Changed bool `json:"changed"`
	// Pushed reports whether the branch was pushed to Remote.
	Pushed bool   `json:"pushed"`
	Remote string `json:"remote,omitempty"`
	DryRun bool   `json:"dryRun,omitempty"`
}

// publisher publishes one environment.
type publisher struct {
	Options

	git    *git.Repository
	folder string // rendered/ENVIRONMENT
	remote string // empty without a remote
	head   string
	tree   string // the tree to commit
	// rendered is the tree with the rendered folder alone.
	rendered string
	result   Result
}

// Run publishes an environment. It returns a result, the problems of the environment, or an error. It calls
// progress with each step, and with "" before git may ask for a password on the terminal.
func Run(ctx context.Context, repository *render.Repository, options Options,
	progress func(step string)) (*Result, []manifest.Problem, error) {
	if err := repository.CheckRendered(render.Selection{Names: []string{options.Environment}}); err != nil {
		return nil, nil, err
	}
	if _, err := repository.Select(render.Selection{Names: []string{options.Environment}}); err != nil {
		return nil, nil, err
	}
	if options.Branch == "" {
		options.Branch = "env/" + options.Environment
	}
	if options.Promoter {
		options.Branch += proposedSuffix
	}
	p := &publisher{Options: options, folder: path.Join(tree.Folder, options.Environment)}
	var err error
	if p.git, err = git.Open(ctx, repository.Dir()); err != nil {
		return nil, nil, err
	}
	if err := p.prepare(ctx); err != nil {
		return nil, nil, err
	}
	if problems, err := p.checkHead(ctx, repository.Kinds(), progress); err != nil || len(problems) > 0 {
		return nil, problems, err
	}
	progress("")
	if err := p.publish(ctx); err != nil {
		return nil, nil, err
	}
	return &p.result, nil, nil
}

func (p *publisher) prepare(ctx context.Context) error {
	if err := git.CheckBranch(ctx, p.Branch); err != nil {
		return err
	}
	folder, err := p.git.CheckedOut(ctx, p.Branch)
	if err != nil {
		return err
	}
	if folder != "" {
		return fmt.Errorf("branch %s is checked out in %s: check out another branch there, run git worktree prune "+
			"if the folder is gone, or choose another branch with --branch", p.Branch, folder)
	}
	if p.head, err = p.git.Resolve(ctx, git.Head); err != nil {
		return err
	}
	if p.remote, err = p.git.Remote(ctx); err != nil {
		return err
	}
	if p.Push && p.remote == "" {
		return errors.New("there is no remote to push to, or several: add one with git remote add NAME URL, or " +
			"choose one with git config remote.pushDefault NAME")
	}
	p.result = Result{Environment: p.Environment, Branch: p.Branch, Source: p.head, DryRun: p.DryRun}
	if p.Push {
		p.result.Remote = p.remote
	}
	return nil
}

// backoff is the random delay between retries while others publish.
var backoff = wait.Backoff{Duration: 40 * time.Millisecond, Factor: 1.3, Jitter: 1, Steps: 13}

// publish publishes on top of the branch. It retries if others change the branch meanwhile.
func (p *publisher) publish(ctx context.Context) error {
	isRaced := func(err error) bool { return errors.Is(err, git.ErrRaced) }
	err := retry.OnError(backoff, isRaced, func() error {
		now, err := p.readBranch(ctx)
		if err != nil {
			return err
		}
		return p.publishOn(ctx, now)
	})
	if isRaced(err) {
		err = fmt.Errorf("%w repeatedly: run this again", err)
	}
	if err != nil && p.result.Pushed {
		return fmt.Errorf("branch %s was pushed to %s, but the local branch did not change: %w", p.Branch,
			p.remote, err)
	}
	return err
}

// publishOn publishes on top of a state of the branch. The error is git.ErrRaced if the branch has changed.
func (p *publisher) publishOn(ctx context.Context, now *branch) error {
	needsCommit, err := p.needsCommit(ctx, now)
	if err != nil {
		return err
	}
	p.result.Commit = now.tip
	switch {
	case p.DryRun && needsCommit:
		p.result.Commit = ""
		p.result.Changed = true
		p.result.Pushed = p.Push
		return nil
	case p.DryRun:
		p.result.Pushed = p.Push && now.remote != now.tip
		return nil
	case needsCommit:
		if p.result.Commit, err = p.commit(ctx, now.tip); err != nil {
			return err
		}
	}
	if err := p.moveBranches(ctx, now, needsCommit); err != nil {
		return err
	}
	return p.noteSource(ctx)
}

// moveBranches moves the branch of the remote and then the local one to the last commit. If it is
// interrupted between the two, the next run completes it.
func (p *publisher) moveBranches(ctx context.Context, now *branch, changes bool) error {
	commit := p.result.Commit
	if p.Push && now.remote != commit {
		if err := p.git.Push(ctx, p.remote, p.Branch, now.remote, commit); err != nil {
			return err
		}
		p.result.Pushed = true
		p.result.Changed = p.result.Changed || changes
	}
	if now.local != commit {
		if err := p.git.MoveBranch(ctx, p.Branch, now.local, commit, "render publish: from "+p.head); err != nil {
			return err
		}
	}
	p.result.Changed = p.result.Changed || changes
	return nil
}

// The trailers of a published commit.
const (
	trailerEnvironment = "Gatehouse-Environment"
	trailerPath        = "Gatehouse-Path"   // the rendered folder, from the top of the work tree
	trailerSource      = "Gatehouse-Source" // the rendered commit
)

// path returns the path of the rendered folder for trailers.
func (p *publisher) path() string { return git.Tidy(path.Join(p.git.Prefix(), p.folder)) }

// commit makes the commit to publish, and returns its id. The parent of a first commit is empty.
func (p *publisher) commit(ctx context.Context, parent string) (string, error) {
	source, err := p.git.ReadCommit(ctx, p.head)
	if err != nil {
		return "", err
	}
	const short = 12
	subject := fmt.Sprintf("Publish %s from %s", p.Environment, p.head[:short])
	message := fmt.Sprintf("%s\n\n%s\n\n%s: %s\n%s: %s\n%s: %s\n", subject, git.Tidy(source.Subject),
		trailerEnvironment, p.Environment, trailerPath, p.path(), trailerSource, p.head)
	id, err := p.git.Commit(ctx, p.tree, parent, message)
	if err != nil {
		return "", err
	}
	made, err := p.git.ReadCommit(ctx, id)
	if err == nil && (p.checkTip(made) != nil || made.Trailers[trailerSource] != p.head) {
		err = fmt.Errorf("the hook commit-msg changes the trailers of the message %q: it must keep the last paragraph",
			subject)
	}
	return id, err
}
