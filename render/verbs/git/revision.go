package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"example.com/gatehouse/render/manifest"
)

// Head is the revision that is checked out.
const Head = "HEAD"

// Resolve returns the id of the commit that a revision names.
func (r *Repository) Resolve(ctx context.Context, revision string) (string, error) {
	if revision == "" || strings.HasPrefix(revision, "-") {
		return "", fmt.Errorf("%q is not a revision: write a branch, a tag or a commit", revision)
	}
	out, err := r.git(ctx, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	var failed *Error
	switch {
	case errors.As(err, &failed) && revision == Head:
		return "", errors.New("there is no commit yet: commit first")
	case errors.As(err, &failed):
		return "", fmt.Errorf("no such revision %q%s", revision, r.otherRevision(ctx, revision))
	}
	return strings.TrimSpace(out), err
}

// otherRevision returns the end of the error for a revision that does not exist: what to write instead,
// or how to fetch it.
func (r *Repository) otherRevision(ctx context.Context, revision string) string {
	out, _ := r.git(ctx, nil, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads", "refs/tags", "refs/remotes")
	names := strings.Fields(out)
	if i := slices.IndexFunc(names, func(name string) bool { return strings.HasSuffix(name, "/"+revision) }); i >= 0 {
		return fmt.Sprintf(": did you mean %q?", names[i])
	}
	if hint := manifest.DidYouMean(revision, names); hint != "" {
		return hint
	}
	if r.IsShallow {
		return ": this clone is shallow: " + Unshallow
	}
	return ": git branch --all lists the branches, and git fetch brings new ones"
}

// Unshallow says how to get the rest of the history.
const Unshallow = "run git fetch --unshallow, or in GitHub's checkout write fetch-depth: 0"

// Base returns the merge base of a revision and HEAD, with which a pull request is compared. Where the
// two share no history, it returns the revision.
func (r *Repository) Base(ctx context.Context, revision string) (string, error) {
	commit, err := r.Resolve(ctx, revision)
	if err != nil {
		return "", err
	}
	head, err := r.Tip(ctx, Head)
	if head == "" || err != nil { // or on a branch without commits
		return commit, err
	}
	base, err := r.git(ctx, nil, "merge-base", commit, head)
	switch {
	case isNo(err) && r.IsShallow:
		return "", fmt.Errorf("where %q and HEAD part is not known here, as this clone is shallow: %s", revision, Unshallow)
	case isNo(err):
		return commit, nil
	}
	return strings.TrimSpace(base), err
}

// Origin identifies the folder in every clone of the repository, by the first commit of the history and
// the path of the folder. It returns nothing where that commit is not known, as in a shallow clone.
func (r *Repository) Origin(ctx context.Context) string {
	if r.IsShallow {
		return ""
	}
	first, err := r.git(ctx, nil, "rev-list", "--first-parent", "--max-parents=0", Head, "--")
	if err != nil {
		return ""
	}
	return path.Join(strings.TrimSpace(first), r.prefix)
}

// isNo reports whether git answered no, which is its exit code 1.
func isNo(err error) bool {
	var failed *Error
	return errors.As(err, &failed) && failed.Code == 1
}

// URL returns the URL of the remote origin; empty where there is none.
func (r *Repository) URL(ctx context.Context) string {
	out, _ := r.git(ctx, nil, "remote", "get-url", "--", "origin")
	return strings.ToLower(strings.TrimSpace(out))
}

// DefaultBranch returns the branch that pull requests are merged into: that of origin, where git knows
// it, or the one that is checked out.
func (r *Repository) DefaultBranch(ctx context.Context) string {
	branchOf := func(ref string) string {
		out, _ := r.git(ctx, nil, "symbolic-ref", "--quiet", "--short", ref)
		return strings.TrimSpace(out)
	}
	return cmp.Or(strings.TrimPrefix(branchOf("refs/remotes/origin/HEAD"), "origin/"), branchOf(Head), "main")
}
