package git

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Origin is what a clone knows about the place of its tree.
type Origin struct {
	// URLs are those of the remotes on other hosts, that of origin first. A folder is not the top of a repository in
	// them, and has none.
	URLs []string

	in      *Repository
	current []string // names of the branch under review: of HEAD, the default one, and the base
	known   func() []string
}

// OriginOf returns what git knows about the place of a folder: nothing without git. Base, if not empty, is the revision
// that the change is made from.
func OriginOf(ctx context.Context, dir, base string) *Origin {
	in, err := Open(ctx, dir)
	if err != nil {
		return &Origin{}
	}
	o := &Origin{in: in}
	out, _ := in.git(ctx, nil, "config", "--get-regexp", `^remote\..*\.url$`)
	for line := range strings.Lines(out) {
		name, url, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch isLocal := strings.HasPrefix(url, "file://") || !strings.Contains(url, ":") || strings.Contains(url, `\`); {
		case isLocal || in.prefix != "":
		case name == "remote.origin.url":
			o.URLs = slices.Insert(o.URLs, 0, url)
		default:
			o.URLs = append(o.URLs, url)
		}
	}
	for _, ref := range []string{Head, "refs/remotes/origin/HEAD"} {
		out, _ := in.git(ctx, nil, "symbolic-ref", "--quiet", "--short", ref)
		if branch := strings.TrimPrefix(strings.TrimSpace(out), "origin/"); branch != "" {
			o.current = append(o.current, branch)
		}
	}
	if base != "" {
		o.current = append(o.current, strings.TrimPrefix(base, "origin/"))
	}
	o.known = sync.OnceValue(func() []string {
		out, _ := in.git(ctx, nil, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes", "refs/tags")
		return strings.Fields(out)
	})
	return o
}

// IsOther reports whether a revision is none that the tree is to become: a tag, or a branch beside the one that is
// checked out and the default one. Without a default branch that git knows, main and master may be it, and any other
// name that git does not know.
func (o *Origin) IsOther(revision string) bool {
	if o.in == nil || len(o.current) == 0 || slices.Contains(o.current, revision) {
		return false
	}
	isBranch := false
	for _, ref := range o.known() {
		if ref == "refs/tags/"+revision {
			return true
		}
		_, name, _ := strings.Cut(strings.TrimPrefix(ref, "refs/remotes/"), "/")
		isBranch = isBranch || ref == BranchRef(revision) || strings.HasPrefix(ref, "refs/remotes/") && name == revision
	}
	if len(o.current) > 1 { // the branch and its target
		return true
	}
	return isBranch && revision != "main" && revision != "master"
}
