//go:build unix

package regular

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func open(t *testing.T) (dir string, root *os.Root) {
	t.Helper()
	dir = t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return dir, root
}

func TestReadFileReadsOnlyRegularFilesOfABoundedSize(t *testing.T) {
	dir, root := open(t)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, create := range map[string]func(name string) error{
		"folder":  func(name string) error { return os.Mkdir(name, 0o755) },
		"pipe":    func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"outside": func(name string) error { return os.Symlink(outside, name) },
		"device":  func(name string) error { return os.Symlink("/dev/zero", name) },
		"huge": func(name string) error {
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(name, MaxSize+1)
		},
	} {
		if err := create(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if content, err := ReadFile(root, name); err == nil {
			t.Errorf("%s has %d bytes", name, len(content))
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "link"} {
		if content, err := ReadFile(root, name); err != nil || string(content) != "content" {
			t.Errorf("%s has %q, %v", name, content, err)
		}
	}
}

func TestReplaceFileLeavesOneFile(t *testing.T) {
	dir, root := open(t)
	for _, content := range []string{"first", "second"} {
		if err := ReplaceFile(root, "new/folder/file", []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "new/folder/file")); err != nil || string(got) != content {
			t.Errorf("the file has %q, %v", got, err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "new/folder"))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}
