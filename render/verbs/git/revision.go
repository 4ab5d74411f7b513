package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.com/gatehouse/render/manifest"
)

// Head is the checked out revision.
const Head = "HEAD"

// Resolve returns the commit of a revision. It refuses a name that stands for several: git takes a tag before a branch,
// and anybody who may push can add a tag.
func (r *Repository) Resolve(ctx context.Context, revision string) (string, error) {
	if revision == "" || strings.HasPrefix(revision, "-") {
		return "", fmt.Errorf("%q is not a revision: specify a branch, a tag or a commit", revision)
	}
	full, err := r.qualify(ctx, revision)
	if err != nil {
		return "", err
	}
	out, err := r.git(ctx, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", full+"^{commit}")
	var failed *Error
	switch {
	case errors.As(err, &failed) && revision == Head:
		return "", errors.New("there is no commit yet: commit first")
	case errors.As(err, &failed):
		return "", fmt.Errorf("no such revision %q%s", revision, r.revisionHint(ctx, revision))
	}
	return strings.TrimSpace(out), err
}

// ResolveBranch returns the commit of a branch of the clone or of a remote.
func (r *Repository) ResolveBranch(ctx context.Context, branch string) (string, error) {
	ref, err := r.reference(ctx, branch, "refs/heads/", "refs/remotes/")
	if err != nil {
		return "", err
	}
	if ref == "" || strings.HasPrefix(ref, "refs/tags/") {
		return "", fmt.Errorf("no such branch %q%s", branch, r.revisionHint(ctx, branch))
	}
	return r.Tip(ctx, ref)
}

// The names that git finds before any branch or tag, and a commit by its whole ID.
var (
	pseudoReference = regexp.MustCompile(`^([A-Z_]+|@)$`)
	wholeID         = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	shortID         = regexp.MustCompile(`^[0-9a-f]{4,}$`)
)

// IsID reports whether a text is the whole ID of an object.
func IsID(text string) bool { return wholeID.MatchString(text) }

// qualify returns a revision with the full name of the reference at its beginning, if there is one.
func (r *Repository) qualify(ctx context.Context, revision string) (string, error) {
	name := revision
	for _, operator := range []string{"^", "~", ":", "@{"} {
		name, _, _ = strings.Cut(name, operator)
	}
	isPseudo := pseudoReference.MatchString(name) && (name == "@" || exists(r.gitDir, name))
	if name == "" || isPseudo || IsID(name) {
		return revision, nil
	}
	ref, err := r.reference(ctx, name, "refs/", "refs/tags/", "refs/heads/", "refs/remotes/")
	switch {
	case err != nil:
		return "", err
	case ref == "" && strings.HasPrefix(name, "refs/"):
		return "", fmt.Errorf("no such revision %q%s", revision, r.revisionHint(ctx, revision))
	case ref == "":
		return revision, nil
	}
	others, err := r.otherMeanings(ctx, name, ref)
	if err != nil {
		return "", err
	}
	if len(others) > 0 {
		return "", ambiguous(name, append(others, ref))
	}
	return ref + strings.TrimPrefix(revision, name), nil
}

// otherMeanings returns what the name of a reference may stand for as well: of a tag, the branch of a remote, and
// objects with a short ID.
func (r *Repository) otherMeanings(ctx context.Context, name, ref string) (others []string, err error) {
	if ref == "refs/tags/"+name {
		out, err := r.git(ctx, nil, "for-each-ref", "--format=%(refname)", "--", "refs/remotes/*/"+name)
		if err != nil {
			return nil, err
		}
		others = strings.Fields(out)
	}
	if !shortID.MatchString(name) {
		return others, nil
	}
	out, err := r.git(ctx, nil, "rev-parse", "--disambiguate="+name)
	return append(others, strings.Fields(out)...), err
}

// reference returns the full name of the only reference with a name below some folders, or nothing.
func (r *Repository) reference(ctx context.Context, name string, folders ...string) (string, error) {
	names := []string{name, "refs/remotes/" + name + "/" + Head}
	for _, folder := range folders {
		names = append(names, folder+name)
	}
	if strings.HasPrefix(name, "refs/") {
		names = names[:1]
	}
	refs, err := r.references(ctx, names...)
	found := slices.Sorted(maps.Keys(refs))
	switch {
	case err != nil || len(found) == 0:
		return "", err
	case len(found) > 1:
		return "", ambiguous(name, found)
	}
	return found[0], nil
}

func ambiguous(name string, refs []string) error {
	return fmt.Errorf("revision %q is ambiguous: write %s", name, strings.Join(refs, " or "))
}

// revisionHint returns a hint for the error of a missing revision: a similar name, or a way to fetch it.
func (r *Repository) revisionHint(ctx context.Context, revision string) string {
	out, _ := r.git(ctx, nil, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads", "refs/tags", "refs/remotes")
	names := strings.Fields(out)
	if i := slices.IndexFunc(names, func(name string) bool { return strings.HasSuffix(name, "/"+revision) }); i >= 0 {
		return fmt.Sprintf(": did you mean %q?", names[i])
	}
	if hint := manifest.DidYouMean(revision, names); hint != "" {
		return hint
	}
	if r.IsShallow {
		return ": this is a shallow clone: " + Unshallow
	}
	return ": git branch --all lists branches, and git fetch gets new ones"
}

// Unshallow is a hint to get the rest of the history.
const Unshallow = "run git fetch --unshallow, or set fetch-depth: 0 in GitHub's checkout action"

// MergeBase returns the merge base of a revision and HEAD, or the revision if they share no history.
func (r *Repository) MergeBase(ctx context.Context, revision string) (string, error) {
	commit, err := r.Resolve(ctx, revision)
	if err != nil {
		return "", err
	}
	head, err := r.Tip(ctx, Head)
	if head == "" || err != nil { // head is empty on a branch without commits
		return commit, err
	}
	base, err := r.git(ctx, nil, "merge-base", commit, head)
	switch {
	case exitedWith1(err) && r.IsShallow:
		return "", fmt.Errorf("find the merge base of %q and HEAD: this is a shallow clone: %s", revision, Unshallow)
	case exitedWith1(err):
		return commit, nil
	}
	return strings.TrimSpace(base), err
}

// Origin identifies the folder in every clone of the repository by the first commit of the history and the
// path of the folder. It returns nothing in a shallow clone.
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

// exitedWith1 reports whether git exited with 1, its answer for no.
func exitedWith1(err error) bool {
	var failed *Error
	return errors.As(err, &failed) && failed.Code == 1
}

// URL returns the URL of the remote origin, or nothing.
func (r *Repository) URL(ctx context.Context) string {
	out, _ := r.git(ctx, nil, "remote", "get-url", "--", "origin")
	return strings.TrimSpace(out)
}

// DefaultBranch returns the target branch of pull requests: the default branch of origin, if git knows it,
// or the checked out branch.
func (r *Repository) DefaultBranch(ctx context.Context) string {
	branchOf := func(ref string) string {
		out, _ := r.git(ctx, nil, "symbolic-ref", "--quiet", "--short", ref)
		return strings.TrimSpace(out)
	}
	return cmp.Or(strings.TrimPrefix(branchOf("refs/remotes/origin/HEAD"), "origin/"), branchOf(Head), "main")
}
