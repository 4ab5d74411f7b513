package sync

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestURLs(t *testing.T) {
	for url, want := range map[string][2]string{ // what the errors for Flux and Argo CD have
		"https://github.com/acme/shop.git":             {},
		"http://git.internal:3000/acme/shop":           {},
		"ssh://git@github.com/acme/shop.git":           {},
		"ssh://git@[2001:db8::1]:2222/acme/shop":       {},
		"https://dev.azure.com/acme/my%20shop/_git/a":  {},
		"git@github.com:acme/shop.git":                 {`write "ssh://git@github.com/acme/shop.git"`, ""},
		"git@github.com:/acme/shop.git":                {`write "ssh://git@github.com/acme/shop.git"`, ""},
		"github.com:acme/shop.git":                     {`write "ssh://git@github.com/acme/shop.git"`, `write "ssh://git@github.com/acme/shop.git"`},
		"":                                             {"--repo is empty", "--repo is empty"},
		".":                                            {"is not a URL", "is not a URL"},
		"../shop":                                      {"is not a URL", "is not a URL"},
		`C:\shop`:                                      {"is not a URL", "is not a URL"},
		"file:///srv/shop.git":                         {"is not a URL", "is not a URL"},
		"github.com/acme/shop":                         {"is not a URL", "is not a URL"},
		"git+ssh://git@github.com/acme/shop":           {"is not a URL", "is not a URL"},
		"git://github.com/acme/shop":                   {"is not a URL", "is not a URL"},
		"oci://ghcr.io/acme/shop":                      {"is not a URL", "is not a URL"},
		"HTTPS://github.com/acme/shop":                 {"lower case", "lower case"},
		"https:/github.com/acme/shop":                  {"two slashes", "two slashes"},
		"https://github.com":                           {"names no host or no repository", "names no host or no repository"},
		"https:///acme/shop":                           {"names no host or no repository", "names no host or no repository"},
		"ssh://github.com/acme/shop":                   {"write the user", "write the user"},
		"https://s3cret@github.com/acme/shop":          {"a user or a password", "a user or a password"},
		"https://ada:s3cret@github.com/acme/shop":      {"a user or a password", "a user or a password"},
		"ssh://git:s3cret@github.com/acme/shop":        {"a user or a password", "a user or a password"},
		"ada:s3cret@github.com:acme/shop":              {"is not a URL", "is not a URL"},
		"https://github.com/acme/shop?token=s3cret":    {"after ? or #", "after ? or #"},
		"https://github.com/acme/shop#main":            {"after ? or #", "after ? or #"},
		"https://github.com/acme/shop.git\nspec: {}":   {"is not a URL", "is not a URL"},
		"git@github.com:acme/shop.git\nspec: {}":       {"is not a URL", "is not a URL"},
		"https://github.com/acme/\u202eshop.git":       {"is not a URL", "is not a URL"},
		"https://github.com/acme/shop .git":            {"is not a URL", "is not a URL"},
		"https://ada:s3cret@github.com/acme/%zz/shop/": {"is not a URL", "is not a URL"},
	} {
		for i, check := range []func(string) error{fluxURL, argoURL} {
			err := check(url)
			if (err != nil) != (want[i] != "") || err != nil && (!strings.Contains(err.Error(), want[i]) || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("%q, %d: %v, want %q", url, i, err, want[i])
			}
		}
	}
}

func TestBranches(t *testing.T) {
	for branch, isOne := range map[string]bool{
		"main": true, "env/prod": true, "1.5": true, "true": true, "feature/ü": true, "a@b": true, "a{b": true, "#1": true,
		"": false, "@": false, "HEAD": false, "-a": false, "refs/heads/main": false, "refs/tags/v1": false, "a..b": false, "a b": false, "a~1": false,
		"a^": false, "a:b": false, "a*": false, "a?": false, "a[b": false, `a\b`: false, "a@{1}": false, "/a": false, "a/": false, "a//b": false,
		".a": false, "a/.b": false, "a.": false, "a.lock": false, "a.lock/b": false, "a\nb": false, "a\x1b[1m": false,
	} {
		err := checkBranch(branch)
		if (err == nil) != isOne || err != nil && strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%q: %v", branch, err)
		}
	}
}

func TestPaths(t *testing.T) {
	for folder, want := range map[string]string{
		"rendered/prod": "rendered/prod", "./a//b/": "a/b", ".": ".", "./": ".", "a/../b": "b", ".hidden": ".hidden", "..a": "..a", "a b": "a b",
		"/a": "", "/": "", "..": "", "../a": "", "a/../../b": "", `a\b`: "", "a\nb": "",
	} {
		if got, err := cleanPath(folder); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v, want %q", folder, got, err, want)
		}
	}
}

// What people write is text in YAML, whatever it looks like.
func TestText(t *testing.T) {
	for _, value := range []string{
		"main", "env/prod", "1.5", "1e3", "0x1f", "true", "no", "null", "~", "y", "N", "on", "Off", "", "#1", "a: b", "a #b", "- a", "{}", "[a]", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a`",
		`"a"`, "'a'", `a\b`, "ü", "a{{b}}", "a:", ".", "...", "---", "2027-01-01", "<&>", "\u2028", "😀",
	} {
		written, err := text(value)
		if err != nil {
			t.Fatal(err)
		}
		var read map[string]any
		if err := yaml.UnmarshalStrict([]byte("a: "+written+"\nb: c\n"), &read); err != nil || read["a"] != value || read["b"] != "c" {
			t.Errorf("%q is written %s and read %v (%v)", value, written, read, err)
		}
	}
}
