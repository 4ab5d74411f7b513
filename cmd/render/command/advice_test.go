package command

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A check fails because of a file that no index lists. Rendering leaves it, and warns.
func TestOrphansFailACheck(t *testing.T) {
	root := repository(t)
	writeFile(t, root, "../../rendered/prod/shop/mine.yaml", "mine")
	writeFile(t, root, "../../rendered/prod/.gitkeep", "")
	writeFile(t, root, "../../rendered/old/a.yaml", "old")
	const mine = "rendered/prod/shop/mine.yaml: "
	const old = "rendered/old: "
	for _, test := range []struct {
		args string
		code int
		want []string
	}{
		{"--all", 0, []string{old, mine}},
		{"--all --check", exitDiffers, []string{old, mine, "2 paths in rendered/ that render did not write"}},
		{"--all --check --strict", exitDiffers, []string{old, mine, "2 paths in rendered/ that render did not write"}},
		{"--env prod --check", exitDiffers, []string{mine, "1 path in rendered/ that render did not write"}},
		{"--env prod", 0, []string{mine}},
		{"--env prod --strict", exitError, []string{mine, "error: 1 problem, nothing was written"}},
	} {
		_, errOut, code, err := execute(append(strings.Fields(test.args), "--root", root)...)
		lines := strings.Split(strings.TrimSpace(errOut), "\n")
		if err != nil || code != test.code || len(lines) != len(test.want) {
			t.Fatalf("%s: exit code %d, error %v: %s", test.args, code, err, errOut)
		}
		for i, want := range test.want {
			if !strings.HasPrefix(lines[i], want) || strings.HasSuffix(want, ": ") && !strings.Contains(lines[i], "remove it, or move ") {
				t.Errorf("%s: %s, want %s", test.args, lines[i], want)
			}
		}
	}
	out, _, code, err := execute("--all", "--check", "--root", root, "-o", "json")
	var r report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if err != nil || code != exitDiffers || len(r.Orphans) != 2 || r.Orphans[0].File != "rendered/old" {
		t.Errorf("exit code %d, error %v: %s", code, err, out)
	}
	for _, dir := range []string{"rendered/old", "rendered/prod/shop/mine.yaml"} {
		if err := os.RemoveAll(filepath.Join(root, dir)); err != nil {
			t.Fatal(err)
		}
	}
	if out, errOut, code, err := execute("--all", "--check", "--root", root); err != nil || code != 0 || out+errOut != "" {
		t.Errorf("without them: exit code %d, error %v: %s%s", code, err, out, errOut)
	}
}

func TestCheckPrintsTheRenderCommand(t *testing.T) {
	root := repository(t)
	for _, test := range []struct {
		flags selected
		want  string
	}{
		{selected{root: root}, "render --all --root " + root},
		{selected{root: ""}, "render --all"},
		{selected{root: "it's here"}, `render --all --root 'it'\''s here'`},
	} {
		test.flags.All = true
		if got := test.flags.renderCommand(); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
	for args, want := range map[string]string{
		"--all":                       "rendered/ is not up to date: run render --all --root " + root + "\n",
		"--env prod --output json":    "rendered/ is not up to date: run render --env prod --root " + root + "\n",
		"-e prod --env prod --env no": "environments/no: no such environment: there is prod\nerror: 1 problem, nothing was written\n",
	} {
		out, errOut, _, err := execute(append(strings.Fields(args), "--check", "--root", root)...)
		if err != nil || errOut != want || strings.Contains(out, "up to date") {
			t.Errorf("%s: error %v: %s, want %s", args, err, errOut, want)
		}
	}
}

func TestAnnotationsExplainAFailedCheck(t *testing.T) {
	root := repository(t)
	t.Setenv("GITHUB_WORKSPACE", root)
	out, errOut, code, err := execute("--all", "--check", "-o", "github", "--root", root)
	if code != exitDiffers || err != nil || errOut != "" || !strings.HasSuffix(out, "\n::error title=render::rendered/ is not up to date: run render --all --root "+root+"\n") {
		t.Errorf("exit code %d, error %v: %s%s", code, err, out, errOut)
	}
	if _, _, code, err := execute("--all", "--root", root); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	for i := range 2 {
		writeFile(t, root, fmt.Sprintf("../../rendered/prod/mine-%d.yaml", i), "mine")
	}
	for args, command := range map[string]string{"--all --check": "::error ", "--all": "::warning "} {
		out, _, _, _ := execute(append(strings.Fields(args), "-o", "github", "--root", root)...)
		if n := strings.Count(out, command+"file=rendered/prod/mine-"); n != 2 {
			t.Errorf("%s: %d annotations: %s", args, n, out)
		}
	}
}
