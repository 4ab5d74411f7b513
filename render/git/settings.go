package git

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
)

// Host is the host of the remote that people push to: of origin or, without one, of the
// first; empty where there is none. A folder above team and repository follows it, as one
// host may serve others there.
func (r *Repository) Host(ctx context.Context) string {
	out, _ := r.git(ctx, nil, "remote")
	names := strings.Fields(out)
	if len(names) == 0 {
		return ""
	}
	name := names[0]
	if slices.Contains(names, "origin") {
		name = "origin"
	}
	remote, _ := r.git(ctx, nil, "remote", "get-url", "--", name)
	return hostOf(strings.TrimSpace(remote))
}

// hostOf is the host in the URL of a remote, which may be like git@example.com:team/repository,
// in lower case; empty where it is a folder.
func hostOf(remote string) string {
	remote = strings.ToLower(remote)
	if parsed, err := url.Parse(remote); err == nil && parsed.Host != "" {
		if folder, below, _ := strings.Cut(strings.Trim(parsed.Path, "/"), "/"); strings.Contains(below, "/") {
			return parsed.Hostname() + "/" + folder
		}
		return parsed.Hostname()
	}
	host, _, ok := strings.Cut(remote, ":")
	if !ok || strings.Contains(host, "/") {
		return ""
	}
	return host[strings.LastIndex(host, "@")+1:]
}

// DefaultBranch is the branch that pull requests are merged into: that of origin, where it is
// known, or the one that is checked out.
func (r *Repository) DefaultBranch(ctx context.Context) string {
	of := func(ref string) string {
		out, _ := r.git(ctx, nil, "symbolic-ref", "--quiet", "--short", ref)
		return strings.TrimSpace(out)
	}
	return cmp.Or(strings.TrimPrefix(of("refs/remotes/origin/HEAD"), "origin/"), of(Head), "main")
}

// Ignored are the files that git leaves out of commits, of those at and below paths, which
// are relative to the folder.
func (r *Repository) Ignored(ctx context.Context, paths []string) []string {
	args := []string{"ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--"}
	out, _ := r.git(ctx, nil, append(args, paths...)...)
	return strings.FieldsFunc(out, func(c rune) bool { return c == 0 })
}
