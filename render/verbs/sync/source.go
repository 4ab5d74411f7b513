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

// complete checks the options of the source. It sets an empty path to rendered/NAME, below the folder of
// the repository, also for branches of render publish. Its error lists every invalid option.
func (o *Options) complete(ctx context.Context, repository *render.Repository, checkURL func(string) error) error {
	prefix := ""
	if work, err := git.Open(ctx, repository.Dir()); err == nil { // git may not know the folder yet
		prefix = work.Prefix()
	}
	rendered := path.Join(prefix, tree.Folder, o.Environment)
	environments := path.Join(prefix, tree.EnvironmentsFolder)
	var wrongPath error
	o.Path, wrongPath = cleanPath(cmp.Or(o.Path, rendered))
	if o.Path == environments || strings.HasPrefix(o.Path, environments+"/") {
		wrongPath = fmt.Errorf("--path %q is not the rendered folder of %s: omit it, or use %s", o.Path,
			o.Environment, rendered)
	}
	return errors.Join(checkURL(o.URL), git.CheckBranch(ctx, o.Branch), wrongPath)
}

// cleanPath returns the shortest form of a path in a branch.
func cleanPath(folder string) (string, error) {
	clean := path.Clean(folder)
	if !fs.ValidPath(clean) || strings.ContainsFunc(folder, isUnprintable) || strings.Contains(folder, `\`) {
		return "",
			fmt.Errorf("--path %q: specify a folder of the branch, relative to its top and with / between names",
				folder)
	}
	return clean, nil
}

func isUnprintable(r rune) bool { return !unicode.IsPrint(r) }

const exampleURL = "use a URL like https://github.com/acme/shop.git or ssh://git@github.com/acme/shop.git"

// scpForm matches the address of a repository in the form of scp: git@host:path.
var scpForm = regexp.MustCompile(
	`^(?:([A-Za-z0-9._-]+)@)?([A-Za-z0-9.-]{2,}|\[[0-9A-Fa-f:]+\]):/*([^/@\s\pC][^@\s\pC]*)$`)

// splitSCP returns the user, host and path of an address in the form of scp, or nil.
func splitSCP(repository string) []string {
	parts := scpForm.FindStringSubmatch(repository)
	if parts == nil || strings.Contains(repository, "://") || isScheme(strings.ToLower(parts[2])) {
		return nil
	}
	return parts[1:]
}

// checkArgoURL returns an error for a URL that Argo CD does not accept. It accepts git@host:path.
func checkArgoURL(repository string) error {
	if parts := splitSCP(repository); parts != nil && parts[0] != "" {
		return nil
	}
	return checkFluxURL(repository)
}

// checkFluxURL returns an error for a URL that Flux does not accept or a cluster cannot reach. The error
// contains no secrets.
func checkFluxURL(repository string) error {
	if parts := splitSCP(repository); parts != nil {
		return fmt.Errorf("--repo %q: use %q", repository, "ssh://"+cmp.Or(parts[0], "git")+"@"+parts[1]+"/"+parts[2])
	}
	u, err := url.Parse(repository)
	if err != nil || !isScheme(u.Scheme) || strings.ContainsFunc(repository, func(r rune) bool {
		return unicode.IsSpace(r) || isUnprintable(r)
	}) {
		return fmt.Errorf("--repo is not a URL that the cluster can reach: %s", exampleURL)
	}
	_, hasPassword := u.User.Password()
	switch {
	case hasPassword, u.User != nil && u.Scheme != "ssh":
		return errors.New("--repo has a user or a password, which everybody could read: remove it, and put it into " +
			"a Secret of the cluster")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("--repo has a query or fragment after ? or #: remove it; use --branch for a branch, and a " +
			"Secret of the cluster for a token")
	case !strings.HasPrefix(repository, u.Scheme+"://"):
		return fmt.Errorf("--repo %q: use %s:// in lower case, with two slashes", repository, u.Scheme)
	case u.Hostname() == "" || strings.Trim(u.Path, "/") == "":
		return fmt.Errorf("--repo %q has no host or no repository: %s", repository, exampleURL)
	case u.Scheme == "ssh" && u.User.Username() == "":
		return fmt.Errorf("--repo %q: add the user, like ssh://git@%s%s", repository, u.Host, u.EscapedPath())
	}
	return nil
}

func isScheme(text string) bool { return text == "https" || text == "http" || text == "ssh" }
