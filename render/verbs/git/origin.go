package git

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
)

// Origin is the place of the tree of a clone.
type Origin struct {
	// URLs are of the remotes on other hosts, origin first. A folder is not the top of a repository in
	// them, and has none.
	URLs []string

	in      *Repository
	current []string // names of the branch under review: of HEAD, the default one, and the base
	known   func() []string
}

// OriginOf returns the place of a folder by git: nothing without git. Base, if not empty, is the revision
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
		isPath := !strings.Contains(url, ":") || strings.Contains(url, `\`)
		switch isLocal := strings.HasPrefix(url, "file://") || isPath; {
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

// Reviewed returns the commit that HEAD left the default branch of the remote at, whose files are reviewed. IsTree
// reports whether HEAD itself is on that branch, or there is no remote.
func (r *Repository) Reviewed(ctx context.Context) (commit string, isTree bool, err error) {
	out, err := r.git(ctx, nil, "remote")
	if out = strings.TrimSpace(out); err != nil || out == "" {
		return "", err == nil, err
	}
	remote, err := r.Remote(ctx)
	if err != nil {
		return "", false, err
	}
	for _, branch := range []string{Head, "main", "master"} {
		ref := "refs/remotes/" + remote + "/" + branch
		tip, err := r.Tip(ctx, ref)
		if err != nil || tip == "" {
			continue
		}
		base, err := r.MergeBase(ctx, tip)
		if err != nil {
			return "", false, err
		}
		head, err := r.Tip(ctx, Head)
		return base, base == head, err
	}
	return "", false, errors.New("git knows no default branch of the remote: run git remote set-head origin --auto")
}

// IsOther reports whether a revision is none that the tree is to become: a tag, or a branch beside the one that is
// checked out, the default one and the base. If git does not know the default branch, main or master is it. Without
// such a branch any name that git does not know may be it.
func (o *Origin) IsOther(revision string) bool {
	if o.in == nil || len(o.current) == 0 {
		return false
	}
	own := slices.Clone(o.current)
	for _, name := range []string{"main", "master"} {
		if len(o.current) == 1 && o.isBranch(name) {
			own = append(own, name)
		}
	}
	isTag := slices.Contains(o.known(), "refs/tags/"+revision)
	return !slices.Contains(own, revision) && (len(own) > 1 || isTag || o.isBranch(revision))
}

func (o *Origin) isBranch(name string) bool {
	return slices.ContainsFunc(o.known(), func(ref string) bool {
		_, ofRemote, _ := strings.Cut(strings.TrimPrefix(ref, "refs/remotes/"), "/")
		return ref == BranchRef(name) || strings.HasPrefix(ref, "refs/remotes/") && ofRemote == name
	})
}
