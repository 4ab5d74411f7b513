package command

import (
	"errors"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// gitConfig is the configuration of git in scripts. It replaces the configuration of the user who runs the
// test.
const gitConfig = `[user]
	name = Ada
	email = ada@example.com
[init]
	defaultBranch = main
[commit]
	gpgSign = false
[protocol "file"]
	allow = always
[advice]
	detachedHead = false
`

// TestScripts runs the built program, git and others. In addition to the commands of testscript there
// are `git`, `render`, `code N COMMAND`, which expects the exit code N, and `serve NAME`, which serves
// the bare repositories of the working folder by HTTP at the URL in the variable NAME, and `files NAME`, which serves
// the folder NAME so, with the paths of its requests in NAME.log. -update rewrites the expected files of `cmp`.
func TestScripts(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *rewrite,
		Setup:         setUpGit,
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"git": runGit, "code": runCode, "serve": serveGit, "files": serveFiles},
	})
}

// setUpGit gives git a configuration of its own.
func setUpGit(env *testscript.Env) error {
	env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	home := filepath.Join(env.WorkDir, ".home")
	env.Setenv("HOME", home)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(gitConfig), 0o600)
}

func runGit(script *testscript.TestScript, fails bool, args []string) {
	err := script.Exec("git", args...)
	if (err != nil) != fails {
		script.Fatalf("git: error %v", err)
	}
}

func serveGit(script *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		script.Fatalf("usage: serve NAME")
	}
	execPath, err := exec.Command("git", "--exec-path").Output()
	script.Check(err)
	server := httptest.NewServer(&cgi.Handler{
		Path:   filepath.Join(strings.TrimSpace(string(execPath)), "git-http-backend"),
		Stderr: io.Discard,
		Env:    []string{"GIT_PROJECT_ROOT=" + script.MkAbs("."), "GIT_HTTP_EXPORT_ALL=1", "HOME=" + script.Getenv("HOME")},
	})
	script.Defer(server.Close)
	script.Setenv(args[0], server.URL)
}

func serveFiles(script *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		script.Fatalf("usage: files NAME")
	}
	log, err := os.Create(script.MkAbs(args[0] + ".log"))
	script.Check(err)
	files := http.FileServer(http.Dir(script.MkAbs(args[0])))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(log, r.URL.Path+"\n")
		files.ServeHTTP(w, r)
	}))
	script.Defer(server.Close)
	script.Setenv(args[0], server.URL)
}

// runCode runs a command that exits with a code.
func runCode(script *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		script.Fatalf("usage: code N COMMAND")
	}
	want, err := strconv.Atoi(args[0])
	script.Check(err)
	var exit *exec.ExitError
	code := 0
	if err := script.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		script.Check(err)
	}
	if code != want {
		script.Fatalf("exit code %d, want %d", code, want)
	}
}
