// Package git works on git repositories by the git program. No library handles hooks, signing,
// credentials, worktrees, submodules, sparse, shallow and partial clones, and SHA-256 as it does.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/gatehouse/kind"
)

// Repository is a git repository with a work tree.
type Repository struct {
	// IsShallow reports whether the repository lacks a part of the history.
	IsShallow bool

	dir    string // a folder of the work tree
	prefix string // of the folder, from the top of the work tree
	format string // of objects: sha1 or sha256
}

// Open opens the repository that holds a folder, at or below the top of its work tree.
func Open(ctx context.Context, dir string) (*Repository, error) {
	r := &Repository{dir: dir}
	out, err := r.git(ctx, nil, "rev-parse", "--is-inside-work-tree", "--is-shallow-repository", "--show-object-format", "--show-prefix")
	var failed *Error
	switch {
	case errors.As(err, &failed) && strings.Contains(failed.Message, "not a git repository"):
		return nil, fmt.Errorf("%s is in no git repository: run git init, or name a folder of one with --root", dir)
	case err != nil:
		return nil, err
	}
	lines := strings.SplitN(out, "\n", 4)
	if len(lines) < 4 {
		return nil, fmt.Errorf("%s: git rev-parse says %q: install git 2.31 or later", dir, out)
	}
	if lines[0] != "true" {
		return nil, fmt.Errorf("%s is in no work tree of git: run this in a clone that is not bare, or in one that git worktree add makes", dir)
	}
	r.IsShallow, r.format = lines[1] == "true", lines[2]
	r.prefix = strings.TrimSuffix(strings.TrimSuffix(lines[3], "\n"), "/")
	return r, nil
}

// Prefix returns the path of the folder from the top of the work tree, with slashes; empty where the
// folder is the top.
func (r *Repository) Prefix() string { return r.prefix }

// inFolder returns a path from the top of the work tree relative to the folder.
func (r *Repository) inFolder(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, r.prefix), "/")
}

// Error is the failure of a command of git.
type Error struct {
	// Command is the command of git.
	Command string
	// Message is the output on stderr, on one line and without control characters.
	Message string
	// Code is the exit code.
	Code int
}

func (e *Error) Error() string { return fmt.Sprintf("git %s: %s", e.Command, e.Message) }

// git runs git in the folder and returns what it prints. The error is an *Error, unless git
// could not be run or the context ended.
func (r *Repository) git(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := r.command(ctx, args...)
	cmd.Stdin, cmd.Stderr = stdin, &stderr
	out, err := cmd.Output()
	return string(out), failure(ctx, args, stderr.String(), err)
}

// quit is the time that git has to remove its locks when it is stopped.
const quit = 5 * time.Second

// command returns a command of git in the folder: in English, without a pager, and without writes to the
// index. The folder decides on the repository, not the environment of a hook that runs this program.
func (r *Repository) command(ctx context.Context, args ...string) *exec.Cmd {
	options := []string{"--no-pager", "--no-optional-locks", "-c", "i18n.commitEncoding=UTF-8"}
	if slices.Contains([]string{"ls-tree", "rev-list"}, args[0]) { // other commands may run hooks, and would pass it on
		options = append(options, "--literal-pathspecs")
	}
	cmd := exec.CommandContext(ctx, "git", append(options, args...)...) //nolint:gosec // the first argument is constant
	cmd.Dir = r.dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), isOfRepository), "LC_ALL=C.UTF-8", "LANGUAGE=C", "PWD="+r.dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = quit
	return cmd
}

// isOfRepository reports whether a variable of the environment selects a repository.
func isOfRepository(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return slices.Contains([]string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE",
		"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_INTERNAL_SUPER_PREFIX",
		"GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
	}, name)
}

// failure returns the error of a command of git.
func failure(ctx context.Context, args []string, stderr string, err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("there is no program git in PATH: install git")
	case errors.As(err, &exit):
		message := Tidy(stderr)
		if message == "" {
			message = exit.Error()
		}
		return &Error{Command: args[0], Message: message, Code: exit.ExitCode()}
	}
	return fmt.Errorf("run git %s: %w", args[0], err)
}

// Tidy returns output of git on one line, without the prefixes of its lines. It escapes control
// characters, as hooks and remotes may print any.
func Tidy(text string) string {
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(text, "\r", "\n")) {
		line = strings.Join(strings.Fields(line), " ")
		for _, word := range []string{"fatal: ", "error: ", "hint: "} {
			line = strings.TrimPrefix(line, word)
		}
		if line != "" && line != "hint:" && line != "remote:" {
			lines = append(lines, line)
		}
	}
	return kind.Visible(strings.Join(lines, " "))
}
