package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind/gatehouse"
)

// gitIn runs git in a repository.
func gitIn(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@t"},
		args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(args, err)
	}
	return strings.TrimSpace(string(out))
}

// guarded runs render where the watchdog has to end it.
func guarded(t *testing.T, dir string, environ []string, args ...string) {
	t.Helper()
	cmd := process(t, "", args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, environ...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitError || !strings.Contains(string(out), ", raise --max-") {
		t.Errorf("%s: %v: %.2000s", strings.Join(args, " "), err, out)
	}
}

// Each command of the tree of commands, and completion, reads its first file under the watchdog.
func TestEveryCommandReadsUnderTheWatchdog(t *testing.T) {
	root := repository(t)
	gitIn(t, root, "", "init", "-q", "-b", "main")
	gitIn(t, root, "", "add", "-A")
	gitIn(t, root, "", "commit", "-qm", "base")
	// What a command needs before it reads.
	needs := map[string][]string{
		"render":             {"--all", "--check"},
		"render diff":        {"--base", "HEAD"},
		"render explain":     {"configmap/a"},
		"render upgrade":     {"--kubernetes", "1.36", "--all"},
		"render images":      {"--all"},
		"render new":         {"memcached", "--env", "prod", "name"},
		"render sync flux":   {"--env", "prod", "--repo", "https://example.com/r.git"},
		"render sync argocd": {"--env", "prod", "--repo", "https://example.com/r.git"},
		"render publish":     {"--env", "prod"},
		"render apply":       {"--env", "prod"},
		"render delete":      {"--env", "prod"},
	}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, below := range cmd.Commands() {
			visit(below)
		}
		isMenu := cmd.HasParent() && cmd.HasSubCommands()
		reads := !isMenu && !strings.HasPrefix(cmd.CommandPath(), "render completion") && cmd.Name() != "help" &&
			cmd.Name() != "version"
		if cmd.Runnable() && reads {
			path := strings.Fields(cmd.CommandPath())[1:]
			guarded(t, root, []string{withoutCPU + "=1"}, slices.Concat(path, needs[cmd.CommandPath()])...)
		}
	}
	visit(newCommand(gatehouse.All(), nil))
	guarded(t, root, []string{withoutCPU + "=1"}, cobra.ShellCompRequestCmd, "--env", "")
	guarded(t, root, []string{withoutCPU + "=1"}, "--changed-since", "HEAD", "--check")
	guarded(t, root, []string{withoutCPU + "=1"}, "--all", "--check", "--staged")
}

// A tree of git is a few bytes, and each level has the one below ten times.
func TestWatchdogCountsGit(t *testing.T) {
	root := repository(t)
	gitIn(t, root, "", "init", "-q", "-b", "main")
	gitIn(t, root, "", "add", "-A")
	gitIn(t, root, "", "commit", "-qm", "base")
	tree := gitIn(t, root, "", "mktree")
	for range 13 {
		var entries strings.Builder
		for i := range 10 {
			fmt.Fprintf(&entries, "040000 tree %s\td%d\n", tree, i)
		}
		tree = gitIn(t, root, entries.String(), "mktree")
	}
	gitIn(t, root, "", "branch", "evil", gitIn(t, root, "", "commit-tree", "-m", "evil", tree))
	guarded(t, root, nil, "diff", "--base", "evil", "--max-cpu", "1s")
}

// Ten environments, each below the limit of the run, are above it together.
func TestWatchdogCountsAllEnvironments(t *testing.T) {
	root := t.TempDir()
	write := func(file, content string) {
		path := filepath.Join(root, "environments", file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		write(fmt.Sprintf("e%d/kustomization.yaml", i), "helmCharts: [{name: c, releaseName: c}]\n")
		write(fmt.Sprintf("e%d/charts/c/Chart.yaml", i), "apiVersion: v2\nname: c\nversion: 1.0.0\n")
		write(fmt.Sprintf("e%d/charts/c/templates/a.yaml", i), "{{ range until 200000 }}{{ len (print 1 2 3) }}{{ end }}\n")
	}
	alone := process(t, "", "--env", "e0", "--check", "--max-cpu", "3s")
	alone.Dir = root
	if out, _ := alone.CombinedOutput(); strings.Contains(string(out), "--max-cpu") {
		t.Errorf("one environment is above the limit of all: %s", out)
	}
	guarded(t, root, nil, "--all", "--check", "--max-cpu", "3s")
}
