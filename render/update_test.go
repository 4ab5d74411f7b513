package render

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// configMaps returns an environment of n ConfigMaps with a version.
func configMaps(n int, version string) string {
	var b strings.Builder
	b.WriteString("-- environments/prod/kustomization.yaml --\nresources: [all.yaml]\n-- environments/prod/all.yaml --\n")
	for i := range n {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%d, namespace: shop}\ndata: {version: %q}\n", version, i, version)
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: same-%d, namespace: shop}\ndata: {version: %q}\n", i, version)
	}
	return b.String()
}

func rendered(t *testing.T, root string) string {
	return snapshot(t, filepath.Join(root, "rendered"))
}

func TestWriteTouchesOnlyWhatChanges(t *testing.T) {
	root := write(t, configMaps(2, "v1"))
	mustRun(t, root)
	write(t, "-- rendered/prod/shop/notes.txt --\nmine\n-- rendered/prod/mine.yaml --\nmine\n", root)
	same := filepath.Join(root, "rendered/prod/shop/configmap-same-0.yaml")
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(same, long, long); err != nil {
		t.Fatal(err)
	}
	before := rendered(t, root)

	report := mustRun(t, root)
	if report.Changes() {
		t.Errorf("second run: %+v", report)
	}
	if info, _ := os.Stat(same); !info.ModTime().Equal(long.Truncate(0)) {
		t.Errorf("unchanged file was touched")
	}
	equal(t, "second run", before, rendered(t, root))

	write(t, configMaps(1, "v1"), root)
	report = mustRun(t, root)
	if got := len(report.Environments[0].Plan.Pruned()); got != 2 {
		t.Errorf("pruned %d files, want 2", got)
	}
	for _, mine := range []string{"shop/notes.txt", "mine.yaml"} {
		if _, err := os.Stat(filepath.Join(root, "rendered/prod", mine)); err != nil {
			t.Errorf("foreign file: %v", err)
		}
	}
}

func TestWriteRefusesFilesOfOthers(t *testing.T) {
	for name, foreign := range map[string]string{
		"manifest":      "-- rendered/prod/shop/configmap-same-0.yaml --\nmine\n",
		"kustomization": "-- rendered/prod/kustomization.yaml --\nresources: []\n",
		"folder":        "-- rendered/prod/shop/configmap-same-0.yaml/a --\nmine\n",
	} {
		t.Run(name, func(t *testing.T) {
			root := write(t, configMaps(1, "v1")+foreign)
			before := snapshot(t, root)
			problems := problemsOf(run(t, root))
			if len(problems) != 1 || !strings.Contains(problems[0], "move it away") {
				t.Errorf("problems: %q", problems)
			}
			equal(t, "files", before, snapshot(t, root))
		})
	}
}

