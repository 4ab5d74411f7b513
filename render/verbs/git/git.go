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
	"example.com/gatehouse/render/watchdog"
)

// Repository is a git repository with a work tree.
type Repository struct {
	// IsShallow reports whether the clone lacks a part of the history.
	IsShallow bool

	dir    string // a folder of the work tree
	top    string // the top of the work tree
	gitDir string // the folder .git, or its place elsewhere
	prefix string // the path of the folder from the top of the work tree
	format string // the hash of objects: sha1 or sha256
	index  string // the index of a hook; see InHook

	// At the time of Open: a build with kustomize empties PATH.
	program string
	environ []string

	withoutFilters []string // options; see findFilters
}

// Open opens the repository that holds a folder, at or below the top of its work tree.
func Open(ctx context.Context, dir string) (*Repository, error) {
	r, err := find(ctx)
	if err != nil {
		return nil, err
	}
	top, gitDir, err := locate(dir)
	if err != nil {
		return nil, err
	}
	r.dir = top
	// Without a name of the repository, git also checks its owner.
	out, err := r.git(ctx, nil, "rev-parse", "--is-inside-work-tree", "--is-shallow-repository",
		"--show-object-format", "--absolute-git-dir", "--show-prefix")
	var failed *Error
	switch {
	case errors.As(err, &failed) && strings.Contains(failed.Message, "not a git repository"):
		return nil, noRepository(dir)
	case err != nil:
		return nil, err
	}
	lines := strings.SplitN(out, "\n", 5)
	if len(lines) < 5 {
		return nil, fmt.Errorf("%s: git rev-parse says %q: install git 2.31 or later", dir, out)
	}
	if lines[0] != "true" {
		return nil, noWorkTree(dir)
	}
	if lines[3] != gitDir {
		return nil, fmt.Errorf("%s: git takes %s for the repository in place of %s: remove one of them",
			dir, Tidy(lines[3]), Tidy(gitDir))
	}
	r.IsShallow = lines[1] == "true"
	r.format = lines[2]
	r.gitDir = gitDir
	r.top = filepath.Join(top, strings.Repeat("../", strings.Count(lines[4], "/"))) // core.worktree may be above
	if err := r.enter(dir); err != nil {
		return nil, err
	}
	return r, r.findFilters(ctx)
}

// find finds git. The folder is the working directory.
func find(ctx context.Context) (*Repository, error) {
	program, err := exec.LookPath("git")
	environ := slices.DeleteFunc(os.Environ(), selectsRepository)
	return &Repository{dir: ".", program: program, environ: environ}, commandError(ctx, nil, "", err)
}

// enter sets the folder of the repository.
func (r *Repository) enter(dir string) error {
	resolved, err := realPath(dir)
	if err != nil {
		return err
	}
	within, err := filepath.Rel(r.top, resolved)
	r.dir = dir
	r.prefix = filepath.ToSlash(within)
	if within == "." {
		r.prefix = ""
	}
	return err
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
	top.prefix = ""
	top.dir = r.top
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
	var out bytes.Buffer
	cmd := r.command(ctx, args...)
	cmd.Stdin = stdin
	cmd.Stdout = &out
	cmd.Stderr = &stderr
	err := cmd.Start()
	if err == nil {
		done := r.guard(cmd, args[0])
		err = cmd.Wait()
		done()
	}
	watchdog.List(out.Len())
	return out.String(), commandError(ctx, args, stderr.String(), err)
}

// shutdownTime is the time for a stopped git to remove its locks.
const shutdownTime = 5 * time.Second

// usesSettings has the commands that act for the user, with the hooks and programs of the user's configuration.
var usesSettings = []string{"commit-tree", "fetch", "hook", "ls-remote", "notes", "push", "update-ref"}

// guard counts a git command that has started as a part of the run, unless it acts for the user: that one takes what
// the repository and its remote need.
func (*Repository) guard(cmd *exec.Cmd, subcommand string) (done func()) {
	if slices.Contains(usesSettings, subcommand) {
		return func() {}
	}
	return watchdog.Child(cmd)
}

// command returns a git command in the folder: in English, without a pager, and without writes to the
// index. It ignores variables of a calling hook that select another repository. A command that reads runs no program
// of the configuration: a file of the work tree may choose it, or be it.
func (r *Repository) command(ctx context.Context, args ...string) *exec.Cmd {
	options := []string{"--no-pager", "--no-optional-locks", "-c", "i18n.commitEncoding=UTF-8"}
	if r.gitDir != "" {
		options = append(options, "--git-dir="+r.gitDir, "--work-tree="+r.top)
	}
	if !slices.Contains(usesSettings, args[0]) {
		options = append(options, r.withoutFilters...)
		options = append(options, "-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false",
			"-c", "core.hooksPath="+os.DevNull)
	}
	if slices.Contains([]string{"ls-tree", "rev-list"}, args[0]) { // hooks would inherit the option
		options = append(options, "--literal-pathspecs")
	}
	cmd := exec.CommandContext(ctx, r.program, append(options, args...)...) //nolint:gosec // git
	cmd.Dir = r.dir
	cmd.Env = append(slices.Clone(r.environ), "LC_ALL=C.UTF-8", "LANGUAGE=C",
		"GIT_NO_REPLACE_OBJECTS=1", "PWD="+r.dir, emptyVariable+"=")
	if r.index != "" {
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+r.index)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = shutdownTime
	return cmd
}

// emptyVariable is an environment variable without a value.
const emptyVariable = "GATEHOUSE_EMPTY"

// findFilters sets the options by which git filters no content. .gitattributes of the work tree chooses among the
// filters of the user's configuration, and those of git-lfs ask the host that .lfsconfig names. Commands that write the
// index filter, too.
func (r *Repository) findFilters(ctx context.Context) error {
	const settings = `^filter\..*\.(clean|smudge|process|required)$`
	out, err := r.git(ctx, nil, "config", "--null", "--name-only", "--get-regexp", settings)
	if exitedWith1(err) {
		return nil
	}
	for key := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		// -c would take no name with =.
		r.withoutFilters = append(r.withoutFilters, "--config-env="+key+"="+emptyVariable)
	}
	return err
}

func selectsRepository(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return slices.Contains([]string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE",
		"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_INTERNAL_SUPER_PREFIX",
		"GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_LITERAL_PATHSPECS",
	}, name)
}

// ErrMissing is the error of a machine without git.
var ErrMissing = errors.New("git is not in PATH: install git")

func commandError(ctx context.Context, args []string, stderr string, err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return ErrMissing
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
