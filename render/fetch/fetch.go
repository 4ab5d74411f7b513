// Package fetch gets charts, artifacts and git repositories that the deliveries of a tree name and the tree does not
// have. It is the only package of rendering that uses the network, and its Trust names the hosts that it asks.
package fetch

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"
	"oras.land/oras-go/v2/registry/remote/auth"

	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/fetched"
	"example.com/gatehouse/render/watchdog"
)

// Fetcher gets the sources of one run, each once. Its file system is the cache. It may be used concurrently.
type Fetcher struct {
	source.Revision
	// Progress is called with each step.
	Progress func(step string)

	ctx    context.Context //nolint:containedctx // it fetches where a file system is read
	end    context.CancelFunc
	trust  *Trust
	times  times
	client *http.Client
	tokens auth.Cache
	logins *logins
	git    program
	cache  *cache
	files  *os.Root
	once   memo.Memo
	slots  chan struct{}

	mu     sync.Mutex
	all    []fetched.Files
	failed []Failure
}

// Failure is a source that was not fetched.
type Failure struct {
	fetched.Source
	Error string `json:"error"`
}

// CacheFolder returns the folder of the cache.
func CacheFolder() (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "gatehouse"), err
}

// New returns a fetcher with a cache in a folder. Its requests go by way of base; nil for a usual transport.
func New(ctx context.Context, dir string, trust *Trust, base *http.Transport) (*Fetcher, error) {
	return newFetcher(ctx, dir, trust, base, usual)
}

func newFetcher(ctx context.Context, dir string, trust *Trust, base *http.Transport, within times) (*Fetcher, error) {
	c, err := openCache(dir)
	if err != nil {
		return nil, err
	}
	hosts := map[string]bool{}
	if trust.Base != nil {
		hosts = trust.Base.registries
	}
	if base == nil {
		base = &http.Transport{ForceAttemptHTTP2: true}
	}
	files, err := c.root.OpenRoot("files")
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithTimeout(ctx, within.all)
	return &Fetcher{Revision: source.Disk(files, files.Name()), Progress: func(string) {}, ctx: ctx,
		end: end, trust: trust, times: within, client: newClient(trust, base, within.wait), tokens: auth.NewCache(),
		git: findGit(), cache: c, files: files,
		logins: readLogins(ctx, hosts), slots: make(chan struct{}, atATime)}, nil
}

// Close ends the fetching, and cleans the cache.
func (f *Fetcher) Close() {
	f.end()
	f.client.CloseIdleConnections()
	f.cache.cleanDaily()
	_ = f.files.Close()
	_ = f.cache.root.Close()
}

// Failures returns the sources that were not fetched.
func (f *Fetcher) Failures() []Failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	failed := append([]Failure{}, f.failed...)
	slices.SortFunc(failed, func(a, b Failure) int { return compare(a.Source, b.Source) })
	return failed
}

func compare(a, b fetched.Source) int {
	return cmp.Or(cmp.Compare(a.Repository, b.Repository), cmp.Compare(a.Chart, b.Chart),
		cmp.Compare(a.Version, b.Version), cmp.Compare(a.Range, b.Range), cmp.Compare(a.Archive, b.Archive),
		cmp.Compare(a.Manifest, b.Manifest))
}

// All returns all that the run has fetched or found in the cache.
func (f *Fetcher) All() []fetched.Files {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := append([]fetched.Files{}, f.all...)
	slices.SortFunc(all, func(a, b fetched.Files) int { return compare(a.Source, b.Source) })
	return all
}

type result struct {
	files fetched.Files
	err   error
}

// Fetch implements fetched.Fetcher.
func (f *Fetcher) Fetch(from fetched.Source) (fetched.Files, error) {
	r := memo.Get(&f.once, from, func() (r result) {
		if from.IsBase {
			r.files, r.err = f.fetchEntry(from)
		} else {
			r.files, r.err = f.fetchOnce(from)
		}
		if r.err != nil {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.failed = append(f.failed, Failure{from, r.err.Error()})
		}
		return r
	})
	return r.files, r.err
}

