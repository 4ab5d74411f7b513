package fetch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"example.com/gatehouse/render/source/fetched"
)

// namedByBases returns the sources that a kustomization names.
func namedByBases(entries ...string) *Names {
	return NamesIn(fstest.MapFS{"kustomization.yaml": {Data: []byte("resources: ['" + strings.Join(entries, "', '") + "']\n")}})
}

func TestFilesOfKustomizationsAreFetchedWithoutCredentials(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	own, other, away := serve(t), serve(t), serve(t)
	away.redirect = other.URL
	object := []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	own.charts = map[string][]byte{"objects": object, "page": []byte("<!DOCTYPE html>\n<html>\n"), "broken": []byte("a: [")}
	other.charts = own.charts
	if err := os.WriteFile(filepath.Join(home, ".netrc"), []byte("machine 127.0.0.1 login me password secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NETRC", filepath.Join(home, ".netrc"))
	for name, test := range map[string]struct {
		named, entry string
		wants        string // of the error
		isBase       bool
		isNotAsked   bool
	}{
		"objects":                  {own.URL + "/a", own.URL + "/web-objects", "", true, false},
		"a file of a generator":    {own.URL + "/a", own.URL + "/web-page", "", false, false},
		"a page":                   {own.URL + "/a", own.URL + "/web-page", "is no file of objects", true, false},
		"no YAML":                  {own.URL + "/a", own.URL + "/web-broken", "is no file of objects", true, false},
		"none":                     {own.URL + "/a", own.URL + "/none", "404", true, false},
		"an endless one":           {own.URL + "/a", own.URL + "/huge.tgz", "over 100 MiB", false, false},
		"a new host":               {"https://example.com/a", own.URL + "/web-objects", "does not name the host", true, true},
		"a new host in git":        {"https://example.com/a", own.URL + "/me/repo//a", "does not name the host", true, true},
		"HTTP where HTTPS is used": {"https://" + own.host, own.URL + "/web-objects", "by HTTP", true, true},
		"a redirect":               {away.URL + "/x/y/a", away.URL + "/x/y/web-objects", "leads to the host", false, true},
		"a password":               {own.URL + "/a", "http://me:secret@" + own.host + "/web-objects", "has a password", false, true},
		"a local file":             {own.URL + "/a", "file:///etc/passwd", "has no host", false, true},
		"a local repository":       {own.URL + "/a", "file:///repo.git//a", "has no host", true, true},
		"a program":                {own.URL + "/a", "ext::sh -c x", "names no repository", true, true},
		"an option":                {own.URL + "/a", "git@--upload-pack=x:me/repo", "", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			own.requests()
			other.requests()
			f := fetcherFor(t, t.TempDir(), &Trust{Base: namedByBases(test.named)})
			files, err := f.Fetch(fetched.Source{Repository: test.entry, IsFile: true, IsBase: test.isBase})
			isWanted := err == nil && test.wants == "" && name != "an option" || err != nil && strings.Contains(err.Error(), test.wants)
			if !isWanted {
				t.Errorf("%v, %v, want %s", files, err, test.wants)
			}
			if len(f.Failures()) > 0 != (err != nil) || len(f.All()) > 0 != (err == nil) {
				t.Errorf("failed %v, fetched %v", f.Failures(), f.All())
			}
			asked := own.requests()
			if test.isNotAsked && len(asked) > 0 || len(other.requests()) > 0 {
				t.Errorf("asked %v", asked)
			}
			for _, request := range asked {
				if strings.Contains(request, " ") {
					t.Errorf("sent credentials: %s", request)
				}
			}
		})
	}
}

// GitHub leads to the files of releases on other hosts, whose names change.
func TestReviewedFilesNameARepositoryOfGitHub(t *testing.T) {
	trust := &Trust{Base: namedByBases("https://github.com/me/repo/releases/download/v1/a.yaml", "https://example.com/me/repo/v1/a.yaml")}
	for url, want := range map[string]bool{
		"https://github.com/me/repo/releases/download/v1/a.yaml": true, "https://github.com/me/repo/releases/download/v2/a.yaml": true,
		"https://github.com/me/other/releases/download/v1/a.yaml": false, "https://github.com.evil.example/me/repo/a.yaml": false,
		"https://example.com/me/repo/v1/a.yaml": true, "https://example.com/me/repo/v2/a.yaml": false,
	} {
		if is := trust.isNamed(url); is != want {
			t.Errorf("%s: %t", url, is)
		}
	}
}

func TestBasesOfARepositoryAreFetchedOnce(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	sh(t, dir, "git init -q -b main apps; cd apps; mkdir a b; echo x > a/x; echo x > b/x; git add .; git commit -qm 1; git tag v1")
	url := serveGit(t, dir) + "/apps/.git"
	f := fetcherFor(t, t.TempDir(), &Trust{Base: namedByBases(url + "//a")})
	for _, folder := range []string{"a", "b"} {
		files, err := f.Fetch(fetched.Source{Repository: url + "//" + folder + "?ref=v1", IsFile: true, IsBase: true})
		if err != nil || filepath.Base(files.Path) != folder {
			t.Errorf("%v, %v", files, err)
		}
	}
	if all := f.All(); len(all) != 1 || all[0].Version != "v1" || len(f.Failures()) > 0 {
		t.Errorf("fetched %v, failed %v", all, f.Failures())
	}
	_, err := f.Fetch(fetched.Source{Repository: url + "//a?ref=--upload-pack=x", IsFile: true, IsBase: true})
	if err == nil || !strings.Contains(err.Error(), "is no branch") || errors.As(err, new(fetched.ErrNewSource)) {
		t.Error(err)
	}
}
