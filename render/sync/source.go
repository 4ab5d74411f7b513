package sync

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/git"
	"example.com/gatehouse/render/publish"
	"example.com/gatehouse/render/tree"
)

// complete checks where to sync from, and completes it. Its error has all that is wrong.
func (o *Options) complete(ctx context.Context, repository *render.Repository, checkURL func(string) error) error {
	wrongURL, wrongBranch := checkURL(o.URL), checkBranch(o.Branch)
	var wrongPath error
	switch {
	case o.Path != "":
		if o.Path, wrongPath = cleanPath(o.Path); wrongPath == nil {
			wrongPath = o.checkPath(ctx, repository)
		}
	case wrongBranch == nil:
		o.Path, wrongPath = o.defaultPath(ctx, repository)
	}
	return errors.Join(wrongURL, wrongBranch, wrongPath)
}

// defaultPath is where a branch has what was rendered: in rendered/, below the folder of the
// repository in the work tree. The branches of render publish have it there, too.
func (o *Options) defaultPath(ctx context.Context, repository *render.Repository) (string, error) {
	rendered := path.Join(tree.Folder, o.Environment)
	work, err := git.Open(ctx, repository.Dir())
	if err != nil {
		return cleanPath(rendered) // it is not known to git yet
	}
	environment, err := publish.Published(ctx, work, o.Branch)
	switch {
	case err != nil:
		return "", err
	case environment != "" && environment != o.Environment:
		return "", fmt.Errorf("--branch %s: render publishes environment %s to it, not %s", o.Branch, environment, o.Environment)
	}
	return cleanPath(path.Join(work.Prefix(), rendered))
}

// checkPath is the error of a path that is something else here, as the folder of what people
// write: where an At has no Pod.
func (o *Options) checkPath(ctx context.Context, repository *render.Repository) error {
	prefix := ""
	if work, err := git.Open(ctx, repository.Dir()); err == nil {
		prefix = work.Prefix()
	}
	in, isBelow := o.Path, true
	if prefix != "" {
		in, isBelow = strings.CutPrefix(o.Path, prefix+"/")
	}
	top, _, _ := strings.Cut(in, "/")
	own := path.Join(tree.Folder, o.Environment)
	if !isBelow || in == own || !slices.Contains([]string{"environments", tree.Folder}, top) {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(repository.Dir(), filepath.FromSlash(in))); err != nil {
		return nil //nolint:nilerr // another repository may have it
	}
	return fmt.Errorf("--path %s is not what environment %s was rendered to: leave it out, or write %s", quoted(o.Path), o.Environment, path.Join(prefix, own))
}

