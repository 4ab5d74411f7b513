package render

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/kind/gatehouse"
)

// twoEnvironments returns dev and prod. Each has a ConfigMap that stays, one that changes with the
// version and one with the version in its name.
func twoEnvironments(version string) string {
	var b strings.Builder
	for _, e := range []string{"dev", "prod"} {
		b.WriteString("-- environments/" + e + "/kustomization.yaml --\nresources: [all.yaml]\n-- environments/" + e + "/all.yaml --\n")
		for _, o := range []string{"stays, namespace: a}", "changes, namespace: b}\ndata: {v: " + version + "}", "only-" + version + ", namespace: " + version + "}"} {
			b.WriteString("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + o + "\n")
		}
	}
	return b.String()
}

// staged plans to write the second version, calls before, and stages the update.
func staged(t *testing.T, root string, before func()) (*Update, error) {
	t.Helper()
	write(t, twoEnvironments("v2"), root)
	repository, err := Open(root, gatehouse.All(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(repository.Close)
	u, err := NewUpdate(t.Context(), repository, Selection{All: true}, func(string, string) {})
	if err != nil {
		t.Fatal(err)
	}
	before()
	return u, u.Stage(t.Context())
}

// A run that cannot write one of its files changes no file.
func TestStageFailsWithoutChanges(t *testing.T) {
	for name, test := range map[string]struct {
		obstacle, want string
	}{
		"a new folder":             {"rendered/prod/v2", "nothing was changed: rendered/prod/v2 is not a folder: move it away"},
		"the first of the folders": {"rendered", "nothing was changed: write rendered/dev/"},
	} {
		t.Run(name, func(t *testing.T) {
			root := write(t, twoEnvironments("v1"))
			if test.obstacle != "rendered" {
				mustRun(t, root)
			}
			var before string
			u, err := staged(t, root, func() {
				if err := os.WriteFile(filepath.Join(root, test.obstacle), []byte("mine"), 0o600); err != nil {
					t.Fatal(err)
				}
				before = listing(t, root) + snapshot(t, root)
			})
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			u.Close()
			equal(t, "files", before, listing(t, root)+snapshot(t, root))
		})
	}
}

// Staged files that are not committed leave no trace, even of the first run.
func TestCloseDiscardsStagedFiles(t *testing.T) {
	for _, first := range []bool{true, false} {
		root := write(t, twoEnvironments("v1"))
		if !first {
			mustRun(t, root)
		}
		var before string
		u, err := staged(t, root, func() { before = listing(t, root) + snapshot(t, root) })
		if err != nil {
			t.Fatal(err)
		}
		if listing(t, root)+snapshot(t, root) == before {
			t.Error("nothing was staged")
		}
		u.Close()
		equal(t, "files", before, listing(t, root)+snapshot(t, root))
	}
}

// If the disk fails midway, the error lists the written files, the others leave no trace, and the next
// run completes the update.
func TestCommitListsWrittenFilesOnError(t *testing.T) {
	root := write(t, twoEnvironments("v1"))
	mustRun(t, root)
	u, err := staged(t, root, func() {})
	if err != nil {
		t.Fatal(err)
	}
	obstacle := filepath.Join(root, "rendered/prod/v2/configmap-only-v2.yaml")
	write(t, "-- rendered/prod/v2/configmap-only-v2.yaml/mine --\nmine\n", root)
	err = u.Commit()
	u.Close()
	if err == nil {
		t.Fatal("no error")
	}
	equal(t, "error", `write rendered/prod/v2/configmap-only-v2.yaml: file exists
rendered/dev: all was changed
rendered/prod/kustomization.yaml: written, with the files of before and after
rendered/prod/b/configmap-changes.yaml: written
rendered/prod/v2/configmap-only-v2.yaml: not written
rendered/prod/v1/configmap-only-v1.yaml: not removed
rendered/prod/kustomization.yaml: not written
render again to complete it`, err.Error())
	if files := listing(t, root); strings.Contains(files, ".render-") {
		t.Errorf("temporary files are left:\n%s", files)
	}
	if err := os.RemoveAll(obstacle); err != nil {
		t.Fatal(err)
	}
	mustRun(t, root)
	equal(t, "rendered/", fresh(t, "v2"), rendered(t, root))
}

// fresh renders a version into a new repository and returns the files.
func fresh(t *testing.T, version string) string {
	t.Helper()
	root := write(t, twoEnvironments(version))
	mustRun(t, root)
	return rendered(t, root)
}

// The next run completes a run that died with all files staged, or between two environments. A run of
// the previous version undoes it.
func TestUpdateRepairsDeadRun(t *testing.T) {
	for committed := range 3 {
		for _, version := range []string{"v1", "v2"} {
			root := write(t, twoEnvironments("v1"))
			mustRun(t, root)
			u, err := staged(t, root, func() {})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range slices.Clone(u.Environments)[:committed] {
				if err := e.Plan.Commit(); err != nil {
					t.Fatal(err)
				}
			}
			write(t, twoEnvironments(version), root)
			mustRun(t, root) // u is not closed, as if its run had died
			equal(t, "rendered/", fresh(t, version), rendered(t, root))
			want := write(t, twoEnvironments(version))
			mustRun(t, want)
			equal(t, "folders", strings.ReplaceAll(listing(t, want), want, ""), strings.ReplaceAll(listing(t, root), root, ""))
		}
	}
}

// The next run removes folders that a dead first run staged and that nothing needs.
func TestUpdateRemovesFoldersOfDeadFirstRun(t *testing.T) {
	root := write(t, twoEnvironments("v1"))
	if _, err := staged(t, root, func() {}); err != nil {
		t.Fatal(err)
	}
	write(t, twoEnvironments("v1"), root)
	mustRun(t, root)
	equal(t, "rendered/", fresh(t, "v1"), rendered(t, root))
	if _, err := os.Stat(filepath.Join(root, "rendered/prod/v2")); err == nil {
		t.Error("rendered/prod/v2 is left")
	}
}
