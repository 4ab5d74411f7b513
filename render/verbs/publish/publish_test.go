package publish

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\ndata:\n  k: v\n"

// TestPublishedCommitsAreVerified publishes an environment twice, and verifies the commits and forged ones.
func TestPublishedCommitsAreVerified(t *testing.T) {
	dir := repository(t)
	first := publish(t, dir, Options{Environment: "prod"})
	if first.Branch != "env/prod" || !first.Changed || first.Source != runGit(t, dir, "rev-parse", "HEAD") {
		t.Errorf("published %+v", first)
	}
	if again := publish(t, dir, Options{Environment: "prod"}); again.Changed || again.Commit != first.Commit {
		t.Errorf("published again %+v", again)
	}
	if files := runGit(t, dir, "ls-tree", "-r", "--name-only", "env/prod"); strings.Contains(files, "environments/") || !strings.Contains(files, "rendered/prod/shop/configmap-a.yaml") {
		t.Errorf("the commit has %s", files)
	}
	edit(t, dir, strings.Replace(configMap, "k: v", "k: w", 1))
	second := publish(t, dir, Options{Environment: "prod"})
	if parent := runGit(t, dir, "rev-parse", second.Commit+"^"); parent != first.Commit {
		t.Errorf("the parent is %s, want %s", parent, first.Commit)
	}
	if reasons := verify(t, dir, "env/prod"); len(reasons) > 0 {
		t.Errorf("a published commit differs: %v", reasons)
	}

	forged := runGit(t, dir, "commit-tree", "-m", runGit(t, dir, "log", "-1", "--format=%B", "env/prod"), "-p", second.Commit, first.Commit+"^{tree}")
	runGit(t, dir, "branch", "-f", "env/prod", forged)
	if reasons := verify(t, dir, "env/prod"); !slices.Contains(reasons, "rendered/prod/shop/configmap-a.yaml") {
		t.Errorf("a forged commit differs in %v", reasons)
	}
}

// TestNothingIsPublishedThatIsNotCommitted has changes of the work tree.
func TestNothingIsPublishedThatIsNotCommitted(t *testing.T) {
	dir := repository(t)
	write(t, dir, "environments/prod/a.yaml", strings.Replace(configMap, "k: v", "k: x", 1))
	r := open(t, dir)
	result, problems, err := Run(t.Context(), r, Options{Environment: "prod"}, func(string) {})
	if result != nil || err != nil || len(problems) == 0 || problems[0].File != "environments/prod/a.yaml" {
		t.Errorf("got %+v, %v, %v", result, problems, err)
	}
	if branches := runGit(t, dir, "branch", "--list", "env/*"); branches != "" {
		t.Errorf("there are %s", branches)
	}
}

// TestADryRunMovesNoBranch and tells the change.
func TestADryRunMovesNoBranch(t *testing.T) {
	dir := repository(t)
	if result := publish(t, dir, Options{Environment: "prod", DryRun: true, Branch: "live"}); !result.DryRun || !result.Changed {
		t.Errorf("got %+v", result)
	}
	if branches := runGit(t, dir, "branch", "--list", "live"); branches != "" {
		t.Errorf("there are %s", branches)
	}
}

func publish(t *testing.T, dir string, options Options) *Result {
	t.Helper()
	result, problems, err := Run(t.Context(), open(t, dir), options, func(string) {})
	if err != nil || len(problems) > 0 {
		t.Fatalf("publish: %v, %v", problems, err)
	}
	return result
}

// verify returns the files of a published commit that differ.
func verify(t *testing.T, dir, revision string) (files []string) {
	t.Helper()
	v, problems, err := Verify(t.Context(), open(t, dir), "prod", revision, "", func(string) {})
	if err != nil || len(problems) > 0 {
		t.Fatalf("verify: %v, %v", problems, err)
	}
	for _, d := range v.Differences {
		files = append(files, d.File)
	}
	return files
}

// repository returns a git repository with a rendered and committed environment.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	runGit(t, dir, "init", "--quiet", "--initial-branch=main")
	runGit(t, dir, "config", "user.name", "A")
	runGit(t, dir, "config", "user.email", "a@example.com")
	write(t, dir, "environments/prod/kustomization.yaml", "resources: [a.yaml]\n")
	edit(t, dir, configMap)
	return dir
}

// edit writes, renders and commits the ConfigMap.
func edit(t *testing.T, dir, content string) {
	t.Helper()
	write(t, dir, "environments/prod/a.yaml", content)
	update, err := render.NewUpdate(t.Context(), open(t, dir), render.Selection{Names: []string{"prod"}}, func(_, _ string) {})
	if err != nil || update.Failed() {
		t.Fatal(err, update)
	}
	defer update.Close()
	if err := errors.Join(update.Stage(t.Context()), update.Commit()); err != nil {
		t.Fatal(err)
	}
	runGit(t, dir, "add", ".")
	runGit(t, dir, "commit", "--quiet", "--message=edit")
}

func open(t *testing.T, dir string) *render.Repository {
	t.Helper()
	r, err := render.Open(dir, gatehouse.All(), render.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}
