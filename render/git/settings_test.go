package git

import "testing"

func TestHostOf(t *testing.T) {
	for remote, want := range map[string]string{
		"https://github.com/acme/shop.git":                  "github.com",
		"https://user:token@gitlab.example.com:8443/a/b":    "gitlab.example.com",
		"ssh://git@gitlab.example.com:2222/team/gitops.git": "gitlab.example.com",
		"git@gitlab.com:team/gitops.git":                    "gitlab.com",
		"git@github.com:acme/gitlab-tools.git":              "github.com",
		"gitlab:team/gitops":                                "gitlab",
		"https://GitLab.com/team/gitops":                    "gitlab.com",
		"git@GITLAB.example.com:team/gitops.git":            "gitlab.example.com",
		"https://example.com/gitlab/team/gitops.git":        "example.com/gitlab",
		"https://github.com/gitlab/gitops/":                 "github.com",
		"/srv/gitlab/repository.git":                        "",
		"../other:one":                                      "",
		"":                                                  "",
	} {
		if host := hostOf(remote); host != want {
			t.Errorf("%s: %q, want %q", remote, host, want)
		}
	}
}

// The branch is that of origin, else the one that is checked out, also before any commit.
func TestDefaultBranch(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "init", "-q", "-b", "trunk")
	if branch := open(t, dir).DefaultBranch(t.Context()); branch != "trunk" {
		t.Errorf("without a commit: %q", branch)
	}
	run(t, dir, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/release/next")
	if branch := open(t, dir).DefaultBranch(t.Context()); branch != "release/next" {
		t.Errorf("with that of origin: %q", branch)
	}
	if host := open(t, dir).Host(t.Context()); host != "" {
		t.Errorf("host without a remote: %q", host)
	}
	run(t, dir, "remote", "add", "fork", "git@github.com:ada/shop.git")
	run(t, dir, "remote", "add", "origin", "git@gitlab.com:acme/shop.git")
	if host := open(t, dir).Host(t.Context()); host != "gitlab.com" {
		t.Errorf("host: %q", host)
	}
}
