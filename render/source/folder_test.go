package source

import (
	"io"
	"log"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/pkg/loader"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Without git, kustomize returns an error for each path that it would fetch.
func TestRemoteMatchesEveryPathThatKustomizeFetches(t *testing.T) {
	t.Setenv("PATH", "")
	log.SetOutput(io.Discard) // kustomize warns of git::
	defer log.SetOutput(log.Default().Writer())
	fs := filesys.MakeFsInMemory()
	if err := fs.MkdirAll("/here"); err != nil {
		t.Fatal(err)
	}
	here := loader.NewFileLoaderAtRoot(fs)
	repositories := 0
	for _, prefix := range []string{"", "./", "git::", "GIT::", "https://", "HTTP://", "ssh://", "file://", "file:///", "git@", "a-b@", "1@", "a.b@", "gh:", "www."} {
		for _, host := range []string{"github.com/", "GitHub.com:", "github.com", "github.com.example/", "example.com/", "example.com:", "cert-manager", ":", "/", ""} {
			for _, path := range []string{"", "a", "a/b", "a/b/c", "a/b.git", "a.git/b", "a//b", "//a", "_git/a/b", "a/_git/b", "v1", "../a", "a/b/../..", "a/b/../../..", "a//../b", "a/b?ref=v1", "a?ref=x/y", "a:b", ".git", "a/.gitignore"} {
				name := prefix + host + path
				_, err := here.New(name)
				if err == nil || !strings.Contains(err.Error(), "git") || !strings.Contains(err.Error(), "program") {
					continue
				}
				repositories++
				if !remote.MatchString(name) {
					t.Errorf("%q is fetched: %v", name, err)
				}
			}
		}
	}
	if repositories < 100 {
		t.Errorf("%d repositories", repositories)
	}
}
