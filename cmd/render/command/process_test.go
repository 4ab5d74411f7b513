package command

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/watchdog"
	"example.com/gatehouse/test/testkind"
)

// asRender is set in processes that are render. Its value is the limit that keeps them
// from writing, if any does.
const asRender = "TEST_AS_RENDER"

// withoutCPU is set in processes that have no CPU time for any work.
const withoutCPU = "TEST_WITHOUT_CPU"

// limits are the resource limits of this system.
var limits = map[string]func() error{}

func TestMain(m *testing.M) {
	limit, ok := os.LookupEnv(asRender)
	if !ok {
		testscript.Main(m, map[string]func(){
			"render": func() { Main(gatehouse.Kinds...) },
			// The programs of others: with a kind of theirs besides, and with that alone.
			"render-fleets": func() { Main(slices.Concat(gatehouse.Kinds, []kind.Kind{testkind.Kind})...) },
			"render-twice":  func() { Main(testkind.Kind, testkind.Kind) },
			"render-fleet":  func() { Main(testkind.Kind) },
			"render-panics": func() {
				cobra.OnInitialize(func() { panic("words of a panic") })
				Main(gatehouse.Kinds...)
			},
		})
	}
	if limit != "" {
		if err := limits[limit](); err != nil {
			panic(err)
		}
	}
	errOut := newInert(os.Stderr)
	ending.start(errOut)
	if os.Getenv(withoutCPU) != "" {
		watchdog.Limit(watchdog.Limits{CPU: 1})
	}
	exit(run(gatehouse.Kinds, errOut))
}

// process is render as a process of its own.
func process(t *testing.T, limit string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asRender+"="+limit)
	return cmd
}

// mustChangeNothing checks that a failed run changes no file of a repository.
func mustChangeNothing(t *testing.T, root, limit, want string) {
	t.Helper()
	before := filesBelow(t, root)
	out, err := process(t, limit, "--all", "--root", root).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitError || string(out) != want {
		t.Errorf("%v: %s", err, out)
	}
	if after := filesBelow(t, root); after != before {
		t.Errorf("changed to %s", after)
	}
}

// changed returns a repository with a stale and a new environment. prod was rendered before one object was
// added and one removed. staging has a large object.
func changed(t *testing.T) string {
	t.Helper()
	root := repository(t)
	writeFile(t, root, "a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: old}\n")
	if _, _, code, err := execute("--all", "--root", root); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	writeFile(t, root, "a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: shop}\n")
	writeFile(t, root, "../staging/kustomization.yaml", "resources: [a.yaml, b.yaml]\n")
	writeFile(t, root, "../staging/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	writeFile(t, root, "../staging/b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {large: "+strings.Repeat("x", 100_000)+"}\n")
	return root
}

// filesBelow returns all that is in a folder: paths, and the content of files.
func filesBelow(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		b.WriteString(name + "\n")
		if err == nil && !entry.IsDir() {
			var content []byte
			content, err = os.ReadFile(filepath.Join(root, name))
			b.Write(content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The report comes before the first write.
func TestUnprintableReportPreventsWriting(t *testing.T) {
	full := func() (*os.File, error) { return os.OpenFile("/dev/full", os.O_WRONLY, 0) }
	closed := func() (*os.File, error) {
		r, w, err := os.Pipe()
		if err == nil {
			err = r.Close()
		}
		return w, err
	}
	for name, open := range map[string]func() (*os.File, error){"a full disk": full, "a closed pipe": closed} {
		for _, output := range []string{"text", "json"} {
			t.Run(name+", "+output, func(t *testing.T) {
				root := changed(t)
				before := filesBelow(t, root)
				stdout, err := open()
				if err != nil {
					t.Skip(err)
				}
				defer stdout.Close()
				var stderr bytes.Buffer
				cmd := process(t, "", "--all", "--root", root, "--output", output)
				cmd.Stdout, cmd.Stderr = stdout, &stderr
				if _ = cmd.Run(); cmd.ProcessState.ExitCode() != exitError || !strings.HasPrefix(stderr.String(), "error: nothing was changed: print report: ") {
					t.Errorf("%v: %s", cmd.ProcessState, &stderr)
				}
				if after := filesBelow(t, root); after != before {
					t.Errorf("changed to %s", after)
				}
			})
		}
	}
}

func TestReportListsNoFilesIfAnEnvironmentHasErrors(t *testing.T) {
	root := changed(t)
	writeFile(t, root, "../staging/b.yaml", "what?")
	out, _, code, err := execute("--all", "--root", root, "--output", "json")
	if code != exitError || err != nil || strings.Contains(out, "rendered/") {
		t.Errorf("exit code %d, error %v: %s", code, err, out)
	}
}

// A check waits for a writing run, but not for another check.
func TestCheckWaitsForAnotherRun(t *testing.T) {
	root := changed(t)
	repository, err := render.Open(root, gatehouse.All(), render.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	check := func(ctx context.Context) error {
		cmd := newCommand(gatehouse.All(), nil)
		cmd.SetOut(&bytes.Buffer{})
		cmd.SetErr(&bytes.Buffer{})
		cmd.SetArgs([]string{"--all", "--check", "--root", root})
		return cmd.ExecuteContext(ctx)
	}

	unlock, err := repository.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := check(impatient); err == nil || !strings.HasPrefix(err.Error(), "lock ") {
		t.Errorf("beside a writer: %v", err)
	}
	waiting := make(chan error)
	go func() { waiting <- check(t.Context()) }()
	update, err := render.NewUpdate(t.Context(), repository, render.Selection{All: true}, func(string, string) {})
	if err == nil {
		err = errors.Join(update.Stage(t.Context()), update.Commit())
		update.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	if err := <-waiting; err != nil {
		t.Errorf("after a writer: %v", err)
	}

	unlock, err = repository.RLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	patient, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := check(patient); err != nil {
		t.Errorf("beside a check: %v", err)
	}
}

// The warnings have no timestamps, and are equal in each run.
func TestKustomizeWarningsHaveOneLineEach(t *testing.T) {
	root := repository(t)
	writeFile(t, root, "kustomization.yaml", `
resources: [a.yaml]
vars:
- {name: z, objref: {apiVersion: v1, kind: ConfigMap, name: a}}
- {name: m, objref: {apiVersion: v1, kind: ConfigMap, name: a}}
- {name: "a\e[31m\n::error::b", objref: {apiVersion: v1, kind: ConfigMap, name: a}}
`)
	var stderr bytes.Buffer
	cmd := process(t, "", "--all", "--root", root)
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	if want := `well-defined vars that were never replaced: a\x1b[31m\n::error::b,m,z` + "\n"; coverageLine.ReplaceAllString(stderr.String(), "") != want {
		t.Errorf("%q, want %q", &stderr, want)
	}
}
