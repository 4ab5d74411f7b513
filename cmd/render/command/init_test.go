package command

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func gitRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "git", "-C", dir, "init", "--quiet").CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	return dir
}

func TestOneOfSeveralInitsMakesEverything(t *testing.T) {
	dir := gitRepository(t)
	runs := make([]*exec.Cmd, 4)
	for i := range runs {
		runs[i] = process(t, "", "init", "--root", dir)
		runs[i].Stderr = &bytes.Buffer{}
		if err := runs[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	made := 0
	for _, run := range runs {
		if err := run.Wait(); err == nil {
			made++
		} else if errOut := run.Stderr.(*bytes.Buffer).String(); !strings.HasPrefix(errOut, "error: nothing was written: these files exist already:\n") {
			t.Errorf("%v: %s", err, errOut)
		}
	}
	if made != 1 {
		t.Errorf("%d made everything", made)
	}
	if out, errOut, code, err := execute("--root", dir, "--all", "--check"); code != 0 || err != nil {
		t.Errorf("exit code %d, error %v: %s%s", code, err, out, errOut)
	}
}

func TestObjectsAddedAtOnceAreAllListed(t *testing.T) {
	root := repository(t)
	writeFile(t, root, "kustomization.yaml", "resources:\n- a.yaml\n")
	runs := map[string]*exec.Cmd{}
	for _, name := range []string{"a", "b", "c", "d"} {
		runs[name] = process(t, "", "new", "memcached", name, "--env", "prod", "--root", root)
		if err := runs[name].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for name, run := range runs {
		if err := run.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	content, err := os.ReadFile(filepath.Join(root, "environments/prod/kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range runs {
		if strings.Count(string(content), "memcached-"+name+".yaml") != 1 {
			t.Errorf("%s is not listed once: %s", name, content)
		}
	}
}
