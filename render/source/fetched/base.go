package fetched

import (
	"cmp"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Base is a folder in a git repository that an entry of a kustomization names.
type Base struct {
	Source
	// Folder is its path in the repository.
	Folder string
	// HasSubmodules reports whether kustomize fetches the submodules of the repository, too.
	HasSubmodules bool
}

var (
	gitUser = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*@`)
	gitHub  = regexp.MustCompile(`(?i)^github\.com[/:]`)
)

// BaseOf returns the base that an entry names, if kustomize takes it for one: see NewRepoSpecFromURL in
// api/internal/git/repospec.go. The repository ends before _git/NAME/, //, after .git or, without these, after two
// names.
func BaseOf(entry string) (base Base, is bool) {
	entry, query, _ := strings.Cut(entry, "?")
	host, within := splitHost(entry)
	repository, folder := splitBase(within)
	folder = path.Clean(strings.TrimPrefix(folder, "/"))
	if host == "" || repository == "" || folder == ".." || strings.HasPrefix(folder, "../") {
		return base, false
	}
	base = Base{Source{Repository: host + "/" + repository, IsGit: true}, folder, true}
	values, err := url.ParseQuery(query)
	if err != nil { // kustomize takes the defaults
		return base, true
	}
	base.Version = cmp.Or(values.Get("ref"), values.Get("version"))
	has, err := strconv.ParseBool(values.Get("submodules"))
	base.HasSubmodules = err != nil || has
	return base, true
}

// splitHost splits an entry into the scheme, user and host, empty if it has none, and the path.
func splitHost(entry string) (host, within string) {
	entry, _ = cutFold(entry, "git::")
	scheme := ""
	for _, known := range []string{"ssh://", "https://", "http://"} {
		if rest, is := cutFold(entry, known); is {
			scheme = known
			entry = rest
			break
		}
	}
	user := gitUser.FindString(entry)
	entry = entry[len(user):]
	isOfGitHub := gitHub.MatchString(entry)
	separators := "/"
	if scheme == "" { // as ssh has it: user@host:path
		separators = "/:"
	}
	end := strings.IndexAny(entry, separators)
	if end <= 0 || scheme == "" && user == "" && !isOfGitHub {
		return "", ""
	}
	host = entry[:end]
	if isOfGitHub {
		host = "github.com"
	}
	switch {
	case isOfGitHub && scheme != "ssh://" && user == "":
		scheme = "https://"
	case isOfGitHub, scheme == "":
		scheme = "ssh://"
	}
	return scheme + user + host, entry[end+1:]
}

// splitBase splits a path into the path of a repository, empty without one, and the path of a folder in it.
func splitBase(name string) (repository, folder string) {
	const ofAzure = "_git/"
	if before, after, is := strings.Cut(name, ofAzure); is {
		repository, folder, _ = strings.Cut(after, "/")
		return before + ofAzure + repository, folder
	}
	if before, after, is := strings.Cut(name, "//"); is {
		return before, after
	}
	if before, after, is := strings.Cut(name, ".git"); is {
		return before + ".git", after
	}
	names := strings.SplitN(name, "/", 3)
	if len(names) < 2 {
		return "", ""
	}
	return names[0] + "/" + names[1], strings.Join(names[2:], "")
}

// cutFold is strings.CutPrefix for letters of any case.
func cutFold(text, prefix string) (rest string, is bool) {
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return text, false
	}
	return text[len(prefix):], true
}
