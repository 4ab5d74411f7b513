package fetch

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.com/gatehouse/render/regular"
	"example.com/gatehouse/render/source/fetched"
	"example.com/gatehouse/render/watchdog"
)

// program runs git as the caller has it at the start: a build of kustomize takes PATH from the process.
type program struct {
	path    string
	environ []string
}

func findGit() program {
	found, _ := exec.LookPath("git") // running it without says so
	environ := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		isOfCaller := func(prefix string) bool { return strings.HasPrefix(variable, prefix) }
		return strings.HasPrefix(variable, "GIT_") && !slices.ContainsFunc(connecting, isOfCaller)
	})
	return program{found, environ}
}

// connecting are the variables of git by which a caller connects to a server. The others are about a repository.
var connecting = []string{"GIT_ASKPASS=", "GIT_CONFIG", "GIT_HTTP_PROXY_", "GIT_PROXY_", "GIT_SSH", "GIT_SSL_"}

// run runs git in a folder without a work tree: no hook, no filter, and no setting of a repository has a part in it.
// It uses the credentials of the caller.
func (p program) run(ctx context.Context, dir, protocol string, settings []string, args ...string) ([]byte, error) {
	if p.path == "" {
		return nil, errors.New("git is not in PATH: install git")
	}
	options := []string{"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c",
		"http.followRedirects=false", "-c", "fetch.fsckObjects=true", "-c", "gc.auto=0"}
	cmd := exec.CommandContext(ctx, p.path, slices.Concat(options, settings, args)...) //nolint:gosec // git
	cmd.Dir = dir
	cmd.Env = append(slices.Clone(p.environ), "LC_ALL=C.UTF-8", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL="+protocol,
		"GIT_CEILING_DIRECTORIES="+dir, "GIT_NO_REPLACE_OBJECTS=1", "GIT_LFS_SKIP_SMUDGE=1")
	if !slices.ContainsFunc(p.environ, func(v string) bool { return strings.HasPrefix(v, "GIT_SSH_COMMAND=") }) {
		cmd.Env = append(cmd.Env, "GIT_SSH_COMMAND=ssh -o BatchMode=yes")
	}
	watchdog.Lead(cmd)
	cmd.WaitDelay = 5 * time.Second
	var out, stderr limited
	cmd.Stdout = &out
	cmd.Stderr = &stderr
	err := cmd.Start()
	if err == nil {
		done := watchdog.Helper(cmd)
		err = cmd.Wait()
		done()
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, reason(context.Cause(ctx))
	case errors.As(err, &exit):
		said := strings.Join(strings.Fields(stderr.String()), " ")
		return nil, fmt.Errorf("git %s: %s", args[0], cmp.Or(said, exit.String()))
	}
	return out.Bytes(), err
}

// bound returns a context that ends once a folder has over maxBytes: git itself fetches any size.
func bound(ctx context.Context, dir string, maxBytes int64) (bounded context.Context, cancel func()) {
	bounded, end := context.WithCancelCause(ctx)
	go func() {
		for bounded.Err() == nil {
			size := int64(0)
			_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
				if err == nil {
					if info, err := d.Info(); err == nil {
						size += info.Size()
					}
				}
				return nil
			})
			if size > maxBytes {
				end(fmt.Errorf("the repository is over %d MiB", maxBytes>>20))
			}
			select {
			case <-bounded.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	return bounded, func() { end(nil) }
}

// limited is a buffer of a bounded size.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxUnpacked {
		return 0, fmt.Errorf("is over %d MiB", maxUnpacked>>20)
	}
	return l.Buffer.Write(p)
}

// addressOf returns the setting that keeps git at an address of a host that the trust allows.
func (f *Fetcher) addressOf(ctx context.Context, u *url.URL) (settings []string, err error) {
	host := hostPort(u)
	if request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+u.Host, nil); err == nil {
		if proxy, err := http.ProxyFromEnvironment(request); err == nil && proxy != nil && u.Scheme != "ssh" {
			address, err := netip.ParseAddr(u.Hostname())
			if err == nil {
				err = f.trust.checkAddress(host, address)
			} else {
				err = nil // the proxy resolves it
			}
			return nil, err
		}
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return nil, reason(err)
	}
	for _, address := range addresses {
		if err := f.trust.checkAddress(host, address); err != nil {
			return nil, err
		}
	}
	_, port, _ := net.SplitHostPort(host)
	return []string{"-c", fmt.Sprintf("http.curloptResolve=%s:%s:%s", u.Hostname(), port, addresses[0].Unmap())}, nil
}