// fetchOnce is fetch, once in a run: several bases may be in one repository.
func (f *Fetcher) fetchOnce(from fetched.Source) (fetched.Files, error) {
	type key fetched.Source
	r := memo.Get(&f.once, key(from), func() (r result) {
		r.files, r.err = f.fetch(from)
		return r
	})
	return r.files, r.err
}

// word matches the name of a chart and its version: they become the name of a file.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)

// locate returns the URL of a source that may be fetched.
func (f *Fetcher) locate(from fetched.Source) (*url.URL, error) {
	u, err := parse(from.Repository)
	if err != nil {
		return nil, err
	}
	if err := f.trust.check(from, u); err != nil { // also of what the cache has
		return nil, err
	}
	if err := checkScheme(from, u.Scheme); err != nil {
		return nil, err
	}
	_, hasPassword := u.User.Password()
	switch {
	case from.Chart != "" && !word.MatchString(from.Chart):
		return nil, fmt.Errorf("%q is no name of a chart", from.Chart)
	case hasPassword, u.User != nil && u.Scheme != "ssh":
		return nil, fmt.Errorf("%s has a password or a user: remove it, and log in by helm or git", u.Redacted())
	}
	return u, nil
}

// checkScheme returns an error for a protocol that does not serve a source.
func checkScheme(from fetched.Source, scheme string) error {
	isHTTP := scheme == "https" || scheme == "http"
	switch {
	case from.IsGit && !isHTTP && scheme != "ssh":
		return fmt.Errorf("%s is no URL of git: write https:// or ssh://", from.Repository)
	case from.IsFile && !isHTTP:
		return fmt.Errorf("%s is no URL of a file: write https://", from.Repository)
	case !from.IsGit && !from.IsFile && scheme != ociScheme && (!isHTTP || from.Chart == ""):
		return fmt.Errorf("%s is no URL of charts: write https:// or oci://", from.Repository)
	}
	return nil
}

func (f *Fetcher) fetch(from fetched.Source) (files fetched.Files, err error) {
	u, err := f.locate(from)
	if err != nil {
		return files, err
	}
	if found, name := f.inCache(from); name != "" {
		return f.add(from, found, name), nil
	}
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-f.ctx.Done():
		return files, fmt.Errorf("fetching took longer than %s", f.times.all)
	}
	f.Progress("fetching " + from.String())
	isOCI := u.Scheme == ociScheme
	to := trip{hostPort(u), isOCI || f.trust.isNamed(from.Repository)}
	ctx, cancel := context.WithTimeout(context.WithValue(f.ctx, tripKey{}, to), f.times.one)
	defer cancel()
	var content []byte
	var resolved string
	switch {
	case from.IsGit:
		content, resolved, err = f.getCommit(ctx, from, u)
	case from.IsFile:
		content, err = f.getFile(ctx, from, u)
	case isOCI:
		content, resolved, err = f.getLayer(ctx, from)
	default:
		content, resolved, err = f.getChart(ctx, from)
	}
	switch {
	case err != nil:
		return files, err
	case from.IsFile:
		return f.keepFile(from, content, nameOfFile(u.Path))
	case from.Chart == "":
		return f.keepTree(from, content, resolved)
	}
	return f.keep(from, content, resolved)
}

// keepTree adds the files of an archive to the cache.
func (f *Fetcher) keepTree(from fetched.Source, content []byte, resolved string) (files fetched.Files, err error) {
	found := known{resolved, digestOf(content)}
	name := treeName(from)
	if err = f.cache.keep(archiveFile, content); err == nil {
		err = f.cache.keepTree(found.Digest, name, content)
	}
	fixed := from
	if from.IsGit { // a branch of the next run may be at the same commit
		fixed = fetched.Source{Repository: from.Repository, Version: resolved, IsGit: true}
	}
	if err = f.remember(fixed, found, err); err != nil {
		return files, err
	}
	watchdog.Read("fetched "+found.Digest, len(content))
	return f.add(from, found, name), nil
}

