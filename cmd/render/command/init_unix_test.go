//go:build unix

package command

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadOnlyFoldersChangeNothing(t *testing.T) {
	dir := gitRepository(t)
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := process(t, asNobody, "init", "--root", dir)
	cmd.Env = append(cmd.Env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	before := filesBelow(t, dir)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.HasPrefix(string(out), "error: nothing was written: write ") || !strings.HasSuffix(string(out), ": permission denied\n") {
		t.Errorf("init: %v: %s", err, out)
	}
	if after := filesBelow(t, dir); after != before {
		t.Errorf("init changed it to %s", after)
	}

	root := repository(t)
	for name, mode := range map[string]fs.FileMode{"..": 0o755, "environments/prod": 0o555} {
		if err := os.Chmod(filepath.Join(root, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	before = filesBelow(t, root)
	out, err = process(t, asNobody, "new", "memcached", "a", "--env", "prod", "--root", root).CombinedOutput()
	if want := "error: nothing was changed: write environments/prod/memcached-a.yaml: permission denied\n"; err == nil || string(out) != want {
		t.Errorf("new: %v: %s", err, out)
	}
	if after := filesBelow(t, root); after != before {
		t.Errorf("new changed it to %s", after)
	}
}
