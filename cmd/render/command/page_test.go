package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const pagePath = "rendered/prod/README.md"

// repositoryWithPage has an object of a kind.
func repositoryWithPage(t *testing.T) string {
	root := repository(t)
	writeFile(t, root, "a.yaml", "apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: a, namespace: shop}\nspec: {size: 1}\n")
	return root
}

// The page of an environment is written, checked, listed and pruned like other rendered files.
func TestPageIsWrittenAndPruned(t *testing.T) {
	root := repositoryWithPage(t)
	page := filepath.Join(root, pagePath)
	listed := func(want func(environmentReport) []string, args ...string) {
		t.Helper()
		out, _, _, err := execute(append(args, "--all", "--root", root, "-o", "json")...)
		var r report
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		if err != nil || !slices.Contains(want(r.Environments[0]), pagePath) {
			t.Errorf("error %v: %s", err, out)
		}
	}
	written := func(e environmentReport) []string { return e.Written }
	listed(written, "--check")
	listed(written)
	listed(func(e environmentReport) []string { return e.Unchanged })

	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, append(content, "lies\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	out, errOut, code, err := execute("--all", "--check", "--root", root)
	if code != exitDiffers || err != nil || !strings.Contains(out, "+++ b/"+pagePath) || !strings.Contains(out, "\n-lies\n") {
		t.Errorf("exit code %d, error %v: %s%s", code, err, out, errOut)
	}
	if _, _, code, err := execute("--all", "--root", root); code != 0 || err != nil {
		t.Error(code, err)
	}
	if after, err := os.ReadFile(page); err != nil || string(after) != string(content) {
		t.Errorf("%v: %s", err, after)
	}

	if err := os.Rename(filepath.Join(root, "environments/prod"), filepath.Join(root, "environments/dev")); err != nil {
		t.Fatal(err)
	}
	out, errOut, code, err = execute("--all", "--root", root)
	if code != 0 || err != nil || !strings.Contains(out, "prod: 0 objects, 0 written, 6 pruned, 0 unchanged") {
		t.Errorf("exit code %d, error %v: %s%s", code, err, out, errOut)
	}
	if _, err := os.Stat(filepath.Dir(page)); !os.IsNotExist(err) {
		t.Errorf("rendered/prod is left: %v", err)
	}
}

// A page that a person wrote stays, and all else is rendered; --strict does not pass it.
func TestPageOfAPersonStays(t *testing.T) {
	root := repositoryWithPage(t)
	page := filepath.Join(root, pagePath)
	if err := os.MkdirAll(filepath.Dir(page), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, []byte("# Mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const warning = pagePath + ": warning: render did not write it, and keeps it: rename it, or move it to environments/prod, so that render can write its own\n"
	for _, step := range []struct {
		args    []string
		code    int
		out     string
		warning string
	}{
		{nil, 0, "prod: 3 objects, 5 written, 0 pruned, 0 unchanged, 1 warning\n", warning},
		{nil, 0, "prod: 3 objects, 0 written, 0 pruned, 5 unchanged, 1 warning\n", warning},
		{[]string{"--check"}, 0, "", warning},
		{[]string{"--strict"}, exitError, "", strings.Replace(warning, "warning: ", "", 1)},
	} {
		out, errOut, code, err := execute(append(step.args, "--all", "--root", root)...)
		if err != nil || code != step.code || out != step.out || !strings.HasPrefix(errOut, step.warning) {
			t.Errorf("%q: exit code %d, error %v: %s%s", step.args, code, err, out, errOut)
		}
		if content, err := os.ReadFile(page); err != nil || string(content) != "# Mine\n" {
			t.Errorf("%v: %s", err, content)
		}
	}
}
