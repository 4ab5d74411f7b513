package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/gatehouse/render/source/fetched"
)

// recorder serves a handler and records the requests with credentials.
type recorder struct {
	*httptest.Server
	host string

	mu   sync.Mutex
	seen []string
}

func record(t *testing.T, serve http.HandlerFunc) *recorder {
	r := &recorder{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.mu.Lock()
		r.seen = append(r.seen, strings.TrimSpace(request.URL.Path+" "+request.Header.Get("Authorization")))
		r.mu.Unlock()
		serve(w, request)
	}))
	r.host = strings.TrimPrefix(r.URL, "http://")
	t.Cleanup(r.Close)
	return r
}

func (r *recorder) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}

// loginTo writes credentials of the caller for a repository of charts and a registry.
func loginTo(t *testing.T, s *recorder) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("DOCKER_CONFIG", home)
	t.Setenv("HELM_REPOSITORY_CONFIG", filepath.Join(home, "repositories.yaml"))
	for name, content := range map[string]string{
		"repositories.yaml": fmt.Sprintf("repositories:\n- {name: own, url: %q, username: me, password: secret}\n", s.URL+"/charts"),
		"config.json":       fmt.Sprintf(`{"auths": {%q: {"auth": "bWU6c2VjcmV0"}}}`, s.host),
	} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A server that the base names may be led, or lead, astray. net/http counts the ports of a host as one server.
func TestServersGetNoCredentialsOfOthers(t *testing.T) {
	var other *recorder
	other = record(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/again/") {
			http.Redirect(w, r, other.URL+"/again"+r.URL.Path, http.StatusFound)
			return
		}
		http.NotFound(w, r)
	})
	own := record(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
	})
	loginTo(t, own)
	trust := &Trust{Base: named(own.URL+"/charts", other.URL, "oci://"+own.host, "oci://"+other.host)}
	for _, from := range []fetched.Source{
		{Repository: own.URL + "/charts", Chart: "web", Version: "1.0.0"},
		{Repository: "oci://" + own.host + "/team", Chart: "web", Version: "1.0.0", IsPlain: true},
	} {
		if _, err := fetcherFor(t, t.TempDir(), trust).Fetch(from); err == nil {
			t.Errorf("%s is fetched", from)
		}
		asked := other.requests()
		if !slices.ContainsFunc(asked, func(r string) bool { return strings.HasPrefix(r, "/again/") }) {
			t.Errorf("%s: asked %v", from, asked)
		}
		for _, request := range asked {
			if strings.Contains(request, " ") {
				t.Errorf("%s: sent %s", from, request)
			}
		}
	}
}

// A registry names the server of its tokens, and the next page of its tags.
func TestRegistriesLeadToNoServerInside(t *testing.T) {
	inside := record(t, http.NotFound)
	var answer func(http.ResponseWriter, *http.Request)
	own := record(t, func(w http.ResponseWriter, r *http.Request) { answer(w, r) })
	loginTo(t, own)
	trust := &Trust{Base: named("oci://" + own.host)}
	realm := func(url string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q,service=\"x\"", url))
			w.WriteHeader(http.StatusUnauthorized)
		}
	}
	pages := 0
	for name, test := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		wants  string
	}{
		"tokens by HTTP":      {realm(inside.URL + "/token"), "speaks HTTP"},
		"tokens inside":       {realm("https://" + inside.host + "/token"), "not public"},
		"tokens of the cloud": {realm("https://169.254.169.254/token"), "169.254.169.254"},
		"tokens of a file":    {realm("file:///etc/passwd"), "scheme"},
		"a page inside": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "<https://"+inside.host+"/v2/team/web/tags/list>; rel=next")
			_, _ = io.WriteString(w, `{"tags": []}`)
		}, "not the same origin"},
		"a page by HTTP": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "<"+inside.URL+"/v2/team/web/tags/list>; rel=next")
			_, _ = io.WriteString(w, `{"tags": []}`)
		}, "not the same origin"},
		"endless pages": {func(w http.ResponseWriter, _ *http.Request) {
			pages++
			w.Header().Set("Link", fmt.Sprintf("</v2/team/web/tags/list?last=%d>; rel=next", pages))
			_, _ = io.WriteString(w, `{"tags": ["`+strings.Repeat(`a","`, 10_000)+`"]}`)
		}, "more than 50000 tags"},
	} {
		t.Run(name, func(t *testing.T) {
			answer = test.answer
			from := fetched.Source{Repository: "oci://" + own.host + "/team", Chart: "web", Range: "1.x", IsPlain: true}
			_, err := fetcherFor(t, t.TempDir(), trust).Fetch(from)
			if err == nil || !strings.Contains(err.Error(), test.wants) {
				t.Errorf("%v, want %s", err, test.wants)
			}
			if asked := inside.requests(); len(asked) > 0 {
				t.Errorf("asked %v", asked)
			}
		})
	}
}

