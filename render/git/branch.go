package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// BranchRef is the full name of a branch.
func BranchRef(branch string) string { return "refs/heads/" + branch }

// CheckBranch is the error of a name that no branch has, or should have.
func (r *Repository) CheckBranch(ctx context.Context, branch string) error {
	if short, ok := strings.CutPrefix(branch, "refs/heads/"); ok {
		return fmt.Errorf("%q is not the name of a branch: write %s", branch, short)
	}
	_, err := r.git(ctx, nil, "check-ref-format", BranchRef(branch))
	var failed *Error
	if errors.As(err, &failed) || strings.HasPrefix(branch, "-") || strings.HasPrefix(branch, "refs/") || branch == Head || branch == "@" {
		return fmt.Errorf("%q is not the name of a branch: git check-ref-format says which are", branch)
	}
	return err
}

// InTheWay is a branch beside which another cannot be, as git keeps them like files and
// folders; empty where there is none.
func (r *Repository) InTheWay(ctx context.Context, branch string) (string, error) {
	first, _, _ := strings.Cut(branch, "/")
	out, err := r.git(ctx, nil, "for-each-ref", "--format=%(refname:lstrip=2)", BranchRef(first))
	for _, other := range strings.Fields(out) {
		if isInTheWay(other, branch) {
			return other, nil
		}
	}
	return "", err
}

func isInTheWay(other, branch string) bool {
	return strings.HasPrefix(other, branch+"/") || strings.HasPrefix(branch, other+"/")
}

// CheckedOut is the folder of the work tree where a branch is checked out; empty where it is
// in none.
func (r *Repository) CheckedOut(ctx context.Context, branch string) (string, error) {
	out, err := r.git(ctx, nil, "worktree", "list", "--porcelain")
	folder := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "worktree "); ok {
			folder = name
		}
		if line == "branch "+BranchRef(branch) {
			return Tidy(folder), nil
		}
	}
	return "", err
}

// Tip is the commit of a reference; empty where there is no such reference.
func (r *Repository) Tip(ctx context.Context, ref string) (string, error) {
	out, err := r.git(ctx, nil, "rev-parse", "--verify", "--quiet", ref+"^{commit}")
	if isNo(err) {
		return "", nil
	}
	return strings.TrimSpace(out), err
}

// Has says whether an object is in the repository, or a remote that completes it.
func (r *Repository) Has(ctx context.Context, id string) bool {
	_, err := r.git(ctx, nil, "cat-file", "-e", id)
	return err == nil
}

// ErrRaced is wrapped by the errors of changes that another process was in the way of. They
// may succeed when they are made again, from what there is then.
var ErrRaced = errors.New("another process changes it")

// Move has a branch point to another commit, if it still points to the one before: to none
// where that is empty.
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

// Remote is the remote to push to, as `git push` takes it for a branch without one: the
// configured remote.pushDefault, the only one, or origin; empty where there is none.
func (r *Repository) Remote(ctx context.Context) (string, error) {
	if out, _ := r.git(ctx, nil, "config", "--get", "remote.pushDefault"); strings.TrimSpace(out) != "" {
		return strings.TrimSpace(out), nil
	}
	remotes, err := r.Remotes(ctx)
	switch {
	case len(remotes) == 1:
		return remotes[0], nil
	case slices.Contains(remotes, "origin"):
		return "origin", nil
	}
	return "", err
}

// Remotes are the names of the remotes.
func (r *Repository) Remotes(ctx context.Context) ([]string, error) {
	out, err := r.git(ctx, nil, "remote")
	return strings.Fields(out), err
}