// A pull request may add any file. No link and no line of an index leads out of the environment's
// folder.
func TestWriteStaysInItsFolder(t *testing.T) {
	outside := write(t, "-- precious.yaml --\nkeep\n-- shop/configmap-same-0.yaml --\nkeep\n")
	for name, attack := range map[string]func(root string) error{
		"linked folder":      func(root string) error { return os.Symlink(outside, filepath.Join(root, "rendered")) },
		"linked environment": func(root string) error { return link(outside, root, "rendered/prod") },
		"linked namespace":   func(root string) error { return link(filepath.Join(outside, "shop"), root, "rendered/prod/shop") },
		"linked to sources":  func(root string) error { return link("../environments/prod", root, "rendered/prod") },
		"linked inside":      func(root string) error { return link("../../environments", root, "rendered/prod/shop") },
		"linked file": func(root string) error {
			return link(filepath.Join(outside, "precious.yaml"), root, "rendered/prod/shop/configmap-same-0.yaml")
		},
		"index": func(root string) error {
			write(t, "-- rendered/prod/kustomization.yaml --\n"+"# Written by gatehouse render, which owns the files listed here: do not edit.\n"+"resources:\n- ../../environments/prod/all.yaml\n- shop/../../../environments/prod/all.yaml\n- /etc/passwd\n- shop/.hidden.yaml\n- .git/config.yaml\n-- rendered/prod/shop/.hidden.yaml --\nkeep\n", root)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := write(t, configMaps(1, "v1"))
			if err := attack(root); err != nil {
				t.Fatal(err)
			}
			before, sources := snapshot(t, outside), snapshot(t, filepath.Join(root, "environments"))
			report, err := update(t.Context(), root, Selection{Names: []string{"prod"}})
			if err == nil && !report.Failed() && name != "index" {
				t.Errorf("no error")
			}
			equal(t, "outside", before, snapshot(t, outside))
			equal(t, "environments/", sources, snapshot(t, filepath.Join(root, "environments")))
			if name == "index" {
				if _, err := os.Stat(filepath.Join(root, "rendered/prod/shop/.hidden.yaml")); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func link(target, root, name string) error {
	name = filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.Symlink(target, name)
}

func TestReadStaysInRepository(t *testing.T) {
	outside := write(t, "-- secret.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: stolen}\n-- kustomization.yaml --\nresources: [secret.yaml]\n")
	for name, test := range map[string]struct{ target, resource string }{
		"file":   {filepath.Join(outside, "secret.yaml"), "stolen.yaml"},
		"folder": {outside, "stolen"},
	} {
		t.Run(name, func(t *testing.T) {
			root := write(t, "-- environments/prod/kustomization.yaml --\nresources: ["+test.resource+"]\n")
			if err := link(test.target, root, "environments/prod/"+test.resource); err != nil {
				t.Fatal(err)
			}
			problems := problemsOf(run(t, root))
			if len(problems) != 1 || !strings.Contains(problems[0], "leads out of") {
				t.Errorf("problems: %q", problems)
			}
		})
	}
}

func TestUpdateRemovesGoneEnvironment(t *testing.T) {
	root := write(t, configMaps(1, "v1")+"-- environments/dev/kustomization.yaml --\nresources: [a.yaml]\n-- environments/dev/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	mustRun(t, root)
	if err := os.RemoveAll(filepath.Join(root, "environments/dev")); err != nil {
		t.Fatal(err)
	}
	report, err := update(t.Context(), root, Selection{Names: []string{"dev"}})
	if err != nil || !report.Failed() {
		t.Errorf("asked for by name: %+v, %v", report, err)
	}
	mustRun(t, root)
	if _, err := os.Stat(filepath.Join(root, "rendered/dev")); !os.IsNotExist(err) {
		t.Errorf("rendered/dev is still there: %v", err)
	}
}

func TestUpdateReplacesIndexWithMergeConflict(t *testing.T) {
	root := write(t, configMaps(1, "v1"))
	mustRun(t, root)
	want := rendered(t, root)
	write(t, "-- rendered/prod/kustomization.yaml --\n"+"# Written by gatehouse render, which owns the files listed here: do not edit.\n"+`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
<<<<<<< HEAD
- shop/configmap-same-0.yaml
=======
- shop/configmap-theirs.yaml
>>>>>>> theirs
-- rendered/prod/shop/configmap-theirs.yaml --
theirs
-- rendered/prod/shop/configmap-v1-0.yaml --
`+"apiVersion: v1\ndata:\n  version: v1\nkind: ConfigMap\nmetadata:\n  name: v1-0\n  namespace: shop\n", root)
	mustRun(t, root)
	equal(t, "rendered/", want, rendered(t, root))
}

func TestPlanChangesNoFile(t *testing.T) {
	root := write(t, configMaps(1, "v1"))
	mustRun(t, root)
	write(t, configMaps(1, "v2"), root)
	before := snapshot(t, root)
	report, err := plan(t.Context(), root, Selection{All: true})
	if err != nil || !report.Changes() {
		t.Fatalf("check: %+v, %v", report, err)
	}
	defer report.Close()
	equal(t, "a plan changed files", before, snapshot(t, root))
	diff := report.Environments[0].Plan.Diff()

	apply := exec.Command("git", "apply", "-")
	apply.Dir, apply.Stdin = root, strings.NewReader(diff)
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s\n%s", err, out, diff)
	}
	if report := mustRun(t, root); report.Changes() {
		t.Errorf("after git apply there is more to do: %+v", report)
	}
}

// renderForever is set in the processes that TestUpdateSurvivesKill kills.
const renderForever = "RENDER_TEST_ROOT"

func TestMain(m *testing.M) {
	if root := os.Getenv(renderForever); root != "" {
		for i := 0; ; i = 1 - i {
			variant := filepath.Join(root, []string{"v1", "v2"}[i]+".yaml")
			content, _ := os.ReadFile(variant)
			_ = os.WriteFile(filepath.Join(root, "environments/prod/all.yaml"), content, 0o644)
			if _, err := update(context.Background(), root, Selection{All: true}); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(m.Run())
}

// TestUpdateSurvivesKill kills runs at random instants. The next run completes the update and removes
// their traces.
func TestUpdateSurvivesKill(t *testing.T) {
	root := write(t, configMaps(40, "v1"))
	for _, version := range []string{"v1", "v2"} {
		write(t, configMaps(40, version), root)
		content, _ := os.ReadFile(filepath.Join(root, "environments/prod/all.yaml"))
		if err := os.WriteFile(filepath.Join(root, version+".yaml"), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mustRun(t, root)
	want := rendered(t, root)
	for range 30 {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), renderForever+"="+root)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50*time.Millisecond + rand.N(100*time.Millisecond))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		write(t, configMaps(40, "v2"), root)
		mustRun(t, root)
		equal(t, "rendered/ after a kill", want, rendered(t, root))
	}
}

func TestUpdatesExcludeEachOther(t *testing.T) {
	root := write(t, configMaps(40, "v1"))
	mustRun(t, root)
	write(t, configMaps(40, "v2"), root)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() { mustRun(t, root) })
	}
	wait.Wait()
	got := rendered(t, root)
	mustRun(t, root)
	equal(t, "rendered/", rendered(t, root), got)
}
