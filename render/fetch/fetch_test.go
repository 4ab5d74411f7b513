package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"example.com/gatehouse/render/source/fetched"
)

// archive returns the archive of a chart.
func archive(t *testing.T, name, version, note string) []byte {
	t.Helper()
	var content bytes.Buffer
	zipped := gzip.NewWriter(&content)
	w := tar.NewWriter(zipped)
	chart := "apiVersion: v2\nname: " + name + "\nversion: " + version + "\ndescription: " + note + "\n"
	for _, err := range []error{
		w.WriteHeader(&tar.Header{Name: name + "/Chart.yaml", Mode: 0o644, Size: int64(len(chart))}),
		func() error { _, err := w.Write([]byte(chart)); return err }(), w.Close(), zipped.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return content.Bytes()
}

// server is a repository of charts, http://HOST/charts, and a registry, oci://HOST/team.
type server struct {
	*httptest.Server
	host string

	mu       sync.Mutex
	charts   map[string][]byte // of web, by version
	urls     map[string]string // of charts elsewhere, by version
	login    string            // asks for it, if not empty
	redirect string            // a URL that all answers lead to
	seen     []string          // requests, with their credentials
}

func serve(t *testing.T) *server {
	s := &server{charts: map[string][]byte{}, urls: map[string]string{}}
	s.Server = httptest.NewServer(s)
	s.host = strings.TrimPrefix(s.URL, "http://")
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	username, password, _ := r.BasicAuth()
	s.seen = append(s.seen, strings.TrimSpace(strings.Join([]string{r.URL.Path, username, password,
		strings.TrimPrefix(r.Header.Get("Authorization"), "Basic ")}, " ")))
	switch {
	case s.redirect != "":
		http.Redirect(w, r, s.redirect+r.URL.Path, http.StatusFound)
		return
	case s.login != "" && username+":"+password != s.login:
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q,service=\"x\"", s.URL+"/token"))
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	dir, base := path.Split(r.URL.Path)
	switch {
	case base == "huge.tgz":
		w.Header().Set("Content-Length", fmt.Sprint(10<<30))
		for chunk := make([]byte, 1<<20); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	case base == "index.yaml":
		fmt.Fprint(w, "entries:\n  web:\n")
		for _, version := range slices.Sorted(maps.Keys(s.charts)) {
			fmt.Fprintf(w, "  - {version: %s, urls: [web-%[1]s.tgz], digest: %s}\n", version, digestOf(s.charts[version])[7:])
		}
		for _, version := range slices.Sorted(maps.Keys(s.urls)) {
			fmt.Fprintf(w, "  - {version: %s, urls: [%q]}\n", version, s.urls[version])
		}
	case strings.HasPrefix(base, "web-"):
		_, _ = w.Write(s.charts[strings.TrimSuffix(strings.TrimPrefix(base, "web-"), ".tgz")])
	case base == "list":
		fmt.Fprintf(w, `{"tags": ["%s"]}`, strings.Join(slices.Sorted(maps.Keys(s.charts)), `","`))
	case strings.HasSuffix(dir, "/manifests/") && s.charts[base] != nil:
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		fmt.Fprintf(w, `{"layers": [{"digest": %q, "size": %d}]}`, digestOf(s.charts[base]), len(s.charts[base]))
	case strings.HasSuffix(dir, "/blobs/"):
		for _, content := range s.charts {
			if digestOf(content) == base {
				_, _ = w.Write(content)
			}
		}
	default:
		http.NotFound(w, r)
	}
}

// requests returns the requests since the last call.
func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

// named returns a revision with objects that name some repositories.
func named(urls ...string) *Names {
	files := fstest.MapFS{}
	for i, url := range urls {
		files[fmt.Sprintf("a/%d.yaml", i)] = &fstest.MapFile{Data: []byte("apiVersion: source.toolkit.fluxcd.io/v1\n" +
			"kind: HelmRepository\nmetadata: {name: x}\nspec: {url: \"" + url + "\", insecure: " +
			fmt.Sprint(strings.HasPrefix(url, "oci:")) + "}\n")}
	}
	return NamesIn(files)
}