// RemoteTip is the commit of a branch of a remote that is pushed to; empty where it has no
// such branch. A branch beside which it cannot have that is an error.
func (r *Repository) RemoteTip(ctx context.Context, remote, branch string) (string, error) {
	url, err := r.pushURL(ctx, remote)
	if err != nil {
		return "", err
	}
	args := []string{"ls-remote", "--quiet", "--", url, BranchRef(branch), BranchRef(branch) + "/*"}
	for i, c := range branch {
		if c == '/' {
			args = append(args, BranchRef(branch[:i]))
		}
	}
	out, err := r.git(ctx, nil, args...)
	if err != nil {
		return "", unreachable(remote, err)
	}
	for line := range strings.Lines(out) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		other, isBranch := strings.CutPrefix(name, BranchRef(""))
		switch {
		case name == BranchRef(branch):
			return id, nil
		case isBranch && isInTheWay(other, branch):
			return "", fmt.Errorf("%s has a branch %s, beside which git cannot have %s: name another with --branch", remote, Tidy(other), branch)
		}
	}
	return "", nil
}

// pushURL is where a remote is pushed to, if that is not where it is fetched from, else its
// name: what is configured for the name holds then.
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

// Fetch brings the commits of a branch of a remote, and changes no reference. A shallow
// repository that has none of them stays so.
func (r *Repository) Fetch(ctx context.Context, remote, branch string, isFirst bool) error {
	url, err := r.pushURL(ctx, remote)
	if err != nil {
		return err
	}
	args := []string{"fetch", "--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--refmap=", "--recurse-submodules=no", "--no-auto-maintenance"}
	if isFirst && r.IsShallow && r.env == nil {
		args = append(args, "--depth=1")
	}
	if _, err = r.git(ctx, nil, append(args, "--", url, BranchRef(branch))...); err != nil {
		return unreachable(remote, err)
	}
	return nil
}

// Push has a branch of a remote point to another commit, if it still points to the one
// before: to none where that is empty.
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
	case tipErr == nil && tip == after: // only the answer was lost
		return nil
	case tipErr == nil && tip != before, isContended(out):
		return fmt.Errorf("push %s to %s: %s: %w", branch, remote, refusal(out, failed), ErrRaced)
	case strings.Contains(out, "[remote rejected]"):
		return fmt.Errorf("%s refuses %s: %s: have it let you push to this branch, or name another with --branch", remote, branch, refusal(out, failed))
	}
	return fmt.Errorf("push %s to %s: %s: see that git push --dry-run %s works", branch, remote, failed.Message, remote)
}

// isContended says whether a push failed because another one was at it.
func isContended(out string) bool {
	return slices.ContainsFunc([]string{"(stale info)", "(fetch first)", "(non-fast-forward)", "cannot lock ref", "failed to update ref", "incorrect old value"},
		func(reason string) bool { return strings.Contains(out, reason) })
}

// refusal is why a push was refused: what git says of the branch, and the remote.
func refusal(out string, failed *Error) string {
	said, _, _ := strings.Cut(failed.Message, "failed to push some refs")
	for line := range strings.Lines(out) {
		if fields := strings.SplitN(strings.TrimSpace(line), "\t", 3); len(fields) == 3 && fields[0] == "!" {
			return Tidy(fields[2] + " " + said)
		}
	}
	return failed.Message
}

// Quarantine returns the repository with a folder that takes all objects that are made or
// fetched: what is tried there leaves nothing in the repository. Discard it after use.
func (r *Repository) Quarantine(ctx context.Context) (quarantined *Repository, discard func(), err error) {
	objects, err := r.git(ctx, nil, "rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "render-objects-")
	if err != nil {
		return nil, nil, err
	}
	discard = func() { _ = os.RemoveAll(dir) }
	if err = os.Mkdir(filepath.Join(dir, "info"), 0o700); err == nil {
		err = os.WriteFile(filepath.Join(dir, "info", "alternates"), []byte(objects), 0o600)
	}
	if err != nil {
		discard()
		return nil, nil, err
	}
	other := *r
	other.env = []string{"GIT_OBJECT_DIRECTORY=" + dir}
	return &other, discard, nil
}