var (
	wholeCommit = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	safeRef     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/+@-]*$`)
)

// getCommit returns the files of a git repository as an archive, and the commit.
func (f *Fetcher) getCommit(ctx context.Context, from fetched.Source, u *url.URL) ([]byte, string, error) {
	settings, err := f.addressOf(ctx, u)
	if err != nil {
		return nil, "", err
	}
	dir, err := os.MkdirTemp(f.cache.dir, "git-")
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := bound(ctx, dir, maxFetched)
	defer cancel()
	run := func(args ...string) ([]byte, error) {
		return f.git.run(ctx, dir, u.Scheme, settings, args...)
	}
	if _, err := run("init", "--quiet", "--bare", "--template=", "."); err != nil {
		return nil, "", err
	}
	var ref string
	commit := from.Version
	if !wholeCommit.MatchString(commit) {
		out, err := run("ls-remote", "--quiet", "--", u.String())
		if err == nil {
			ref, commit, err = chooseRef(string(out), from)
		}
		if err != nil {
			return nil, "", err
		}
	}
	if content := f.knownCommit(from, commit); content != nil {
		return content, commit, nil
	}
	_, err = run("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", u.String(),
		cmp.Or(ref, commit))
	if err != nil { // a server without shallow clones, or without fetches of a commit
		_, err = run("fetch", "--quiet", "--no-recurse-submodules", "--", u.String(), "+refs/heads/*:refs/heads/*",
			"+refs/tags/*:refs/tags/*")
	}
	if err != nil {
		return nil, "", err
	}
	// The tree has no say in what its archive has.
	if err := os.MkdirAll(filepath.Join(dir, "info"), 0o700); err != nil {
		return nil, "", err
	}
	attributes := []byte("* -export-ignore -export-subst\n")
	if err := os.WriteFile(filepath.Join(dir, "info/attributes"), attributes, 0o600); err != nil {
		return nil, "", err
	}
	content, err := run("archive", "--format=tar", commit)
	return content, commit, err
}

// knownCommit returns the archive of a commit in the cache.
func (f *Fetcher) knownCommit(from fetched.Source, commit string) []byte {
	k := f.cache.find(fetched.Source{Repository: from.Repository, Version: commit, IsGit: true})
	_, content := f.cache.archive(k.Digest)
	return content
}

// chooseRef returns the reference that a source means, and its commit, in the output of ls-remote.
func chooseRef(out string, from fetched.Source) (ref, commit string, err error) {
	commits := map[string]string{}
	var tags []string
	for line := range strings.Lines(out) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		commits[strings.TrimSuffix(name, "^{}")] = id // the commit of a tag comes after the tag
		if tag, isTag := strings.CutPrefix(name, "refs/tags/"); isTag && !strings.HasSuffix(name, "^{}") {
			tags = append(tags, tag)
		}
	}
	names := []string{from.Version, "refs/heads/" + from.Version, "refs/tags/" + from.Version}
	switch {
	case from.Range != "":
		tag, err := choose(tags, from.Range)
		if err != nil {
			return "", "", fmt.Errorf("%s has %w", from.Repository, err)
		}
		names = []string{"refs/tags/" + tag}
	case from.Version == "":
		names = []string{"HEAD"}
	case !safeRef.MatchString(from.Version):
		return "", "", fmt.Errorf("%q is no branch, tag or commit", from.Version)
	}
	for _, name := range names {
		if id := commits[name]; wholeCommit.MatchString(id) {
			return name, id, nil
		}
	}
	return "", "", fmt.Errorf("%s has no branch or tag %s", from.Repository, from.Version)
}

// Bounds of the files of an artifact or a commit.
const (
	maxFiles    = 50_000
	maxUnpacked = 512 << 20
	maxFetched  = 1 << 30 // by git, before it is unpacked
)

// unpack writes the files of an archive to a folder, without links out of it, devices and files of git. It returns
// their size.
func unpack(to *os.Root, content []byte) (size int64, err error) {
	var from io.Reader = bytes.NewReader(content)
	if bytes.HasPrefix(content, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(from)
		if err != nil {
			return 0, err
		}
		from = unzipped
	}
	archive := tar.NewReader(io.LimitReader(from, maxUnpacked+1))
	links := map[string]string{} // made last, so that no file is written through one
	for count := 0; ; count++ {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return size, makeLinks(to, links)
		}
		if err != nil {
			return size, err
		}
		if size += header.Size; count > maxFiles || size > maxUnpacked {
			return size, fmt.Errorf("is over %d files or %d MiB", maxFiles, maxUnpacked>>20)
		}
		name := path.Clean(header.Name)
		if !fs.ValidPath(name) || slices.ContainsFunc(strings.Split(name, "/"), regular.IsGit) {
			continue
		}
		switch header.Typeflag { // folders come with their files
		case tar.TypeSymlink:
			links[name] = header.Linkname
		case tar.TypeReg:
			if err := unpackFile(to, name, archive); err != nil {
				return size, err
			}
		}
	}
}

// makeLinks makes the links that stay in a folder. A link below another link does not stay.
func makeLinks(to *os.Root, links map[string]string) error {
	made := map[string]bool{}
	for name, target := range links {
		isBelow := false
		for above := path.Dir(name); above != "."; above = path.Dir(above) {
			isBelow = isBelow || links[above] != ""
		}
		if isBelow || path.IsAbs(target) || !fs.ValidPath(path.Join(path.Dir(name), target)) {
			continue
		}
		if err := to.MkdirAll(path.Dir(name), 0o700); err != nil {
			return err
		}
		if err := to.Symlink(target, name); err != nil {
			return err
		}
		made[name] = true
	}
	for name := range made { // by another link, it may lead elsewhere than it seems
		if _, err := to.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			if err := to.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

func unpackFile(to *os.Root, name string, content io.Reader) error {
	if err := to.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := to.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