func TestAddressesInside(t *testing.T) {
	for _, address := range []string{"127.0.0.1", "::1", "::ffff:127.0.0.1", "::127.0.0.1", "0.0.0.0", "::", "10.0.0.1", "172.16.0.1",
		"192.168.0.1", "169.254.169.254", "fe80::1", "fe80::1%eth0", "fd00::1", "fec0::1", "100.64.0.1", "224.0.0.1", "ff02::1",
		"255.255.255.255", "64:ff9b::7f00:1", "2002:7f00:1::", "198.18.0.1"} {
		if isPublic(netip.MustParseAddr(address)) {
			t.Errorf("%s is public", address)
		}
	}
	for _, address := range []string{"1.1.1.1", "2606:4700::1111", "172.32.0.1", "::ffff:1.1.1.1"} {
		if !isPublic(netip.MustParseAddr(address)) {
			t.Errorf("%s is not public", address)
		}
	}
}

// A host that looks like a host of the base is another host.
func TestHostsThatLookLikeAnother(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	s := record(t, http.NotFound)
	f := fetcherFor(t, t.TempDir(), &Trust{Base: named("https://charts.example.com/a", "oci://charts.example.com")})
	for _, repository := range []string{
		"https://charts.example.com@" + s.host + "/a", "https://charts.example.com:x@" + s.host, "https://" + s.host + "/charts.example.com",
		"https://" + s.host + "#@charts.example.com", "https://" + s.host + `\@charts.example.com/a`, "https://" + s.host + "?charts.example.com",
		"https://charts.example.com.evil.example", "https://charts%2eexample.com", "https://charts.example.com:8443", "http://charts.example.com",
		"oci://charts.example.com@" + s.host + "/a", "OCI://" + s.host + "/a", "oci:" + s.host, "git::https://" + s.host, "//" + s.host,
		"charts.example.com@" + s.host + ":a", "https://ｃharts.example.com", "https://[::ffff:127.0.0.1]:443/", "https://2130706433/", "https://0x7f.1/",
		"https://charts.example.com\n." + s.host, "javascript:alert(1)", "file:///etc/passwd", "-oProxyCommand=true",
	} {
		for _, from := range []fetched.Source{{Repository: repository, Chart: "web", Version: "1.0.0"}, {Repository: repository, IsGit: true},
			{Repository: repository}, {Repository: repository, IsFile: true}, {Repository: repository, IsFile: true, IsBase: true}} {
			if _, err := f.Fetch(from); err == nil || strings.Contains(err.Error(), "dial") {
				t.Errorf("%q: %v", repository, err)
			}
		}
	}
	if asked := s.requests(); len(asked) > 0 {
		t.Errorf("asked %v", asked)
	}
}

// zipped returns a tar archive of files of zeros, by name with their sizes.
func zipped(t *testing.T, names []string, size int64) []byte {
	t.Helper()
	var content bytes.Buffer
	z := gzip.NewWriter(&content)
	w := tar.NewWriter(z)
	zeros := make([]byte, 1<<20)
	for _, name := range names {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size})
		for left := size; err == nil && left > 0; left -= min(left, 1<<20) {
			_, err = w.Write(zeros[:min(left, 1<<20)])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return content.Bytes()
}

func TestArchivesAreBounded(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	s := serve(t)
	var many []string
	for n := range maxFiles + 2 {
		many = append(many, fmt.Sprint(".git/", n)) // no file is written
	}
	s.charts = map[string][]byte{"large": zipped(t, []string{"web/Chart.yaml"}, 200<<20), "larger": zipped(t, []string{"a"}, maxUnpacked+1),
		"many": zipped(t, many, 0), "broken": []byte("\x1f\x8bx")}
	for name, test := range map[string]struct{ chart, wants string }{
		"large": {"web", "is no chart"}, "larger": {"", "is over"}, "many": {"", "is over"}, "broken": {"", "EOF"},
	} {
		cache := t.TempDir()
		f := fetcherFor(t, cache, &Trust{Base: named("oci://" + s.host)})
		repository := "oci://" + s.host + "/team/web"
		if test.chart != "" {
			repository = "oci://" + s.host + "/team"
		}
		_, err := f.Fetch(fetched.Source{Repository: repository, Chart: test.chart, Version: name, IsPlain: true})
		if err == nil || !strings.Contains(err.Error(), test.wants) {
			t.Errorf("%s: %v, want %s", name, err, test.wants)
		}
		_ = filepath.WalkDir(cache, func(name string, d fs.DirEntry, _ error) error {
			if !d.IsDir() && filepath.Base(name) != archiveFile {
				t.Errorf("the cache has %s", name)
			}
			return nil
		})
	}
}

