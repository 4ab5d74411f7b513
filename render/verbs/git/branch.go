package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// BranchRef returns the full name of a branch.
func BranchRef(branch string) string { return "refs/heads/" + branch }

// CheckBranch returns an error for a text that is not the name of a branch.
func CheckBranch(ctx context.Context, branch string) error {
	if short, ok := strings.CutPrefix(branch, "refs/heads/"); ok {
		return fmt.Errorf("%q is not the name of a branch: write %s", branch, short)
	}
	_, err := (&Repository{dir: "."}).git(ctx, nil, "check-ref-format", BranchRef(branch))
	var failed *Error
	if errors.As(err, &failed) || strings.HasPrefix(branch, "-") || strings.HasPrefix(branch, "refs/") || branch == Head || branch == "@" {
		return fmt.Errorf("%q is not the name of a branch: git check-ref-format says which are", branch)
	}
	return err
}

// CheckedOut returns the folder of the work tree where a branch is checked out; empty where it is in
// none.
func (r *Repository) CheckedOut(ctx context.Context, branch string) (string, error) {
	out, err := r.git(ctx, nil, "for-each-ref", "--format=%(refname)%00%(worktreepath)", BranchRef(branch))
	for line := range strings.Lines(out) {
		if name, folder, _ := strings.Cut(line, "\x00"); name == BranchRef(branch) {
			return Tidy(folder), err
		}
	}
	return "", err
}

// Tip returns the commit of a reference; empty where there is no such reference.
func (r *Repository) Tip(ctx context.Context, ref string) (string, error) {
	out, err := r.git(ctx, nil, "rev-parse", "--verify", "--quiet", ref+"^{commit}")
	if isNo(err) {
		return "", nil
	}
	return strings.TrimSpace(out), err
}

// Has reports whether an object is in the repository, or can be fetched into a partial clone.
func (r *Repository) Has(ctx context.Context, id string) bool {
	_, err := r.git(ctx, nil, "cat-file", "-e", id)
	return err == nil
}

// ErrRaced is wrapped by errors that another process caused. The change may succeed when it is made again
// on the new state.
var ErrRaced = errors.New("another process changes it")

// Move makes a branch point to another commit, if it still points to the commit before; empty means that
// there is no branch.
func (r *Repository) Move(ctx context.Context, branch, before, after, reason string) error {
	expected := before
	if expected == "" {
		expected = strings.Repeat("0", len(after))
	}
	_, err := r.git(ctx, nil, "update-ref", "-m", reason, BranchRef(branch), after, expected)
	if err == nil || ctx.Err() != nil {
		return err
	}
	tip, tipErr := r.Tip(ctx, BranchRef(branch))
	if tipErr == nil && tip != before || strings.Contains(err.Error(), ".lock': File exists") {
		return fmt.Errorf("move branch %s: %w: %w", branch, err, ErrRaced)
	}
	return fmt.Errorf("move branch %s: %w", branch, err)
}

// Remote returns the remote that `git push` takes for a branch without one: remote.pushDefault, the only
// one, or origin; empty where there is none of these.
func (r *Repository) Remote(ctx context.Context) (string, error) {
	if out, _ := r.git(ctx, nil, "config", "--get", "remote.pushDefault"); strings.TrimSpace(out) != "" {
		return strings.TrimSpace(out), nil
	}
	out, err := r.git(ctx, nil, "remote")
	switch remotes := strings.Fields(out); {
	case len(remotes) == 1:
		return remotes[0], nil
	case slices.Contains(remotes, "origin"):
		return "origin", nil
	}
	return "", err
}

// RemoteTip returns the commit of a branch of a remote that is pushed to; empty where it has no such
// branch.
func (r *Repository) RemoteTip(ctx context.Context, remote, branch string) (string, error) {
	url, err := r.pushURL(ctx, remote)
	if err != nil {
		return "", err
	}
	out, err := r.git(ctx, nil, "ls-remote", "--quiet", "--", url, BranchRef(branch))
	if err != nil {
		return "", unreachable(remote, err)
	}
	for line := range strings.Lines(out) {
		if id, name, _ := strings.Cut(strings.TrimSpace(line), "\t"); name == BranchRef(branch) {
			return id, nil
		}
	}
	return "", nil
}

