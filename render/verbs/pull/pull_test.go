package pull

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/registry"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/fetch"
	"example.com/gatehouse/render/manifest"
)

// archive returns the archive of a chart.
func archive(t *testing.T, name, version string) []byte {
	t.Helper()
	var content bytes.Buffer
	zipped := gzip.NewWriter(&content)
	w := tar.NewWriter(zipped)
	chart := "apiVersion: v2\nname: " + name + "\nversion: " + version + "\n"
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

// serve serves a repository with web 1.0.0, and a registry with db 2.0.0+x and a token for everybody.
func serve(t *testing.T) *httptest.Server {
	web, db := archive(t, "web", "1.0.0"), archive(t, "db", "2.0.0+x")
	var server *httptest.Server
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		digest := func(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }
		if strings.HasPrefix(r.URL.Path, "/v2/") && r.Header.Get("Authorization") != "Bearer secret" {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+server.URL+`/token",service="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch r.URL.Path {
		case "/charts/index.yaml":
			fmt.Fprintf(w, "entries:\n  web:\n  - {version: 1.0.0, urls: [files/web.tgz], digest: %s}\n  bad:\n  - {version: 1.0.0, urls: [files/web.tgz], digest: %[1]s}\n  - {version: 2.0.0, urls: [files/web.tgz], digest: 00}\n", digest(web))
		case "/charts/files/web.tgz":
			_, _ = w.Write(web)
		case "/token":
			if r.URL.Query().Get("scope") != "repository:team/db:pull" || r.URL.Query().Get("service") != "registry" {
				w.WriteHeader(http.StatusForbidden)
			}
			fmt.Fprint(w, `{"token": "secret"}`)
		case "/v2/team/db/manifests/2.0.0_x":
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			fmt.Fprintf(w, `{"layers": [{"mediaType": %q, "digest": "sha256:%s", "size": %d}]}`, registry.ChartLayerMediaType, digest(db), len(db))
		case "/v2/team/db/blobs/sha256:" + digest(db):
			_, _ = w.Write(db)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// application returns an Application with a chart.
func application(chart, version, repository string) string {
	return fmt.Sprintf("---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: %s}\nspec: {source: {chart: %[1]s, targetRevision: %s, repoURL: %q}}\n", chart, version, repository)
}

// run pulls the charts of an environment with some objects in a folder.
func run(t *testing.T, dir string, server *httptest.Server, objects string) (*Result, string) {
	t.Helper()
	for name, content := range map[string]string{
		"kustomization.yaml": "resources: [a.yaml]\nhelmCharts:\n- {name: web, version: 1.0.0, repo: " + server.URL + "/charts, releaseName: web}\n", "a.yaml": objects,
	} {
		file := filepath.Join(dir, "environments/prod", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	repository, err := render.Open(dir, gatehouse.All(), render.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	trust := &fetch.Trust{IsTree: true, Base: fetch.NamesIn(repository.Files())}
	fetcher, err := fetch.New(t.Context(), t.TempDir(), trust, server.Client().Transport.(*http.Transport).Clone())
	if err != nil {
		t.Fatal(err)
	}
	defer fetcher.Close()
	result, err := Run(t.Context(), fetcher, repository.Fetching(fetcher), render.Selection{All: true}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	failed, _ := manifest.SplitProblems(result.Problems)
	for _, p := range failed {
		errs.WriteString(p.String() + "\n")
	}
	return result, errs.String()
}

func TestPullDownloadsOnceAndRemovesUnused(t *testing.T) {
	server, dir := serve(t), t.TempDir()
	host := strings.TrimPrefix(server.URL, "https://")
	objects := application("web", "1.0.0", server.URL+"/charts/") + application("db", "2.0.0+x", host+"/team")
	const ofKustomization, web, db = "environments/prod/charts/web-1.0.0.tgz", "charts/web-1.0.0.tgz", "charts/db-2.0.0+x.tgz"

	result, errs := run(t, dir, server, objects)
	if want := []string{ofKustomization, db, web}; errs != "" || !reflect.DeepEqual(result.Pulled, want) {
		t.Fatalf("pulled %v, want %v\n%s", result.Pulled, want, errs)
	}
	lock, _ := os.ReadFile(filepath.Join(dir, "charts/charts.lock"))
	want := fmt.Sprintf("db 2.0.0+x oci://%s/team sha256:%x\nweb 1.0.0 %s/charts sha256:%x\n", host, sha256.Sum256(archive(t, "db", "2.0.0+x")), server.URL, sha256.Sum256(archive(t, "web", "1.0.0")))
	if _, entries, _ := strings.Cut(string(lock), "\n"); entries != want {
		t.Errorf("lock:\n%swant:\n%s", entries, want)
	}

	if result, errs = run(t, dir, server, objects); errs != "" || len(result.Pulled) != 0 || len(result.Unchanged) != 3 {
		t.Errorf("again: pulled %v, unchanged %v\n%s", result.Pulled, result.Unchanged, errs)
	}
	if err := os.Remove(filepath.Join(dir, "charts/charts.lock")); err != nil {
		t.Fatal(err)
	}
	if result, errs = run(t, dir, server, objects); errs != "" || len(result.Pulled) != 0 || !reflect.DeepEqual(result.Locked, []string{db, web}) {
		t.Errorf("without a lock: pulled %v, locked %v\n%s", result.Pulled, result.Locked, errs)
	}
	if result, errs = run(t, dir, server, application("web", "1.0.0", server.URL+"/charts")); errs != "" || !reflect.DeepEqual(result.Removed, []string{db}) {
		t.Errorf("removed %v\n%s", result.Removed, errs)
	}
	if _, err := os.Stat(filepath.Join(dir, db)); err == nil {
		t.Error("the unused chart is there")
	}
}

func TestPullWritesThroughNoLink(t *testing.T) {
	server := serve(t)
	for link, target := range map[string]string{
		"charts": ".git/hooks", "environments/prod/charts": "../../.git/hooks", "charts/web-1.0.0.tgz": "../.git/hooks/new", "charts/charts.lock": "../.git/hooks/new",
	} {
		t.Run(link, func(t *testing.T) {
			dir := t.TempDir()
			hooks := filepath.Join(dir, ".git/hooks")
			for _, folder := range []string{hooks, filepath.Dir(filepath.Join(dir, link))} {
				if err := os.MkdirAll(folder, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
			_, errs := run(t, dir, server, application("web", "1.0.0", server.URL+"/charts"))
			if want := link + " is a symbolic link to " + target + ": "; !strings.Contains(errs, want) {
				t.Errorf("%s\nwant %s", errs, want)
			}
			if written, err := os.ReadDir(hooks); err != nil || len(written) > 0 {
				t.Errorf(".git/hooks has %v, %v", written, err)
			}
		})
	}
}

func TestPullRefuses(t *testing.T) {
	server := serve(t)
	for name, test := range map[string]struct{ objects, lock, want string }{
		"another digest than in the lock": {application("web", "1.0.0", server.URL+"/charts"), "web 1.0.0 " + server.URL + "/charts sha256:" + strings.Repeat("0", 64), "charts/web-1.0.0.tgz: has the digest sha256:"},
		"another repository":              {application("web", "1.0.0", server.URL+"/charts"), "web 1.0.0 https://example.com sha256:" + strings.Repeat("0", 64), "has this chart of https://example.com, and not of"},
		"another digest than promised":    {application("bad", "2.0.0", server.URL+"/charts"), "", "promised 0"},
		"another chart":                   {application("bad", "1.0.0", server.URL+"/charts"), "", "is chart web 1.0.0, and not bad 1.0.0"},
		"an unknown version":              {application("web", "9.0.0", server.URL+"/charts"), "", "has no version 9.0.0 of chart web"},
		"no repository":                   {application("web", "1.0.0", server.URL+"/none"), "", "404 Not Found"},
		"a path out of the folder":        {application("../web", "1.0.0", server.URL+"/charts"), "", "is no name of a chart"},
		"a malformed lock":                {application("web", "1.0.0", server.URL+"/charts"), "web", "charts/charts.lock:1: is no entry"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "charts"), 0o755); err != nil {
				t.Fatal(err)
			}
			if test.lock != "" {
				if err := os.WriteFile(filepath.Join(dir, "charts/charts.lock"), []byte(test.lock+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			_, errs := run(t, dir, server, test.objects)
			if !strings.Contains(errs, test.want) {
				t.Errorf("%s\nwant %s", errs, test.want)
			}
			if lock, _ := os.ReadFile(filepath.Join(dir, "charts/charts.lock")); test.lock == "" && len(lock) > 0 {
				t.Errorf("locked %s", lock)
			}
			found, err := filepath.Glob(filepath.Join(dir, "charts/*.tgz"))
			if outside, _ := filepath.Glob(filepath.Join(dir, "*.tgz")); err != nil || len(found)+len(outside) > 0 {
				t.Errorf("wrote %v", found)
			}
		})
	}
}