// fetcherFor returns a fetcher with credentials for each host.
func fetcherFor(t *testing.T, cache string, trust *Trust) *Fetcher {
	t.Helper()
	f, err := New(t.Context(), cache, trust, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func TestOnlyHostsThatTheBaseNamesAreAsked(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	own, other := serve(t), serve(t)
	own.charts["1.0.0"] = archive(t, "web", "1.0.0", "")
	own.urls = map[string]string{"2.0.0": other.URL + "/web-2.0.0.tgz", "3.0.0": "huge.tgz", "4.0.0": "http://169.254.169.254/web", "5.0.0": "https://169.254.169.254/web"}
	away := serve(t)
	away.redirect = other.URL
	localhost := strings.Replace(own.URL, "127.0.0.1", "localhost", 1)
	http := func(url, version string) fetched.Source {
		return fetched.Source{Repository: url + "/charts", Chart: "web", Version: version}
	}
	registry := fetched.Source{Repository: "oci://" + own.host + "/team", Chart: "web", Version: "1.0.0", IsPlain: true}
	for name, test := range map[string]struct {
		trust     Trust
		from      fetched.Source
		wants     string // of the error
		others    int    // requests to the other host
		asksNone  bool   // of its own host
		isAllowed bool
	}{
		"a named repository":                  {trust: Trust{Base: named(own.URL + "/charts")}, from: http(own.URL, "1.0.0"), isAllowed: true},
		"a named registry":                    {trust: Trust{Base: named("oci://" + own.host + "/others")}, from: registry, isAllowed: true},
		"another repository of its host":      {trust: Trust{Base: named(own.URL + "/others")}, from: http(own.URL, "1.0.0"), isAllowed: true},
		"an allowed host":                     {trust: Trust{From: []string{own.URL}}, from: http(own.URL, "1.0.0"), isAllowed: true},
		"no host":                             {trust: Trust{Base: named(other.URL)}, from: http(own.URL, "1.0.0"), wants: "the base does not name the host http://" + own.host, asksNone: true},
		"no known base":                       {from: http(own.URL, "1.0.0"), wants: "the base does not name the host", asksNone: true},
		"another name of the host":            {trust: Trust{Base: named(localhost)}, from: http(own.URL, "1.0.0"), wants: "the base does not name the host", asksNone: true},
		"HTTP where HTTPS is named":           {trust: Trust{Base: named("https://" + own.host)}, from: http(own.URL, "1.0.0"), wants: "by HTTP", asksNone: true},
		"a registry by HTTP":                  {trust: Trust{Base: named("https://" + own.host)}, from: registry, wants: "by HTTP", asksNone: true},
		"an address inside":                   {trust: Trust{IsTree: true, Base: named()}, from: http("https://"+own.host, "1.0.0"), wants: "not public", asksNone: true},
		"a name of an address inside":         {trust: Trust{IsTree: true, Base: named()}, from: http(strings.Replace(localhost, "http:", "https:", 1), "1.0.0"), wants: "not public", asksNone: true},
		"an index that leads elsewhere":       {trust: Trust{Base: named(own.URL + "/others")}, from: http(own.URL, "2.0.0"), wants: "leads to the host " + other.host},
		"an index that leads inside":          {trust: Trust{Base: named(own.URL + "/charts")}, from: http(own.URL, "4.0.0"), wants: "speaks HTTP"},
		"an index that leads inside by HTTPS": {trust: Trust{Base: named(own.URL + "/charts")}, from: http(own.URL, "5.0.0"), wants: "not public"},
		"an index that leads by HTTP":         {trust: Trust{Base: named(own.URL + "/charts")}, from: http(own.URL, "2.0.0"), wants: "speaks HTTP"},
		"a redirect elsewhere":                {trust: Trust{Base: named(away.URL + "/others")}, from: http(away.URL, "1.0.0"), wants: "leads to the host " + other.host},
		"a redirect to a named host":          {trust: Trust{Base: named(away.URL, other.URL)}, from: http(away.URL, "1.0.0"), wants: "has no version", others: 1},
		"an endless answer":                   {trust: Trust{Base: named(own.URL)}, from: http(own.URL, "3.0.0"), wants: "over 100 MiB"},
		"a path in the name of a chart":       {trust: Trust{Base: named(own.URL)}, from: fetched.Source{Repository: own.URL, Chart: "../web", Version: "1.0.0"}, wants: "no name of a chart", asksNone: true},
		"credentials in the repository":       {trust: Trust{Base: named(own.URL)}, from: http("http://me:secret@"+own.host, "1.0.0"), wants: "has a password", asksNone: true},
		"another protocol":                    {trust: Trust{IsTree: true, Base: named()}, from: http("file://"+own.host, "1.0.0"), wants: "no URL of charts", asksNone: true},
		"a version that is not there":         {trust: Trust{Base: named(own.URL)}, from: http(own.URL, "9.0.0"), wants: "has no version 9.0.0 of chart web"},
		"another digest than in the lock":     {trust: Trust{Base: named(own.URL)}, from: fetched.Source{Repository: own.URL, Chart: "web", Version: "1.0.0", Archive: digestOf(nil)}, wants: "charts.lock has"},
	} {
		t.Run(name, func(t *testing.T) {
			own.requests()
			other.requests()
			cache := t.TempDir()
			files, err := fetcherFor(t, cache, &test.trust).Fetch(test.from)
			if test.isAllowed != (err == nil) || err != nil && !strings.Contains(err.Error(), test.wants) {
				t.Errorf("%v, %v, want %s", files, err, test.wants)
			}
			if asked := other.requests(); len(asked) != test.others {
				t.Errorf("the other host was asked %v", asked)
			}
			if asked := own.requests(); test.asksNone && len(asked) > 0 {
				t.Errorf("asked %v", asked)
			}
			kept, _ := filepath.Glob(filepath.Join(cache, "*/*/*"))
			if len(kept) > 0 != test.isAllowed {
				t.Errorf("the cache has %v", kept)
			}
		})
	}
}

func TestNewSourcesAreToldApart(t *testing.T) {
	_, err := fetcherFor(t, t.TempDir(), &Trust{Base: named()}).Fetch(fetched.Source{Repository: "oci://new.example.com/x", Chart: "web"})
	var added fetched.ErrNewSource
	if !errors.As(err, &added) || added.Host != "new.example.com" {
		t.Errorf("%v", err)
	}
}

func TestCredentialsStayWithTheirHost(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	own, other := serve(t), serve(t)
	own.login = "me:secret"
	own.charts["1.0.0"] = archive(t, "web", "1.0.0", "")
	own.urls = map[string]string{"2.0.0": other.URL + "/web-2.0.0.tgz"}
	away := serve(t)
	away.redirect = other.URL
	other.login = "nobody:nothing"
	logins := fmt.Sprintf("repositories:\n- {name: own, url: %q, username: me, password: secret}\n- {name: away, url: %q, username: me, password: secret}\n", own.URL+"/charts", away.URL+"/charts")
	file := filepath.Join(home, "repositories.yaml")
	if err := os.WriteFile(file, []byte(logins), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HELM_REPOSITORY_CONFIG", file)
	docker := fmt.Sprintf(`{"auths": {%q: {"auth": "bWU6c2VjcmV0"}, %q: {"auth": "bWU6c2VjcmV0"}}}`, own.host, away.host)
	if err := os.WriteFile(filepath.Join(home, "config.json"), []byte(docker), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKER_CONFIG", home)
	trust := &Trust{Base: named(own.URL, other.URL, away.URL, "oci://"+away.host, "oci://"+own.host)}

	for _, test := range []struct {
		name string
		from fetched.Source
	}{
		{"its own host", fetched.Source{Repository: own.URL + "/charts", Chart: "web", Version: "1.0.0"}},
		{"an index that leads elsewhere", fetched.Source{Repository: own.URL + "/charts", Chart: "web", Version: "2.0.0"}},
		{"a redirect", fetched.Source{Repository: away.URL + "/charts", Chart: "web", Version: "1.0.0"}},
		{"a redirect of a registry", fetched.Source{Repository: "oci://" + away.host + "/team", Chart: "web", Version: "1.0.0", IsPlain: true}},
	} {
		_, err := fetcherFor(t, t.TempDir(), trust).Fetch(test.from)
		if isOwn := test.name == "its own host"; isOwn != (err == nil) {
			t.Errorf("%s: %v", test.name, err)
		}
		asked := other.requests()
		if test.name != "its own host" && len(asked) == 0 {
			t.Errorf("%s: the other host was not asked", test.name)
		}
		for _, request := range asked {
			if strings.Contains(request, " ") || strings.Contains(request, "token") {
				t.Errorf("%s: the other host got %s", test.name, request)
			}
		}
	}
	if asked := own.requests(); !slices.ContainsFunc(asked, func(r string) bool { return strings.Contains(r, "me secret") }) {
		t.Errorf("its own host got %v", asked)
	}
}

func TestAFixedVersionIsFetchedOnceAndARangeInEachRun(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	s, cache := serve(t), t.TempDir()
	s.charts["1.0.0"], s.charts["1.1.0-rc.1"] = archive(t, "web", "1.0.0", ""), archive(t, "web", "1.1.0-rc.1", "")
	trust := &Trust{Base: named(s.URL, "oci://"+s.host)}
	for _, repository := range []string{s.URL, "oci://" + s.host + "/team"} {
		isPlain := strings.HasPrefix(repository, "oci:")
		fixed := fetched.Source{Repository: repository, Chart: "web", Version: "1.0.0", IsPlain: isPlain}
		moving := fetched.Source{Repository: repository, Chart: "web", Range: "1.x", IsPlain: isPlain}
		run := func(from fetched.Source, wants string) (requests int) {
			f := fetcherFor(t, cache, trust)
			var first fetched.Files
			for range 3 {
				files, err := f.Fetch(from)
				if err != nil || files.Resolved != wants {
					t.Fatalf("%s: %v, %v, want %s", from, files, err, wants)
				}
				if first.Path != "" && first != files {
					t.Errorf("%v and %v in a run", first, files)
				}
				first = files
				content, err := f.ReadFile(strings.TrimPrefix(files.Path, "/"+fetched.Folder+"/"))
				if err != nil || digestOf(content) != files.Digest {
					t.Errorf("%s: %v", files.Path, err)
				}
				s.mu.Lock()
				s.charts["1.0.0"] = archive(t, "web", "1.0.0", fmt.Sprint(len(s.seen))) // it moves meanwhile
				s.mu.Unlock()
			}
			return len(s.requests())
		}
		if run(fixed, "1.0.0") == 0 || run(fixed, "1.0.0") != 0 {
			t.Errorf("%s: the first run fetches, and the second one does not", repository)
		}
		if run(moving, "1.0.0") == 0 {
			t.Error("a range is not asked for")
		}
		s.mu.Lock()
		s.charts["1.2.0"] = archive(t, "web", "1.2.0", "")
		s.mu.Unlock()
		if run(moving, "1.2.0") == 0 {
			t.Error("a range is not asked for again")
		}
		delete(s.charts, "1.2.0")
		if _, err := fetcherFor(t, cache, &Trust{Base: named()}).Fetch(fixed); err == nil {
			t.Error("the cache has a source for a base that does not name it")
		}
	}
}

func TestTheCacheForgetsOldAndBrokenFiles(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	s, cache := serve(t), t.TempDir()
	s.charts["1.0.0"] = archive(t, "web", "1.0.0", "")
	from := fetched.Source{Repository: s.URL, Chart: "web", Version: "1.0.0"}
	trust := &Trust{Base: named(s.URL)}
	f := fetcherFor(t, cache, trust)
	if _, err := f.Fetch(from); err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(filepath.Join(cache, "files/*/web-1.0.0.tgz"))
	if len(found) != 1 {
		t.Fatalf("the cache has %v", found)
	}
	if err := os.WriteFile(found[0], []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fetcherFor(t, cache, trust).Fetch(from); err != nil || len(s.requests()) != 4 {
		t.Errorf("a broken file is not fetched again: %v", err)
	}
	f.cache.clean(time.Now().Add(maxAge - time.Hour))
	if _, err := os.Stat(found[0]); err != nil {
		t.Error(err)
	}
	f.cache.clean(time.Now().Add(maxAge + time.Hour))
	if _, err := os.Stat(found[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an old file is there: %v", err)
	}
}

func TestNamesAreThoseOfDeliveries(t *testing.T) {
	names := NamesIn(fstest.MapFS{
		"apps.yaml":            {Data: []byte("apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec:\n  source: {repoURL: ghcr.io/me/charts, chart: a}\n  sources:\n  - {repoURL: 'git@git.example.com:me/repo.git'}\n")},
		"set.yaml":             {Data: []byte("apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nspec:\n  generators:\n  - list: {elements: [{repo: 'https://set.example.com:8443/x'}]}\n  template: {spec: {source: {repoURL: '{{repo}}'}}}\n")},
		"list.yaml":            {Data: []byte("kind: List\napiVersion: v1\nitems:\n- {apiVersion: source.toolkit.fluxcd.io/v1, kind: OCIRepository, spec: {url: 'oci://oci.example.com/x', insecure: true}}\n")},
		"a/kustomization.yaml": {Data: []byte("resources: [a.yaml, 'https://github.com/me/base//x?ref=v1']\nhelmCharts: [{name: a, repo: 'https://charts.example.com'}]\n")},
		"chart/Chart.yaml":     {Data: []byte("name: a\ndependencies: [{name: b, repository: 'https://dependency.example.com'}]\n")},
		"pod.yaml":             {Data: []byte("apiVersion: v1\nkind: Pod\nspec: {url: 'https://pod.example.com', containers: [{env: [{name: a, value: 'https://pod.example.com'}]}]}\n")},
		"values.yaml":          {Data: []byte("repoURL: https://values.example.com\n")},
		"flux.yaml":            {Data: []byte("apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nspec: {url: 'https://${host}/x'}\n")},
		"broken.yaml":          {Data: []byte("apiVersion: source.toolkit.fluxcd.io/v1\nspec: {url: 'https://broken.example.com'\n")},
	})
	want := []string{"charts.example.com:443", "dependency.example.com:443", "ghcr.io:443", "git.example.com:22", "github.com:443", "oci.example.com:443", "set.example.com:8443"}
	if got := slices.Sorted(maps.Keys(names.hosts)); !slices.Equal(got, want) {
		t.Errorf("hosts %v\nwant  %v", got, want)
	}
	if !names.plain["oci.example.com:443"] || names.plain["github.com:443"] {
		t.Errorf("by HTTP: %v", names.plain)
	}
}

// Sources that are fetched side by side keep their own digests.
func TestTheCacheIsWrittenSideBySide(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	cache := t.TempDir()
	f := fetcherFor(t, cache, &Trust{Base: named()})
	var all sync.WaitGroup
	source := func(n int) fetched.Source { return fetched.Source{Repository: fmt.Sprint("https://example.com/", n)} }
	for n := range 300 {
		all.Go(func() {
			if err := f.cache.remember(source(n), known{Digest: digestOf([]byte(fmt.Sprint(n)))}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for n := range 300 {
		if got := f.cache.find(source(n)).Digest; got != digestOf([]byte(fmt.Sprint(n))) {
			t.Errorf("%d has %s", n, got)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "*-*")); len(left) > 0 {
		t.Errorf("the cache has %v", left)
	}
}
