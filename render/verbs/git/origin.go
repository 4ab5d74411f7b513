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
	remote  string
	current []string // names of the branch under review: of HEAD, the default one, and the base
	known   []string // the full names of references

	mu        sync.Mutex
	snapshots map[string]*Snapshot // by commit
}

// OriginOf returns the place of a folder by git: nothing without git. Base, if not empty, is the revision
// that the change is made from.
func OriginOf(ctx context.Context, dir, base string) (*Origin, error) {
	o := &Origin{snapshots: map[string]*Snapshot{}}
	in, err := Open(ctx, dir)
	switch {
	case errors.Is(err, ErrNoRepository), errors.Is(err, ErrMissing):
		return o, nil
	case err != nil:
		return o, err
	}
	o.in = in
	if err := o.addURLs(ctx); err != nil {
		return o, err
	}
	for _, ref := range []string{Head, "refs/remotes/origin/HEAD"} {
		out, err := in.git(ctx, nil, "symbolic-ref", "--quiet", "--short", ref)
		if err != nil && !exitedWith1(err) { // a commit is checked out
			return o, err
		}
		if branch := strings.TrimPrefix(strings.TrimSpace(out), "origin/"); branch != "" {
			o.current = append(o.current, branch)
		}
	}
	if base != "" {
		o.current = append(o.current, strings.TrimPrefix(base, "origin/"))
	}
	if o.remote, err = in.Remote(ctx); err != nil {
		return o, err
	}
	out, err := in.git(ctx, nil, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes", "refs/tags")
	o.known = strings.Fields(out)
	return o, err
}

// addURLs adds the URLs of the remotes that are no folders, origin first.
func (o *Origin) addURLs(ctx context.Context) error {
	out, err := o.in.git(ctx, nil, "config", "--get-regexp", `^remote\..*\.url$`)
	if err != nil && !exitedWith1(err) { // without remotes
		return err
	}
	for line := range strings.Lines(out) {
		name, url, _ := strings.Cut(strings.TrimSpace(line), " ")
		isPath := !strings.Contains(url, ":") || strings.Contains(url, `\`)
		switch isLocal := strings.HasPrefix(url, "file://") || isPath; {
		case isLocal || o.in.prefix != "":
		case name == "remote.origin.url":
			o.URLs = slices.Insert(o.URLs, 0, url)
		default:
			o.URLs = append(o.URLs, url)
		}
	}
	return nil
}

// At returns the files of a branch, a tag or a commit, and its commit. A branch is as the remote had it when git last
// fetched it, and goes before a tag with its name, as in the list of references that Argo CD asks the remote for.
func (o *Origin) At(ctx context.Context, revision string) (*Snapshot, string, error) {
	commit, err := o.commit(ctx, revision)
	if err != nil {
		return nil, "", err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.snapshots[commit]
	if s == nil {
		if s, err = o.in.Snapshot(ctx, commit); err != nil {
			return nil, "", err
		}
		o.snapshots[commit] = s
	}
	return s, commit, nil
}

// commit returns the commit of a revision that is here.
func (o *Origin) commit(ctx context.Context, revision string) (string, error) {
	branches := "refs/heads/"
	if o.remote != "" {
		branches = "refs/remotes/" + o.remote + "/"
	}
	for _, ref := range []string{branches + strings.TrimPrefix(revision, "refs/heads/"),
		"refs/tags/" + strings.TrimPrefix(revision, "refs/tags/")} {
		if slices.Contains(o.known, ref) {
			return o.in.Resolve(ctx, ref)
		}
	}
	if o.in != nil && shortID.MatchString(revision) {
		return o.in.Resolve(ctx, revision)
	}
	return "", errors.New("git does not have it here: run git fetch --tags")
}

// Close ends the reading of revisions.
func (o *Origin) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.snapshots {
		s.Close()
	}
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

// IsOther reports whether a revision is not what the tree is to become: a tag, or a branch beside the one that is
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
	isTag := slices.Contains(o.known, "refs/tags/"+revision)
	return !slices.Contains(own, revision) && (len(own) > 1 || isTag || o.isBranch(revision))
}

func (o *Origin) isBranch(name string) bool {
	return slices.ContainsFunc(o.known, func(ref string) bool {
		_, ofRemote, _ := strings.Cut(strings.TrimPrefix(ref, "refs/remotes/"), "/")
		return ref == BranchRef(name) || strings.HasPrefix(ref, "refs/remotes/") && ofRemote == name
	})
}
