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

// CheckBranch returns an error unless branch is a valid name of a branch.
func CheckBranch(ctx context.Context, branch string) error {
	if short, ok := strings.CutPrefix(branch, "refs/heads/"); ok {
		return fmt.Errorf("%q is not the name of a branch: use %s", branch, short)
	}
	r, err := find(ctx)
	if err != nil {
		return err
	}
	_, err = r.git(ctx, nil, "check-ref-format", BranchRef(branch))
	var failed *Error
	if errors.As(err, &failed) || strings.HasPrefix(branch, "-") || strings.HasPrefix(branch, "refs/") ||
		branch == Head || branch == "@" {
		return fmt.Errorf("%q is not a valid name of a branch: see git help check-ref-format", branch)
	}
	return err
}

// CheckedOut returns the work tree that has checked out a branch, or nothing.
func (r *Repository) CheckedOut(ctx context.Context, branch string) (string, error) {
	out, err := r.git(ctx, nil, "for-each-ref", "--format=%(refname)%00%(worktreepath)", BranchRef(branch))
	for line := range strings.Lines(out) {
		if name, folder, _ := strings.Cut(line, "\x00"); name == BranchRef(branch) {
			return Tidy(folder), err
		}
	}
	return "", err
}

// Tip returns the commit of HEAD or of a branch by its full name, or nothing if it does not exist.
func (r *Repository) Tip(ctx context.Context, ref string) (string, error) {
	if ref != Head {
		refs, err := r.references(ctx, ref)
		return refs[ref], err
	}
	out, err := r.git(ctx, nil, "rev-parse", "--verify", "--quiet", ref+"^{commit}")
	if exitedWith1(err) {
		return "", nil
	}
	return strings.TrimSpace(out), err
}

// references returns the objects of those references that exist, by their full names.
func (r *Repository) references(ctx context.Context, names ...string) (map[string]string, error) {
	out, err := r.git(ctx, nil, append([]string{"for-each-ref", "--format=%(objectname) %(refname)", "--"},
		names...)...)
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if slices.Contains(names, name) { // names are patterns, too
			refs[name] = id
		}
	}
	return refs, err
}

// BranchesAndTags returns the short names of branches, also of remotes, and of tags.
func (r *Repository) BranchesAndTags(ctx context.Context) ([]string, error) {
	out, err := r.git(ctx, nil, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags")
	return strings.Fields(out), err
}

// HasObject reports whether the repository has an object. A partial clone may fetch it.
func (r *Repository) HasObject(ctx context.Context, id string) bool {
	_, err := r.git(ctx, nil, "cat-file", "-e", id)
	return err == nil
}

// ErrRaced reports a conflict with another process. A retry on the new state may succeed.
var ErrRaced = errors.New("another process changes it")

// MoveBranch moves a branch from one commit to another. Before is empty for a new branch. It fails if the
// branch has moved meanwhile.
func (r *Repository) MoveBranch(ctx context.Context, branch, before, after, reason string) error {
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

// Remote returns the default remote of `git push`: remote.pushDefault, the only remote, or origin. It is
// empty if none of them exists.
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

// RemoteTip returns the commit of a branch at the push URL of a remote, or nothing if there is no such
// branch.
func (r *Repository) RemoteTip(ctx context.Context, remote, branch string) (string, error) {
	url, err := r.pushURL(ctx, remote)
	if err != nil {
		return "", err
	}
	out, err := r.git(ctx, nil, "ls-remote", "--quiet", "--", url, BranchRef(branch))
	if err != nil {
		return "", remoteError(remote, err)
	}
	for line := range strings.Lines(out) {
		if id, name, _ := strings.Cut(strings.TrimSpace(line), "\t"); name == BranchRef(branch) {
			return id, nil
		}
	}
	return "", nil
}

// pushURL returns the push URL of a remote if it differs from the fetch URL, and otherwise the name, so that
// the configuration of the remote applies.
func (r *Repository) pushURL(ctx context.Context, remote string) (string, error) {
	push, err := r.git(ctx, nil, "remote", "get-url", "--push", "--all", "--", remote)
	var failed *Error
	switch {
	case errors.As(err, &failed):
		return "", fmt.Errorf("%w: git remote --verbose lists all remotes", err)
	case err != nil:
		return "", err
	}
	if strings.Count(push, "\n") != 1 {
		return "", fmt.Errorf("remote %s has several push URLs: choose another remote with git config "+
			"remote.pushDefault NAME", remote)
	}
	fetch, err := r.git(ctx, nil, "remote", "get-url", "--", remote)
	if fetch != push {
		return strings.TrimSpace(push), err
	}
	return remote, err
}

func remoteError(remote string, err error) error {
	return fmt.Errorf("reach remote %s: %w: check that git ls-remote %s works", remote, err, remote)
}

// Fetch fetches a branch of a remote without changing references. The first fetch into a shallow clone is
// shallow.
func (r *Repository) Fetch(ctx context.Context, remote, branch string, isFirst bool) error {
	url, err := r.pushURL(ctx, remote)
	if err != nil {
		return err
	}
	args := []string{"fetch", "--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--refmap=",
		"--recurse-submodules=no", "--no-auto-maintenance"}
	if isFirst && r.IsShallow {
		args = append(args, "--depth=1")
	}
	if _, err = r.git(ctx, nil, append(args, "--", url, BranchRef(branch))...); err != nil {
		return remoteError(remote, err)
	}
	return nil
}

// Push moves a branch of a remote from one commit to another. Before is empty for a new branch. It fails if
// the branch has moved meanwhile.
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
	case tipErr == nil && tip == after: // the push succeeded, but its answer was lost
		return nil
	case tipErr == nil && tip != before, isContended(out, failed.Message):
		return fmt.Errorf("push %s to %s: %s: %w", branch, remote, refusal(out, failed), ErrRaced)
	case strings.Contains(out, "[remote rejected]"):
		return fmt.Errorf("%s rejects %s: %s: allow pushes to this branch, or choose another with --branch", remote,
			branch, refusal(out, failed))
	}
	return fmt.Errorf("push %s to %s: %s: check that git push --dry-run %s works", branch, remote,
		failed.Message, remote)
}

// isContended reports whether a push failed because of a concurrent push. A conflict between the names of
// branches ("cannot create") is a permanent error.
func isContended(out, message string) bool {
	return !strings.Contains(message, "cannot create") &&
		slices.ContainsFunc([]string{"(stale info)", "(fetch first)", "(non-fast-forward)", "cannot lock ref",
			"failed to update ref", "incorrect old value"},
			func(reason string) bool { return strings.Contains(out, reason) })
}

// refusal returns the reason of git and the remote for a rejected push.
func refusal(out string, failed *Error) string {
	said, _, _ := strings.Cut(failed.Message, "failed to push some refs")
	for line := range strings.Lines(out) {
		if fields := strings.SplitN(strings.TrimSpace(line), "\t", 3); len(fields) == 3 && fields[0] == "!" {
			return Tidy(fields[2] + " " + said)
		}
	}
	return failed.Message
}
