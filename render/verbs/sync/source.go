package sync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
)

// complete checks the options that say where to sync from, and sets the path where it is empty: to
// rendered/NAME, below the folder of the repository in the work tree. The branches of render publish
// have the same. Its error has every wrong option.
func (o *Options) complete(ctx context.Context, repository *render.Repository, checkURL func(string) error) error {
	prefix := ""
	if work, err := git.Open(ctx, repository.Dir()); err == nil { // git may not know the folder yet
		prefix = work.Prefix()
	}
	own, written := path.Join(prefix, tree.Folder, o.Environment), path.Join(prefix, tree.EnvironmentsFolder)
	var wrongPath error
	o.Path, wrongPath = cleanPath(cmp.Or(o.Path, own))
	if o.Path == written || strings.HasPrefix(o.Path, written+"/") {
		wrongPath = fmt.Errorf("--path %q is not what environment %s was rendered to: leave it out, or write %s", o.Path, o.Environment, own)
	}
	return errors.Join(checkURL(o.URL), git.CheckBranch(ctx, o.Branch), wrongPath)
}

// cleanPath returns the shortest form of the path of a folder of a branch.
func cleanPath(folder string) (string, error) {
	clean := path.Clean(folder)
	if !fs.ValidPath(clean) || strings.ContainsFunc(folder, isUnprintable) || strings.Contains(folder, `\`) {
		return "", fmt.Errorf("--path %q: write a folder of the branch, from its top and with / between names", folder)
	}
	return clean, nil
}

func isUnprintable(r rune) bool { return !unicode.IsPrint(r) }

const exampleURL = "write it as https://github.com/acme/shop.git or ssh://git@github.com/acme/shop.git"

// scpForm matches what ssh takes for the address of a repository and is not a URL: git@host:path.
var scpForm = regexp.MustCompile(`^(?:([A-Za-z0-9._-]+)@)?([A-Za-z0-9.-]{2,}|\[[0-9A-Fa-f:]+\]):/*([^/@\s\pC][^@\s\pC]*)$`)

// splitSCP returns the user, the host and the path of a repository that is written in that form; nil of
// any other.
func splitSCP(repository string) []string {
	parts := scpForm.FindStringSubmatch(repository)
	if parts == nil || strings.Contains(repository, "://") || isScheme(strings.ToLower(parts[2])) {
		return nil
	}
	return parts[1:]
}

// argoURL returns an error for a URL that Argo CD does not take. It takes the form git@host:path.
func argoURL(repository string) error {
	if parts := splitSCP(repository); parts != nil && parts[0] != "" {
		return nil
	}
	return fluxURL(repository)
}

// fluxURL returns an error for a URL that Flux does not take, or that the cluster does not reach. The
// error does not print what may be a secret.
func fluxURL(repository string) error {
	if parts := splitSCP(repository); parts != nil {
		return fmt.Errorf("--repo %q: write %q", repository, "ssh://"+cmp.Or(parts[0], "git")+"@"+parts[1]+"/"+parts[2])
	}
	u, err := url.Parse(repository)
	if err != nil || !isScheme(u.Scheme) || strings.ContainsFunc(repository, func(r rune) bool { return unicode.IsSpace(r) || isUnprintable(r) }) {
		return fmt.Errorf("--repo is not a URL that the cluster reaches: %s", exampleURL)
	}
	_, hasPassword := u.User.Password()
	switch {
	case hasPassword, u.User != nil && u.Scheme != "ssh":
		return errors.New("--repo has a user or a password, which all could read: leave it out, and put it in a Secret of the cluster")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("--repo has more than a repository after ? or #: leave it out; a branch is --branch, and a token belongs in a Secret of the cluster")
	case !strings.HasPrefix(repository, u.Scheme+"://"):
		return fmt.Errorf("--repo %q: write %s:// in lower case, and two slashes", repository, u.Scheme)
	case u.Hostname() == "" || strings.Trim(u.Path, "/") == "":
		return fmt.Errorf("--repo %q names no host or no repository: %s", repository, exampleURL)
	case u.Scheme == "ssh" && u.User.Username() == "":
		return fmt.Errorf("--repo %q: write the user, as in ssh://git@%s%s", repository, u.Host, u.EscapedPath())
	}
	return nil
}

func isScheme(text string) bool { return text == "https" || text == "http" || text == "ssh" }