// pushURL returns the URL that a remote is pushed to, if it is fetched from another, else its name, so
// that the configuration for the name holds.
func (r *Repository) pushURL(ctx context.Context, remote string) (string, error) {
	push, err := r.git(ctx, nil, "remote", "get-url", "--push", "--all", "--", remote)
	var failed *Error
	switch {
	case errors.As(err, &failed):
		return "", fmt.Errorf("%w: git remote --verbose lists those that there are", err)
	case err != nil:
		return "", err
	}
	if strings.Count(push, "\n") != 1 {
		return "", fmt.Errorf("remote %s pushes to several places: git config remote.pushDefault NAME names another", remote)
	}
	fetch, err := r.git(ctx, nil, "remote", "get-url", "--", remote)
	if fetch != push {
		return strings.TrimSpace(push), err
	}
	return remote, err
}

func unreachable(remote string, err error) error {
	return fmt.Errorf("reach remote %s: %w: see that git ls-remote %s works", remote, err, remote)
}

// Fetch fetches the commits of a branch of a remote, and changes no reference. The first fetch of a
// branch into a shallow repository is shallow.
func (r *Repository) Fetch(ctx context.Context, remote, branch string, isFirst bool) error {
	url, err := r.pushURL(ctx, remote)
	if err != nil {
		return err
	}
	args := []string{"fetch", "--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--refmap=", "--recurse-submodules=no", "--no-auto-maintenance"}
	if isFirst && r.IsShallow {
		args = append(args, "--depth=1")
	}
	if _, err = r.git(ctx, nil, append(args, "--", url, BranchRef(branch))...); err != nil {
		return unreachable(remote, err)
	}
	return nil
}

// Push makes a branch of a remote point to another commit, if it still points to the commit before; empty
// means that there is no branch.
func (r *Repository) Push(ctx context.Context, remote, branch, before, after string) error {
	ref := BranchRef(branch)
	out, err := r.git(ctx, nil, "push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no",
		"--force-with-lease="+ref+":"+before, "--", remote, after+":"+ref)
	var failed *Error
	if !errors.As(err, &failed) {
		return err
	}
	tip, tipErr := r.RemoteTip(ctx, remote, branch)
	switch {
	case tipErr == nil && tip == after: // the push succeeded, and its answer was lost
		return nil
	case tipErr == nil && tip != before, isContended(out, failed.Message):
		return fmt.Errorf("push %s to %s: %s: %w", branch, remote, refusal(out, failed), ErrRaced)
	case strings.Contains(out, "[remote rejected]"):
		return fmt.Errorf("%s refuses %s: %s: have it let you push to this branch, or name another with --branch", remote, branch, refusal(out, failed))
	}
	return fmt.Errorf("push %s to %s: %s: see that git push --dry-run %s works", branch, remote, failed.Message, remote)
}

// isContended reports whether a push failed because another push was under way, and not because of a
// branch beside which git cannot have this one.
func isContended(out, message string) bool {
	return !strings.Contains(message, "cannot create") && slices.ContainsFunc([]string{"(stale info)", "(fetch first)", "(non-fast-forward)", "cannot lock ref", "failed to update ref", "incorrect old value"},
		func(reason string) bool { return strings.Contains(out, reason) })
}

// refusal returns why a push was refused, in the words of git and of the remote.
func refusal(out string, failed *Error) string {
	said, _, _ := strings.Cut(failed.Message, "failed to push some refs")
	for line := range strings.Lines(out) {
		if fields := strings.SplitN(strings.TrimSpace(line), "\t", 3); len(fields) == 3 && fields[0] == "!" {
			return Tidy(fields[2] + " " + said)
		}
	}
	return failed.Message
}
