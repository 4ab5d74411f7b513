// Package git works on git repositories with the program git. No library matches its handling of hooks,
// signing, credentials, worktrees, submodules, sparse, shallow and partial clones, and SHA-256.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/gatehouse/kind"
)

// Repository is a git repository with a work tree.
type Repository struct {
	// IsShallow reports whether the clone lacks a part of the history.
	IsShallow bool

	dir    string // a folder of the work tree
	prefix string // the path of the folder from the top of the work tree
	format string // the hash of objects: sha1 or sha256
	index  string // the index of a hook; see InHook
	target string // the folder that CheckOut writes
}

// Open opens the repository that holds a folder, at or below the top of its work tree.
func Open(ctx context.Context, dir string) (*Repository, error) {
	r := &Repository{dir: dir}
	out, err := r.git(ctx, nil, "rev-parse", "--is-inside-work-tree", "--is-shallow-repository", "--show-object-format", "--show-prefix")
	var failed *Error
	switch {
	case errors.As(err, &failed) && strings.Contains(failed.Message, "not a git repository"):
		return nil, fmt.Errorf("%s is not in a git repository: run git init, or name another folder with --root", dir)
	case err != nil:
		return nil, err
	}
	lines := strings.SplitN(out, "\n", 4)
	if len(lines) < 4 {
		return nil, fmt.Errorf("%s: git rev-parse says %q: install git 2.31 or later", dir, out)
	}
	if lines[0] != "true" {
		return nil, fmt.Errorf("%s is not in a git work tree: run this in a clone that is not bare, or create one with git worktree add", dir)
	}
	r.IsShallow, r.format = lines[1] == "true", lines[2]
	r.prefix = strings.TrimSuffix(strings.TrimSuffix(lines[3], "\n"), "/")
	return r, nil
}

// Dir returns the folder.
func (r *Repository) Dir() string { return r.dir }

// Prefix returns the path of the folder from the top of the work tree, with slashes. It is empty at the top.
func (r *Repository) Prefix() string { return r.prefix }

// InFolder converts a path from the top of the work tree to one from the folder. It keeps a path outside.
func (r *Repository) InFolder(name string) string {
	if r.prefix == "" {
		return name
	}
	return strings.TrimPrefix(name, r.prefix+"/")
}

// Holds reports whether a path from the top of the work tree is in the folder.
func (r *Repository) Holds(name string) bool {
	return r.prefix == "" || strings.HasPrefix(name, r.prefix+"/")
}

// Top returns the repository at the top of its work tree.
func (r *Repository) Top() *Repository {
	top := *r
	if r.prefix != "" {
		top.prefix, top.dir = "", filepath.Join(r.dir, strings.Repeat("../", strings.Count(r.prefix, "/")+1))
	}
	return &top
}

// Error is a failed git command.
type Error struct {
	// Command is the subcommand, such as push.
	Command string
	// Message is the output on stderr, on one line and without control characters.
	Message string
	// Code is the exit code.
	Code int
}

func (e *Error) Error() string { return fmt.Sprintf("git %s: %s", e.Command, e.Message) }

// git runs git in the folder and returns its output. The error is an *Error, unless git did not run or the
// context ended.
func (r *Repository) git(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := r.command(ctx, args...)
	cmd.Stdin, cmd.Stderr = stdin, &stderr
	out, err := cmd.Output()
	return string(out), commandError(ctx, args, stderr.String(), err)
}

// shutdownTime is the time for a stopped git to remove its locks.
const shutdownTime = 5 * time.Second

// command returns a git command in the folder: in English, without a pager, and without writes to the
// index. It ignores variables of a calling hook that select another repository.
func (r *Repository) command(ctx context.Context, args ...string) *exec.Cmd {
	options := []string{"--no-pager", "--no-optional-locks", "-c", "i18n.commitEncoding=UTF-8"}
	if slices.Contains([]string{"ls-tree", "rev-list"}, args[0]) { // not for commands that run hooks, which inherit the option
		options = append(options, "--literal-pathspecs")
	}
	if r.target != "" { // the same bytes in every clone
		options = append(options, "-c", "core.autocrlf=false", "-c", "core.eol=lf")
	}
	cmd := exec.CommandContext(ctx, "git", append(options, args...)...) //nolint:gosec // the first argument is constant
	cmd.Dir = r.dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), selectsRepository), "LC_ALL=C.UTF-8", "LANGUAGE=C", "GIT_NO_REPLACE_OBJECTS=1", "PWD="+r.dir)
	if r.index != "" {
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+r.index)
	}
	if r.target != "" {
		cmd.Env = append(cmd.Env, "GIT_WORK_TREE="+r.target)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = shutdownTime
	return cmd
}

func selectsRepository(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return slices.Contains([]string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE",
		"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_INTERNAL_SUPER_PREFIX",
		"GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_LITERAL_PATHSPECS",
	}, name)
}

func commandError(ctx context.Context, args []string, stderr string, err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("git is not in PATH: install git")
	case errors.As(err, &exit):
		message := Tidy(stderr)
		if message == "" {
			message = exit.Error()
		}
		return &Error{Command: args[0], Message: message, Code: exit.ExitCode()}
	}
	return fmt.Errorf("run git %s: %w", args[0], err)
}

// Tidy returns output of git on one line, without prefixes like "error: ". It escapes control characters
// of hooks and remotes.
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
