package sync

import (
	"strings"
	"testing"
)

func TestURLsAreCheckedForEachTool(t *testing.T) {
	for url, want := range map[string][2]string{ // parts of the errors for Flux and Argo CD
		"https://github.com/acme/shop.git":             {},
		"http://git.internal:3000/acme/shop":           {},
		"ssh://git@github.com/acme/shop.git":           {},
		"ssh://git@[2001:db8::1]:2222/acme/shop":       {},
		"https://dev.azure.com/acme/my%20shop/_git/a":  {},
		"git@github.com:acme/shop.git":                 {`use "ssh://git@github.com/acme/shop.git"`, ""},
		"git@github.com:/acme/shop.git":                {`use "ssh://git@github.com/acme/shop.git"`, ""},
		"github.com:acme/shop.git":                     {`use "ssh://git@github.com/acme/shop.git"`, `use "ssh://git@github.com/acme/shop.git"`},
		"":                                             {"is not a URL", "is not a URL"},
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
		"https://github.com":                           {"has no host or no repository", "has no host or no repository"},
		"https:///acme/shop":                           {"has no host or no repository", "has no host or no repository"},
		"ssh://github.com/acme/shop":                   {"add the user", "add the user"},
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
		for i, check := range []func(string) error{checkFluxURL, checkArgoURL} {
			err := check(url)
			if (err != nil) != (want[i] != "") || err != nil && (!strings.Contains(err.Error(), want[i]) || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("%q, %d: %v, want %q", url, i, err, want[i])
			}
		}
	}
}

func TestPathsAreCleaned(t *testing.T) {
	for folder, want := range map[string]string{
		"rendered/prod": "rendered/prod", "./a//b/": "a/b", ".": ".", "./": ".", "a/../b": "b", ".hidden": ".hidden", "..a": "..a", "a b": "a b",
		"/a": "", "/": "", "..": "", "../a": "", "a/../../b": "", `a\b`: "", "a\nb": "",
	} {
		if got, err := cleanPath(folder); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v, want %q", folder, got, err, want)
		}
	}
}