// Many small archives of many zeros would fill the disk.
func TestARunUnpacksNoMore(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	s := serve(t)
	s.charts = map[string][]byte{"a": zipped(t, []string{"a"}, 1), "b": zipped(t, []string{"b"}, 1)}
	f := fetcherFor(t, t.TempDir(), &Trust{Base: named("oci://" + s.host)})
	fetch := func(version string) error {
		_, err := f.Fetch(fetched.Source{Repository: "oci://" + s.host + "/team/web", Version: version, IsPlain: true})
		return err
	}
	if err := fetch("a"); err != nil || f.cache.unpacked.Load() != 1 {
		t.Errorf("%v, unpacked %d", err, f.cache.unpacked.Load())
	}
	f.cache.unpacked.Store(maxAnswers + 1)
	if err := fetch("b"); err == nil || !strings.Contains(err.Error(), "are unpacked in a run") {
		t.Error(err)
	}
}

func TestGitFetchesNoMoreThanABound(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := bound(t.Context(), dir, 10)
	defer cancel()
	if err := os.WriteFile(filepath.Join(dir, "pack"), make([]byte, 11), 0o600); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if err := context.Cause(ctx); !strings.Contains(err.Error(), "the repository is over") {
		t.Error(err)
	}
	other, end := bound(t.Context(), t.TempDir(), 10)
	end()
	if <-other.Done(); !errors.Is(context.Cause(other), context.Canceled) {
		t.Error(context.Cause(other))
	}
}

// A repository that is trusted by its host may have anything in it, and its server may answer anything.
func TestGitTakesNothingButFiles(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	other := record(t, http.NotFound)
	dir := t.TempDir()
	marker := filepath.Join(dir, "ran")
	sh(t, dir, fmt.Sprintf(`git init -q -b main apps; cd apps
		git config filter.x.smudge 'touch %[1]s'; printf 'touch %[1]s' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout
		echo '* filter=x diff=x merge=x export-subst' > .gitattributes; echo '$Format:%%H$' > a.yaml
		printf '[submodule "s"]\n\tpath = s\n\turl = %[2]s/s.git\n' > .gitmodules
		printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%[3]s\nsize 3\n' > large
		printf '[lfs]\n\turl = %[2]s/lfs\n\tfetchinclude = *\n' > .lfsconfig
		git add -A; git update-index --add --cacheinfo 160000,%[4]s,s; git commit -qm 1`,
		marker, other.URL, strings.Repeat("0", 64), strings.Repeat("1", 40)))
	// The tree of the change has a repository around it, with settings that no command of ours reads.
	tree := t.TempDir()
	sh(t, tree, fmt.Sprintf(`git init -q; git config core.sshCommand 'touch %[1]s'; git config core.fsmonitor 'touch %[1]s'
		git config url.%[2]s/.insteadOf http://; git config credential.helper '!touch %[1]s'
		git config http.proxy %[2]s; git config core.gitProxy 'touch %[1]s'; git config core.alternateRefsCommand 'touch %[1]s'`,
		marker, other.URL))
	t.Chdir(tree)
	repository := serveGit(t, dir) + "/apps/.git"
	f := fetcherFor(t, t.TempDir(), &Trust{Base: named(repository)})
	files, err := f.Fetch(fetched.Source{Repository: repository, IsGit: true})
	if err != nil {
		t.Fatal(err)
	}
	within := strings.TrimPrefix(files.Path, "/"+fetched.Folder+"/")
	content, err := f.ReadFile(within + "/a.yaml")
	if err != nil || string(content) != "$Format:%H$\n" {
		t.Errorf("a.yaml has %q, %v", content, err)
	}
	if content, err := f.ReadFile(within + "/large"); err != nil || !strings.HasPrefix(string(content), "version https://git-lfs") {
		t.Errorf("large has %q, %v", content, err)
	}
	if entries, _ := f.ReadDir(within + "/s"); len(entries) > 0 {
		t.Errorf("the submodule has %v", namesOf(entries))
	}
	if _, err := os.Lstat(marker); err == nil {
		t.Error("a program ran")
	}
	if asked := other.requests(); len(asked) > 0 {
		t.Errorf("asked %v", asked)
	}
}

