// Package git works on git repositories with the git program, which alone keeps hooks,
// signing, credentials, worktrees, submodules, sparse, shallow and partial clones, and
// SHA-256 repositories right.
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

	"example.com/gatehouse/render/object"
)

// Repository is a git repository with a work tree.
type Repository struct {
	// IsShallow says whether the repository has not all of the history.
	IsShallow bool

	dir    string   // a folder of the work tree
	prefix string   // of the folder, from the top of the work tree
	format string   // of objects: sha1 or sha256
	env    []string // of git, beside that of this process
}

// Open opens the repository that holds a folder, which may be below the top of the work
// tree.
func Open(ctx context.Context, dir string) (*Repository, error) {
	r := &Repository{dir: dir}
	out, err := r.git(ctx, nil, "rev-parse", "--is-inside-work-tree", "--is-shallow-repository", "--show-object-format", "--show-prefix")
	var failed *Error
	switch {
	case errors.As(err, &failed) && strings.Contains(failed.Message, "not a git repository"):
		return nil, fmt.Errorf("%s is in no git repository: run git init, or name a folder of one with --root", dir)
	case errors.As(err, &failed):
		return nil, fmt.Errorf("%s: git: %s", dir, failed.Message)
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

// Prefix is the path of the folder from the top of the work tree, with slashes; empty where
// the folder is the top.
func (r *Repository) Prefix() string { return r.prefix }

// Error is what git said when it failed.
type Error struct {
	// Command is the command of git.
	Command string
	// Message is what git said, on one line that directs no terminal.
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

// quit is how long git has to remove its locks when it is to stop.
const quit = 5 * time.Second

// command is git in the folder, in the language in which its messages are understood here,
// and without what may write to the index or wait for a pager. It is the folder that says
// which repository, not what a hook of git has in its environment.
func (r *Repository) command(ctx context.Context, args ...string) *exec.Cmd {
	options := []string{"--no-pager", "--no-optional-locks", "-c", "i18n.commitEncoding=UTF-8"}
	if slices.Contains([]string{"ls-tree", "ls-files", "rev-list"}, args[0]) { // the others may run hooks, which it would change
		options = append(options, "--literal-pathspecs")
	}
	cmd := exec.CommandContext(ctx, "git", append(options, args...)...) //nolint:gosec // values that may be anything never come first
	cmd.Dir = r.dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), isOfRepository), "LC_ALL=C.UTF-8", "LANGUAGE=C", "PWD="+r.dir)
	cmd.Env = append(cmd.Env, r.env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = quit
	return cmd
}

// isOfRepository says whether a variable of the environment tells git which repository.
func isOfRepository(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return slices.Contains([]string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE",
		"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_INTERNAL_SUPER_PREFIX",
		"GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
	}, name)
}

// failure is the error of a command of git.
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
		message := abridged(Tidy(stderr))
		if message == "" {
			message = exit.Error()
		}
		return &Error{Command: args[0], Message: message, Code: exit.ExitCode()}
	}
	return fmt.Errorf("run git %s: %w", args[0], err)
}

// abridged is the beginning and the end of a text that nobody would read, as a hook may say
// megabytes.
func abridged(text string) string {
	const most = 1000 // bytes of each
	if len(text) <= 2*most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " [...] " + strings.ToValidUTF8(text[len(text)-most:], "")
}

// Tidy is what git said on one line, without the words by which it begins lines. What would
// direct a terminal is escaped: hooks and remotes say what they like.
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
	return object.EscapeControls(strings.Join(lines, " "))
}
