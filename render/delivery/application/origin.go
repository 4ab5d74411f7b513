package application

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/fetched"
)

// Origin tells whether a source is the tree: git, and the objects that sync the entry of an environment.
type Origin struct {
	// Own is the source of Flux that has the entry, if there is one.
	Own manifest.ID
	// URLs are the known URLs of the repository.
	URLs []string
	// Unknown is the reason why git does not tell, or nothing.
	Unknown string
	// IsOther reports whether git knows a name for another branch than the one under review, or for a tag. It may be
	// nil.
	IsOther func(revision string) bool
	// At returns the files of a revision that git has here, and its commit. It may be nil.
	At func(revision string) (files source.Revision, commit string, err error)
	// Argo returns the installation of Argo CD. It may be nil.
	Argo func() Installation
}

// The reasons why a source in git is not the tree.
const (
	ofOtherRepository = "its source is another repository"
	ofOtherRevision   = "its source is another revision"
)

// Fetchable are the reasons of sources that may be fetched.
var Fetchable = []string{ofOtherRepository, ofOtherRevision}

// IsOtherRepository reports whether a source is surely in another repository.
func (o Origin) IsOtherRepository(s Source) bool { return o.Elsewhere(s) == ofOtherRepository }

// OtherRevision returns the revision of a source that is this repository, but not the tree, or nothing.
func (o Origin) OtherRevision(s Source) string {
	if o.Elsewhere(s) == ofOtherRevision {
		return s.TargetRevision
	}
	return ""
}

// Elsewhere returns why a source in git is not the tree, or nothing if it is, or may be. Another URL with the same name
// of a repository may be a fork or a mirror.
func (o Origin) Elsewhere(s Source) string {
	own := place(s.RepoURL)
	isNamed := func(known string) bool { return path.Base(place(known)) == path.Base(own) }
	switch {
	case s.RepoURL == "" || strings.Contains(s.RepoURL, "{{"):
		return ""
	case strings.HasPrefix(s.RepoURL, "oci://"), len(o.URLs) > 0 && !slices.ContainsFunc(o.URLs, isNamed):
		return ofOtherRepository
	case o.Unknown != "":
		return "its source may be another one: " + o.Unknown
	case o.isOtherRevision(s.TargetRevision):
		return ofOtherRevision
	}
	return ""
}

// IsThis reports whether a URL is surely of the repository.
func (o Origin) IsThis(repository string) bool {
	return slices.ContainsFunc(o.URLs, func(known string) bool { return IsSame(known, repository) })
}

// Revision implements source.History.
func (o Origin) Revision(from fetched.Source) (files source.Revision, commit string) {
	if !from.IsGit || from.Version == "" || o.At == nil || !o.IsThis(from.Repository) {
		return nil, ""
	}
	files, commit, err := o.At(from.Version)
	if err != nil {
		return nil, ""
	}
	return files, commit
}

// IsSame reports whether two URLs are surely of one repository.
func IsSame(a, b string) bool { return place(a) == place(b) }

// fixed matches a revision of one commit or a range of versions, and is no branch: a commit, perhaps abbreviated, a
// tag with a version, and a constraint of versions.
var fixed = regexp.MustCompile(`^([0-9a-fA-F]{7,64}|refs/tags/.*|[<>=~^ ]*v?[0-9]+(\.([0-9]+|[xX*]))*([-+ ].*)?|\*)$`)

func (o Origin) isOtherRevision(revision string) bool {
	revision = strings.TrimPrefix(revision, "refs/heads/")
	if revision == "" || revision == "HEAD" || strings.Contains(revision, "{{") {
		return false
	}
	return fixed.MatchString(revision) || o.IsOther != nil && o.IsOther(revision)
}

// place returns the host and path of a repository: of any protocol, as one host serves several, and without a port of
// one. Beside that it is as NormalizeURL.
func place(repository string) string {
	normal := NormalizeURL(repository)
	if _, after, hasProtocol := strings.Cut(normal, "://"); hasProtocol {
		normal = after
	}
	user, after, hasUser := strings.Cut(normal, "@")
	if hasUser && !strings.Contains(user, "/") {
		normal = after
	}
	host, within, _ := strings.Cut(normal, "/")
	for _, port := range []string{":22", ":80", ":443"} {
		host = strings.TrimSuffix(host, port)
	}
	return host + "/" + strings.TrimSuffix(strings.Trim(within, "/"), ".git")
}

// sshURL matches a URL of ssh as in util/git/git.go of Argo CD.
var sshURL = regexp.MustCompile("^(ssh://)?([^/:]*?)@[^@]+$")

// NormalizeURL is NormalizeGitURL there.
func NormalizeURL(repository string) string {
	repository = strings.ToLower(strings.TrimSpace(repository))
	if sshURL.MatchString(repository) && !strings.HasPrefix(repository, "ssh://") {
		repository = "ssh://" + strings.Replace(repository, ":", "/", 1)
	}
	parsed, err := url.Parse(strings.TrimSuffix(repository, ".git"))
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(parsed.String(), "ssh://")
}