// A server of git as files may name other servers for its objects.
func TestGitAsksNoAlternateServer(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	sh(t, dir, `git init -q -b main apps; cd apps; echo x > x; git add .; git commit -qm 1; git update-server-info; mv .git/objects elsewhere; mkdir -p .git/objects/info`)
	other := record(t, http.NotFound)
	for _, name := range []string{"http-alternates", "alternates"} {
		if err := os.WriteFile(filepath.Join(dir, "apps/.git/objects/info", name), []byte(other.URL+"/objects\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	own := record(t, http.FileServer(http.Dir(dir)).ServeHTTP)
	repository := own.URL + "/apps/.git"
	for _, trust := range []*Trust{{Base: named(repository)}, {Base: named(repository, other.URL)}} {
		if _, err := fetcherFor(t, t.TempDir(), trust).Fetch(fetched.Source{Repository: repository, IsGit: true}); err == nil {
			t.Error("a repository without objects is fetched")
		}
		if asked := own.requests(); !slices.Contains(asked, "/apps/.git/objects/info/http-alternates") {
			t.Errorf("asked %v", asked)
		}
		if asked := other.requests(); len(asked) > 0 {
			t.Errorf("asked %v", asked)
		}
	}
}

// The manifest of an artifact names its layers, and nothing else than their digests counts.
func TestManifestsLeadNowhere(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	other := record(t, http.NotFound)
	layer := archive(t, "web", "1.0.0", "")
	digest := digestOf(layer)
	manifest := ""
	own := record(t, func(w http.ResponseWriter, r *http.Request) {
		switch dir, base := filepath.Split(r.URL.Path); {
		case strings.HasSuffix(dir, "/manifests/"):
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			_, _ = io.WriteString(w, manifest)
		case base == digestOf([]byte("other")):
			_, _ = w.Write(layer)
		case base == digest:
			_, _ = io.WriteString(w, "other content")
		default:
			http.NotFound(w, r)
		}
	})
	of := func(digest string, size int, more string) string {
		return fmt.Sprintf(`{"layers": [{"digest": %q, "size": %d%s}]}`, digest, size, more)
	}
	for name, test := range map[string]struct{ manifest, digest, wants string }{
		"a foreign layer": {of("sha256:"+strings.Repeat("2", 64), 3, fmt.Sprintf(`, "urls": [%q], "mediaType":
			"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"`, other.URL+"/layer")), "", "not found"},
		"a layer of another digest":    {of(digestOf([]byte("other")), len(layer), ""), "", "mismatch"},
		"a layer of another content":   {of(digest, len(layer), ""), "", ""},
		"a digest that is none":        {of("sha256:../../../../etc/passwd", 3, ""), "", ""},
		"a digest of another function": {of("md5:d41d8cd98f00b204e9800998ecf8427e", 0, ""), "", ""},
		"a size below zero":            {of(digest, -1, ""), "", "is over"},
		"a size beyond the bound":      {of(digest, maxAnswer+1, ""), "", "is over"},
		"a list of manifests": {fmt.Sprintf(`{"manifests": [{"digest": %q, "size": %d}]}`, digest, len(layer)), "",
			"has no layer"},
		"a manifest of another digest": {of(digest, len(layer), ""), digestOf([]byte("x")), "mismatch"},
		"a manifest without end":       {strings.Repeat(" ", maxManifest+1), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			manifest = test.manifest
			cache := t.TempDir()
			f := fetcherFor(t, cache, &Trust{Base: named("oci://" + own.host)})
			_, err := f.Fetch(fetched.Source{Repository: "oci://" + own.host + "/team", Chart: "web", Version: "1.0.0",
				Manifest: test.digest, IsPlain: true})
			if err == nil || !strings.Contains(err.Error(), test.wants) {
				t.Errorf("%v, want %s", err, test.wants)
			}
			if asked := other.requests(); len(asked) > 0 {
				t.Errorf("asked %v", asked)
			}
			if kept, _ := filepath.Glob(filepath.Join(cache, "*/*/*")); len(kept) > 0 {
				t.Errorf("the cache has %v", kept)
			}
		})
	}
}

// The caches of all repositories of a user are one: what a server may say without TLS is not what it says with it.
func TestTheCacheTellsSourcesApart(t *testing.T) {
	seen := map[string]fetched.Source{}
	for _, from := range []fetched.Source{
		{Repository: "oci://a/b", Chart: "web", Version: "1.0.0"}, {Repository: "oci://a/b", Chart: "web", Version: "1.0.0", IsPlain: true},
		{Repository: "oci://a", Chart: "b/web", Version: "1.0.0"}, {Repository: "oci://a/b", Version: "1.0.0"},
		{Repository: "https://a/b", Chart: "web", Version: "1.0.0"}, {Repository: "http://a/b", Chart: "web", Version: "1.0.0"},
		{Repository: "https://a/b", IsGit: true, Version: strings.Repeat("0", 40)}, {Repository: "https://a/b", Version: strings.Repeat("0", 40)},
	} {
		file := sourceFile(from)
		if other, is := seen[file]; is {
			t.Errorf("%+v is %+v", from, other)
		}
		seen[file] = from
	}
}