// cleanPath is the shortest form of the path of a folder of a branch.
func cleanPath(folder string) (string, error) {
	clean := path.Clean(folder)
	switch {
	case strings.ContainsFunc(folder, isUnprintable) || strings.Contains(folder, `\`):
		return "", fmt.Errorf("--path %s: write the names of folders with / between them", quoted(folder))
	case path.IsAbs(folder):
		return "", fmt.Errorf("--path %s: write it from the top of the branch, without / first: %s", folder, path.Clean(strings.TrimLeft(clean, "/")))
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return "", fmt.Errorf("--path %s leaves the repository: write a folder in it, from its top", quoted(folder))
	}
	return clean, nil
}

func isUnprintable(r rune) bool { return !unicode.IsPrint(r) }

// checkBranch is the error of what git takes for no branch, as `git check-ref-format` says.
func checkBranch(branch string) error {
	if short, ok := strings.CutPrefix(branch, "refs/heads/"); ok {
		return fmt.Errorf("--branch %s: write %s", quoted(branch), quoted(short))
	}
	isWrong := func(part string) bool {
		return part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock")
	}
	if branch == "@" || branch == git.Head || strings.HasPrefix(branch, "-") || strings.HasPrefix(branch, "refs/") || strings.HasSuffix(branch, ".") ||
		strings.Contains(branch, "..") || strings.Contains(branch, "@{") || strings.ContainsAny(branch, ` ~^:?*[\`) || strings.ContainsFunc(branch, isUnprintable) ||
		slices.ContainsFunc(strings.Split(branch, "/"), isWrong) {
		return fmt.Errorf("--branch %s is not the name of a branch: write one like main", quoted(branch))
	}
	return nil
}

// short matches what ssh takes for the address of a repository, and is no URL.
var short = regexp.MustCompile(`^(?:([A-Za-z0-9._-]+)@)?([A-Za-z0-9.-]{2,}|\[[0-9A-Fa-f:]+\]):/*([^/@\s\pC][^@\s\pC]*)$`)

const anExample = "write it as https://github.com/acme/shop.git or ssh://git@github.com/acme/shop.git"

// fluxURL is the error of a URL that Flux does not take: it has no short form of ssh.
func fluxURL(repository string) error {
	if parts := shortForm(repository); parts != nil {
		return fmt.Errorf("--repo %s: Flux takes URLs alone: write %s", quoted(repository), longForm(parts))
	}
	return checkURL(repository)
}

// argoURL is the error of a URL that Argo CD does not take: of the short form of ssh it needs
// the user.
func argoURL(repository string) error {
	switch parts := shortForm(repository); {
	case parts != nil && parts[1] != "":
		return nil
	case parts != nil:
		return fmt.Errorf("--repo %s: Argo CD needs the user: write %s", quoted(repository), longForm(parts))
	}
	return checkURL(repository)
}

// shortForm returns the user, the host and the path of a repository that is no URL; nil of
// any other.
func shortForm(repository string) []string {
	parts := short.FindStringSubmatch(repository)
	if parts == nil || strings.Contains(repository, "://") || slices.Contains([]string{"http", "https", "ssh"}, strings.ToLower(parts[2])) {
		return nil
	}
	return parts
}

// longForm is the URL of a repository that ssh has another form for.
func longForm(parts []string) string {
	user := parts[1]
	if user == "" {
		user = "git"
	}
	return quoted("ssh://" + user + "@" + parts[2] + "/" + parts[3])
}

// checkURL is the error of a text that is not the URL of a repository which others can reach,
// or has what only they are to know: that is not printed.
func checkURL(repository string) error {
	if repository == "" {
		return fmt.Errorf("--repo is empty: %s", anExample)
	}
	u, err := url.Parse(repository)
	if err != nil || strings.ContainsFunc(repository, func(r rune) bool { return unicode.IsSpace(r) || isUnprintable(r) }) {
		return fmt.Errorf("--repo is not a URL: %s", anExample)
	}
	if err := checkSecrets(u); err != nil {
		return err
	}
	isReachable := slices.Contains([]string{"https", "http", "ssh"}, u.Scheme)
	switch {
	case !isReachable && strings.Contains(repository, "@"): // it may have a password
		return fmt.Errorf("--repo is not a URL that the cluster reaches: %s", anExample)
	case !isReachable:
		return fmt.Errorf("--repo %s is not a URL that the cluster reaches: %s", quoted(repository), anExample)
	case !strings.HasPrefix(repository, u.Scheme+"://"):
		return fmt.Errorf("--repo %s: write %s:// in lower case, and two slashes", quoted(repository), u.Scheme)
	case u.Hostname() == "" || strings.Trim(u.Path, "/") == "":
		return fmt.Errorf("--repo %s names no host or no repository: %s", quoted(repository), anExample)
	case u.Scheme == "ssh" && u.User.Username() == "":
		return fmt.Errorf("--repo %s: write the user, as in ssh://git@%s%s", quoted(repository), u.Host, u.EscapedPath())
	}
	return nil
}

// checkSecrets is the error of a URL that may have a password or a token.
func checkSecrets(u *url.URL) error {
	_, hasPassword := u.User.Password()
	switch {
	case hasPassword, u.User != nil && (u.Scheme == "https" || u.Scheme == "http"):
		return errors.New("--repo has a user or a password, which all could read: leave it out, and put it in a Secret of the cluster")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("--repo has more than a repository after ? or #: leave it out; a branch is --branch, and a token belongs in a Secret of the cluster")
	}
	return nil
}
