package git

import (
	"cmp"
	"context"
	"strings"
)

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
