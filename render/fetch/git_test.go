package fetch

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/render/source/fetched"
)

// sh runs a script in a folder, with an author for git.
func sh(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// serveGit serves the repositories of a folder.
func serveGit(t *testing.T, dir string) string {
	t.Helper()
	server := httptest.NewServer(&cgi.Handler{Path: filepath.Join(sh(t, dir, "git --exec-path"), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + t.TempDir()}})
	t.Cleanup(server.Close)
	return server.URL
}

func TestGitHasTheFilesOfACommit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	first := sh(t, dir, `git init -q -b main apps; cd apps; mkdir a; echo one > a/a.yaml; ln -s a.yaml a/link; ln -s /etc/passwd a/out
		echo 'a export-ignore' > .gitattributes; git add .; git commit -qm 1; git tag v1.0.0; git tag -a -m x v1.1.0; git rev-parse HEAD`)
	second := sh(t, dir, `cd apps; echo two > a/a.yaml; git commit -qam 2; git checkout -q -b other; git rev-parse HEAD`)
	repository := serveGit(t, dir) + "/apps/.git"
	trust := &Trust{Base: named(repository)}
	cache := t.TempDir()
	for _, test := range []struct{ version, versions, commit, content string }{
		{"refs/heads/main", "", second, "two\n"}, {"main", "", second, "two\n"}, {"", "", second, "two\n"},
		{"v1.0.0", "", first, "one\n"}, {"refs/tags/v1.1.0", "", first, "one\n"}, {first, "", first, "one\n"},
		{"", ">=1.0.0", first, "one\n"},
	} {
		f := fetcherFor(t, cache, trust)
		files, err := f.Fetch(fetched.Source{Repository: repository, IsGit: true, Version: test.version, Range: test.versions})
		if err != nil || files.Resolved != test.commit {
			t.Errorf("%s: %v, %v, want %s", test.version, files, err, test.commit)
			continue
		}
		within := strings.TrimPrefix(files.Path, "/"+fetched.Folder+"/")
		if content, err := f.ReadFile(within + "/a/a.yaml"); err != nil || string(content) != test.content {
			t.Errorf("%s: %q, %v, want %q", test.version, content, err, test.content)
		}
		entries, _ := f.ReadDir(within + "/a")
		if names := namesOf(entries); !slices.Equal(names, []string{"a.yaml", "link"}) {
			t.Errorf("%s: has %v", test.version, names)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "git-*")); len(left) > 0 {
		t.Errorf("the cache has %v", left)
	}
	for version, wants := range map[string]string{"none": "has no branch or tag none", "--upload-pack=x": "is no branch", strings.Repeat("0", 40): "git "} {
		if _, err := fetcherFor(t, cache, trust).Fetch(fetched.Source{Repository: repository, IsGit: true, Version: version}); err == nil || !strings.Contains(err.Error(), wants) {
			t.Errorf("%s: %v, want %s", version, err, wants)
		}
	}
}

func namesOf(entries []fs.DirEntry) (names []string) {
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestGitAsksNoOtherHostOrProgram(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	sh(t, dir, "git init -q -b main apps; cd apps; echo x > x; git add .; git commit -qm 1")
	other := serve(t)
	away := serve(t)
	away.redirect = other.URL
	for name, test := range map[string]struct {
		trust             Trust
		repository, wants string
	}{
		"a redirect":        {Trust{Base: named(away.URL+"/x.git", other.URL)}, away.URL + "/x.git", "git ls-remote: "},
		"a new host":        {Trust{Base: named(away.URL)}, other.URL + "/x.git", "does not name the host"},
		"an address inside": {Trust{IsTree: true, Base: named()}, "https://" + other.host + "/x.git", "not public"},
		"an address of ssh": {Trust{IsTree: true, Base: named()}, "ssh://git@127.0.0.1/x.git", "not public"},
		"a folder":          {Trust{IsTree: true, Base: named()}, dir + "/apps", "has no host"},
		"a file":            {Trust{IsTree: true, Base: named()}, "file://localhost" + dir + "/apps", "no URL of git"},
		"a program":         {Trust{IsTree: true, Base: named()}, "ext::sh -c true", ""},
		"an option":         {Trust{IsTree: true, Base: named()}, "--upload-pack=true", ""},
		"an option of ssh":  {Trust{IsTree: true, Base: named()}, "ssh://-oProxyCommand=true/x", ""},
		"a password":        {Trust{IsTree: true, Base: named()}, "https://me:secret@example.com/x", "password"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fetcherFor(t, t.TempDir(), &test.trust).Fetch(fetched.Source{Repository: test.repository, IsGit: true})
			if err == nil || !strings.Contains(err.Error(), test.wants) {
				t.Errorf("%v, want %s", err, test.wants)
			}
			if asked := other.requests(); len(asked) > 0 {
				t.Errorf("asked %v", asked)
			}
		})
	}
}

func TestGitConnectsAsItsCallerDoes(t *testing.T) {
	for _, name := range []string{"GIT_SSL_CAINFO", "GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL", "GIT_ASKPASS"} {
		t.Setenv(name, "x")
	}
	for _, name := range []string{"GIT_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_TRACE", "GIT_ALLOW_PROTOCOL"} {
		t.Setenv(name, "y")
	}
	for _, variable := range findGit().environ {
		if strings.HasPrefix(variable, "GIT_") && strings.HasSuffix(variable, "=y") {
			t.Errorf("has %s", variable)
		}
	}
	if environ := findGit().environ; !slices.Contains(environ, "GIT_SSL_CAINFO=x") || !slices.Contains(environ, "GIT_SSH_COMMAND=x") {
		t.Errorf("has %v", environ)
	}
}

func TestUnpackingStaysInItsFolder(t *testing.T) {
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	for _, h := range []tar.Header{
		{Name: "../up", Typeflag: tar.TypeReg}, {Name: "/abs", Typeflag: tar.TypeReg}, {Name: "a/../../up", Typeflag: tar.TypeReg},
		{Name: ".git/config", Typeflag: tar.TypeReg}, {Name: "a/.GIT/hooks/x", Typeflag: tar.TypeReg}, {Name: "pipe", Typeflag: tar.TypeFifo},
		{Name: "device", Typeflag: tar.TypeChar}, {Name: "hard", Typeflag: tar.TypeLink, Linkname: "../up"},
		{Name: "out", Typeflag: tar.TypeSymlink, Linkname: "../up"}, {Name: "absolute", Typeflag: tar.TypeSymlink, Linkname: "/etc"},
		{Name: "a/in", Typeflag: tar.TypeSymlink, Linkname: "../b"}, {Name: "./b", Typeflag: tar.TypeReg},
		{Name: "c/here", Typeflag: tar.TypeSymlink, Linkname: "."}, {Name: "c/here/here/out", Typeflag: tar.TypeSymlink, Linkname: "../../../up"},
		{Name: "d/up", Typeflag: tar.TypeSymlink, Linkname: ".."}, {Name: "d/e/out", Typeflag: tar.TypeSymlink, Linkname: "../up/../../x"},
		{Name: "d/e/f/none", Typeflag: tar.TypeSymlink, Linkname: "../none"},
	} {
		h.Mode = 0o777
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := unpack(root, content.Bytes()); err != nil {
		t.Fatal(err)
	}
	var found []string
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, _ error) error {
		if !d.IsDir() {
			within, _ := filepath.Rel(dir, name)
			found = append(found, within)
		}
		return nil
	})
	if !slices.Equal(found, []string{"a/in", "b", "c/here", "d/e/f/none", "d/up"}) {
		t.Errorf("unpacked %v", found)
	}
}
