// Package regular reads regular files of a bounded size, and replaces files. In a pull request, a path may name
// anything else: a pipe, a device, a huge file, a link.
package regular

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"syscall"

	"example.com/gatehouse/render/watchdog"
)

// MaxSize is the maximum size of a file, in bytes.
const MaxSize = 64 << 20

// ReadFile returns the content of a regular file below root. It never blocks on a pipe.
func ReadFile(root *os.Root, name string) ([]byte, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file: move it away", name)
	case info.Size() > MaxSize:
		return nil, fmt.Errorf("%s is over %d MiB: split it", name, MaxSize>>20)
	}
	content := make([]byte, info.Size())
	if _, err := io.ReadFull(file, content); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	watchdog.Read(name, len(content))
	return content, nil
}

// ReplaceFile creates or replaces a real file atomically, with the folders above it: see Real. A lock has to exclude
// other runs.
func ReplaceFile(root *os.Root, name string, content []byte) error {
	defer watchdog.Hold()()
	staged := path.Join(path.Dir(name), ".render-new")
	if _, err := Real(root, name); err != nil {
		return err
	}
	err := root.MkdirAll(path.Dir(name), 0o755)
	if err == nil {
		_ = root.Remove(staged)
		err = root.WriteFile(staged, content, 0o644)
	}
	if err == nil {
		err = root.Rename(staged, name)
	}
	if err != nil {
		_ = root.Remove(staged)
		return fmt.Errorf("write %s: %w", name, cmp.Or(errors.Unwrap(err), err)) // hides the name of the staged file
	}
	return nil
}
