//go:build unix

package command

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// unprivileged is an unprivileged user. Permissions do not restrict root.
const unprivileged = 65534

const (
	withSmallFiles = "small files"
	asNobody       = "unprivileged"
)

func init() {
	limits[withSmallFiles] = func() error {
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 16, Max: 1 << 16})
	}
	limits[asNobody] = func() error {
		if os.Getuid() != 0 {
			return nil
		}
		return syscall.Setuid(unprivileged)
	}
}

// A file that cannot be written is one too many for all environments.
func TestUnwritableFileIsAnError(t *testing.T) {
	root := changed(t)
	mustChangeNothing(t, root, withSmallFiles, "error: nothing was changed: write rendered/staging/default/configmap-b.yaml: file too large\n")
	if out, err := process(t, "", "--all", "--root", root).CombinedOutput(); err != nil {
		t.Errorf("without the limit: %v: %s", err, out)
	}
}

// A folder that files cannot be written to, or removed from, is one too many as well.
func TestReadOnlyFolderIsAnError(t *testing.T) {
	for folder, want := range map[string]string{
		"rendered":           "write rendered/staging/kustomization.yaml",
		"rendered/prod":      "write rendered/prod/kustomization.yaml",
		"rendered/prod/shop": "write rendered/prod/shop/configmap-b.yaml",
		"rendered/prod/old":  "remove rendered/prod/old/configmap-a.yaml",
	} {
		t.Run(folder, func(t *testing.T) {
			root := changed(t)
			for _, dir := range []string{"rendered", "rendered/prod", "rendered/prod/shop", "rendered/prod/old"} {
				mode := fs.FileMode(0o777)
				if dir == folder {
					mode = 0o555
				}
				if err := os.Chmod(filepath.Join(root, dir), mode); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(filepath.Dir(root), 0o755); err != nil {
				t.Fatal(err)
			}
			mustChangeNothing(t, root, asNobody, "error: nothing was changed: "+want+": permission denied\n")
		})
	}
}
