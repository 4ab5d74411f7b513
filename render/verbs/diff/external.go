package diff

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/watchdog"
)

// External runs a program that compares two folders with one file per object, like KUBECTL_EXTERNAL_DIFF of
// `kubectl diff`. It returns the exit code 0 or 1 of the program; any other code is an error.
func External(ctx context.Context, command string, changes []compare.Change, out, errOut io.Writer) (int, error) {
	dir, remove, err := watchdog.Scratch()
	if err != nil {
		return 0, err
	}
	defer remove()
	before := filepath.Join(dir, "BEFORE")
	after := filepath.Join(dir, "AFTER")
	if err := errors.Join(os.Mkdir(before, 0o700), os.Mkdir(after, 0o700)); err != nil {
		return 0, err
	}
	for _, c := range changes {
		was, is := c.Texts()
		if err := errors.Join(writeText(before, c, was), writeText(after, c, is)); err != nil {
			return 0, err
		}
	}
	program, rest, _ := strings.Cut(command, " ")
	args := slices.DeleteFunc(strings.Split(rest, " "), func(word string) bool { return !argument.MatchString(word) })
	//nolint:gosec // the user chooses the program
	cmd := exec.CommandContext(ctx, program, append(args, before, after)...)
	cmd.Stdout = out
	cmd.Stderr = errOut
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return 1, nil
	}
	if err != nil {
		return 0, fmt.Errorf("KUBECTL_EXTERNAL_DIFF=%q: %w: choose a program that exits with 0 or 1, or unset it",
			command, err)
	}
	return 0, nil
}

// argument matches the arguments that kubectl passes on. It drops all others.
var argument = regexp.MustCompile(`^[a-zA-Z0-9-=]+$`)

// writeText writes an object, if there is one, to a file like prod.shop.deployment-sessions.yaml.
func writeText(dir string, c compare.Change, text []byte) error {
	if text == nil {
		return nil
	}
	name := cmp.Or(c.AfterFile, c.BeforeFile, compare.LiveName(c.Object().Unstructured))
	name = strings.ReplaceAll(strings.TrimPrefix(name, tree.Folder+"/"), "/", ".")
	if len(name) > 250 {
		name = fmt.Sprintf("%.180s-%x.yaml", name, sha256.Sum256([]byte(name)))
	}
	return os.WriteFile(filepath.Join(dir, name), text, 0o600)
}
