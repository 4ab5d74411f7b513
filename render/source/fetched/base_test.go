package fetched

import "testing"

// As NewRepoSpecFromURL of kustomize, but for files, and github.com by ssh.
func TestBasesAreThoseOfKustomize(t *testing.T) {
	for entry, want := range map[string]string{
		"github.com/me/repo":                                             "https://github.com/me/repo . ",
		"github.com/me/repo//deploy/a?ref=v1":                            "https://github.com/me/repo deploy/a v1",
		"github.com/me/repo/deploy/a?ref=v1":                             "https://github.com/me/repo deploy/a v1",
		"github.com:me/repo":                                             "https://github.com/me/repo . ",
		"GitHub.com/me/repo.git/deploy?version=v1&timeout=2m":            "https://github.com/me/repo.git deploy v1",
		"http://github.com/me/repo.git/deploy":                           "https://github.com/me/repo.git deploy ",
		"https://github.com/me/repo?ref=v1&submodules=false":             "https://github.com/me/repo . v1 whole",
		"git::https://git.example.com/me/repo//deploy/?ref=v1&version=x": "https://git.example.com/me/repo deploy v1",
		"https://git.example.com:8443/group/sub/repo.git//a/b":           "https://git.example.com:8443/group/sub/repo.git a/b ",
		"https://git.example.com/group/sub/repo//a/b":                    "https://git.example.com/group/sub/repo a/b ",
		"https://git.example.com/a/b/c/d.yaml":                           "https://git.example.com/a/b c/d.yaml ",
		"https://me@dev.azure.com/org/project/_git/repo/a?version=v1":    "https://me@dev.azure.com/org/project/_git/repo a v1",
		"git@github.com:me/repo.git//a":                                  "ssh://git@github.com/me/repo.git a ",
		"git@github.com/me/repo/a":                                       "ssh://git@github.com/me/repo a ",
		"org-12@github.com:me/repo":                                      "ssh://org-12@github.com/me/repo . ",
		"git@git.example.com:group/sub/repo.git?ref=main":                "ssh://git@git.example.com/group/sub/repo.git . main",
		"ssh://git@git.example.com/group/repo.git//a?ref=main":           "ssh://git@git.example.com/group/repo.git a main",
		"https://example.com/a.yaml":                                     "",
		"https://github.com/me/repo//../a":                               "",
		"https://github.com/me/repo//a/../../b":                          "",
		"https://github.com":                                             "",
		"file:///repo.git":                                               "",
		"git.example.com/me/repo":                                        "",
		"/me/repo.git":                                                   "",
		"ext::sh -c x":                                                   "",
		"--upload-pack=x":                                                "",
		"":                                                               "",
	} {
		base, is := BaseOf(entry)
		got := ""
		if is {
			got = base.Repository + " " + base.Folder + " " + base.Version
		}
		if is && !base.HasSubmodules {
			got += " whole"
		}
		if got != want || is && !base.IsGit {
			t.Errorf("%s: %q, want %q", entry, got, want)
		}
	}
}