// remember keeps the digest of a source that never moves, unless its content was not kept.
func (f *Fetcher) remember(from fetched.Source, found known, err error) error {
	if err == nil && isFixed(from) {
		err = f.cache.remember(from, found)
	}
	if err != nil {
		return fmt.Errorf("write to the cache: %w", err)
	}
	return nil
}

// archiveFile is the archive of a tree in the cache.
const archiveFile = "archive.tar"

// treeName returns the name of the folder of a tree: of its repository, as messages have it.
func treeName(from fetched.Source) string {
	return nameOfFile(strings.TrimSuffix(strings.TrimRight(from.Repository, "/"), ".git"))
}

// nameOfFile returns the last name of a path, or "files" if that is no name for the cache.
func nameOfFile(at string) string {
	name := path.Base(at)
	if !word.MatchString(name) || name == archiveFile {
		return "files"
	}
	return name
}

// keep adds an archive of a chart to the cache.
func (f *Fetcher) keep(from fetched.Source, content []byte, resolved string) (files fetched.Files, err error) {
	if is := digestOf(content); from.Archive != "" && from.Archive != is {
		return files, fmt.Errorf("has the digest %s, and charts.lock has %s: if the chart may change, remove its line",
			is, from.Archive)
	}
	name, version, err := readChart(content)
	wants := isExact(resolved) && from.Manifest == "" // a tag may have another form
	isOther := wants && strings.TrimPrefix(version, "v") != strings.TrimPrefix(resolved, "v")
	if err == nil && (name != from.Chart || isOther) {
		err = fmt.Errorf("is chart %s %s, and not %s %s", name, version, from.Chart, resolved)
	}
	if err != nil {
		return files, err
	}
	if !word.MatchString(version) {
		return files, fmt.Errorf("%q is no version", version)
	}
	name += "-" + version + ".tgz"
	found := known{version, digestOf(content)}
	if err := f.remember(from, found, f.cache.keep(name, content)); err != nil {
		return files, err
	}
	watchdog.Read("fetched "+found.Digest, len(content))
	return f.add(from, found, name), nil
}

// isExact reports whether a version is one version, and no range.
func isExact(version string) bool {
	_, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v"))
	return err == nil
}

// isFixed reports whether a source never moves.
func isFixed(from fetched.Source) bool {
	if from.IsGit {
		return wholeCommit.MatchString(from.Version)
	}
	if from.Chart == "" {
		return from.Manifest != ""
	}
	return from.Archive != "" || from.Manifest != "" || from.Range == "" && from.Filter == "" && isExact(from.Version)
}

// inCache returns the archive of a source that never moves.
func (f *Fetcher) inCache(from fetched.Source) (found known, name string) {
	if !isFixed(from) {
		return found, ""
	}
	found = f.cache.find(from)
	if from.Archive != "" {
		found.Digest = from.Archive
	}
	if found.Digest == "" {
		return found, ""
	}
	name, content := f.cache.archive(found.Digest)
	if from.Chart == "" {
		if content == nil || f.cache.keepTree(found.Digest, treeName(from), content) != nil {
			return found, ""
		}
		return found, treeName(from)
	}
	version, isChart := strings.CutPrefix(name, from.Chart+"-")
	if !isChart {
		return found, ""
	}
	found.Resolved = strings.TrimSuffix(version, ".tgz")
	return found, name
}

// add adds files to the run.
func (f *Fetcher) add(from fetched.Source, found known, name string) fetched.Files {
	files := fetched.Files{Source: from, Resolved: found.Resolved, Digest: found.Digest,
		Path: path.Join("/", fetched.Folder, folderOf(found.Digest), name)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, files)
	return files
}
