package setup

import (
	"strings"
	"testing"
)

func TestAddAttributesKeepsOtherLines(t *testing.T) {
	const all = "environments/** text=auto eol=lf\nrendered/** linguist-generated=true gitlab-generated text eol=lf"
	for name, test := range map[string]struct{ before, after string }{
		"none":             {"", all + "\n"},
		"others":           {"*.png binary\n", "*.png binary\n" + all + "\n"},
		"no final newline": {"*.png binary", "*.png binary\n" + all + "\n"},
		"CRLF":             {"*.png binary\r\n", "*.png binary\r\n" + all + "\n"},
		"all of them":      {all, all},
		"in other words":   {"rendered/**  text  eol=lf\nrendered/** -linguist-generated gitlab-generated=true\n", "rendered/**  text  eol=lf\nrendered/** -linguist-generated gitlab-generated=true\n"},
		"some":             {"rendered/** text eol=lf\n", "rendered/** text eol=lf\n"},
		"a longer pattern": {"rendered/**/*.md text eol=crlf\n", "rendered/**/*.md text eol=crlf\n" + all + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if after := string(addAttributes([]byte(test.before))); after != test.after {
				t.Errorf("%q, want %q", after, test.after)
			}
			if again := string(addAttributes([]byte(test.after))); again != test.after {
				t.Errorf("again: %q", again)
			}
		})
	}
}

func TestImageEntryRequiresTagOrDigest(t *testing.T) {
	digest := "sha256:" + strings.Repeat("ab", 32)
	for asked, want := range map[string]string{
		"":                                    "- name: gatehouse-controller\n  newTag: \"dev\"\n",
		"gatehouse-controller:v1":             "- name: gatehouse-controller\n  newTag: \"v1\"\n",
		"localhost:5000/gatehouse:1.0":        "- name: gatehouse-controller\n  newName: localhost:5000/gatehouse\n  newTag: \"1.0\"\n",
		"example.com/a/b@" + digest:           "- name: gatehouse-controller\n  newName: example.com/a/b\n  digest: " + digest + "\n",
		"example.com/a/b:v2@" + digest:        "- name: gatehouse-controller\n  newName: example.com/a/b\n  newTag: \"v2\"\n  digest: " + digest + "\n",
		"example.com/a":                       "has neither tag nor digest: specify example.com/a@sha256:...",
		"example.com/A:v1":                    "must be lowercase",
		"example.com/a:v1\nb":                 "invalid reference format",
		"example.com/a@sha256:abc":            "invalid reference format",
		"example.com/a@" + digest + " --flag": "invalid reference format",
	} {
		entry, err := imageEntry(asked)
		switch {
		case err != nil && (strings.HasPrefix(want, "-") || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %s", asked, err, want)
		case err == nil && entry != want:
			t.Errorf("%q: %s, want %s", asked, entry, want)
		}
	}
	defer func(before string) { Image = before }(Image)
	Image = "example.com/a:v3@" + digest
	if entry, err := imageEntry(""); err != nil || entry != "- name: gatehouse-controller\n  newName: example.com/a\n  newTag: \"v3\"\n  digest: "+digest+"\n" {
		t.Errorf("that of the release: %v, %v", entry, err)
	}
}

func TestCIFilesQuoteBranchesAndFolders(t *testing.T) {
	for _, test := range []struct{ branch, prefix, branches, root string }{
		{"main", "", "- main", "ROOT: ."},
		{"release/1.0", "teams/a", "- release/1.0", "ROOT: teams/a"},
		{"1.0", "team: a", `- "1.0"`, `ROOT: 'team: a'`},
		{"a,b", "true", `- a,b`, `ROOT: "true"`},
	} {
		for _, ci := range []string{github, gitlab} {
			_, content := ciFile(ci, test.branch, test.prefix)
			root := test.root
			if ci == github {
				root = strings.Replace(root, "ROOT", "root", 1)
			}
			if !strings.Contains(content, root+"\n") || ci == github && !strings.Contains(content, test.branches+"\n") {
				t.Errorf("%s, %v:\n%s", ci, test, content)
			}
		}
	}
}
