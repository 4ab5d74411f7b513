package command

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// watcher is render --watch as a process.
type watcher struct {
	*exec.Cmd
	printed printed
	ended   chan error
}

// printed is the output so far.
type printed struct {
	mu      sync.Mutex
	content bytes.Buffer
}

func (p *printed) Write(content []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.content.Write(content)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.content.String()
}

func startWatcher(t *testing.T, root string, args ...string) *watcher {
	t.Helper()
	w := &watcher{Cmd: process(t, "", append([]string{"--watch", "--root", root}, args...)...), ended: make(chan error, 1)}
	w.Stdout, w.Stderr = &w.printed, &w.printed
	w.start(t)
	w.await(t, "waiting for changes")
	return w
}

func (w *watcher) start(t *testing.T) {
	t.Helper()
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { w.ended <- w.Wait() }()
}

// states returns the number of runs that printed their state.
func (w *watcher) states() int { return strings.Count(w.printed.String(), "waiting") }

// await waits for a text after the previously awaited one.
func (w *watcher) await(t *testing.T, text string) {
	t.Helper()
	await(t, text, func() bool {
		w.printed.mu.Lock()
		defer w.printed.mu.Unlock()
		_, after, ok := strings.Cut(w.printed.content.String(), text)
		if ok {
			w.printed.content.Reset()
			w.printed.content.WriteString(after)
		}
		return ok
	}, w.printed.String)
}

// end sends a signal and returns the final state of the process.
func (w *watcher) end(t *testing.T, signal os.Signal) string {
	t.Helper()
	if err := w.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	_ = w.exitCode(t)
	return w.ProcessState.String()
}

func (w *watcher) exitCode(t *testing.T) int {
	t.Helper()
	select {
	case err := <-w.ended:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatalf("does not end:\n%s", w.printed.String())
	}
	return w.ProcessState.ExitCode()
}

// await waits until a condition holds.
func await(t *testing.T, what string, holds func() bool, state func() string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %q:\n%s", what, state())
		}
	}
}

// awaitFile waits until a rendered file has a text in it, or, without one, is gone.
func awaitFile(t *testing.T, root, name, text string) {
	t.Helper()
	var content []byte
	await(t, name+": "+text, func() bool {
		var err error
		content, err = os.ReadFile(filepath.Join(root, "rendered", name))
		return text == "" && os.IsNotExist(err) || text != "" && bytes.Contains(content, []byte(text))
	}, func() string { return string(content) })
}

func configMap(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: shop}\ndata: {a: " + value + "}\n"
}

// saved replaces a file, as editors do.
func saved(t *testing.T, root, name, content string) {
	t.Helper()
	writeFile(t, root, name+".swp", content)
	move(t, root, name+".swp", name)
}

func move(t *testing.T, root, from, to string) {
	t.Helper()
	environment := filepath.Join(root, "environments/prod")
	if err := os.Rename(filepath.Join(environment, from), filepath.Join(environment, to)); err != nil {
		t.Fatal(err)
	}
}

func TestWatchRendersAgainAfterChanges(t *testing.T) {
	root := repository(t)
	w := startWatcher(t, root, "--all")
	a := "prod/shop/configmap-a.yaml"

	writeFile(t, root, "a.yaml", configMap("a", "written"))
	awaitFile(t, root, a, "written")
	saved(t, root, "a.yaml", configMap("a", "saved"))
	awaitFile(t, root, a, "saved")

	writeFile(t, root, "a.yaml", configMap("a", "wrong")+"datta: {}\n")
	w.await(t, `unknown field "datta"`)
	w.await(t, "nothing was written: fix the errors above; waiting")
	awaitFile(t, root, a, "saved")
	writeFile(t, root, "a.yaml", configMap("a", "mended"))
	w.await(t, "up to date; waiting")
	awaitFile(t, root, a, "mended")

	writeFile(t, root, "kustomization.yaml", "resources: [a.yaml, later/b]\n")
	w.await(t, "later/b: no such file or folder")
	writeFile(t, root, "later/b/b.yaml", configMap("b", "later"))
	writeFile(t, root, "later/b/kustomization.yaml", "resources: [b.yaml]\n")
	w.await(t, "up to date; waiting")
	awaitFile(t, root, "prod/shop/configmap-b.yaml", "later")

	writeFile(t, root, "../staging/kustomization.yaml", "resources: [../prod]\n")
	awaitFile(t, root, "staging/shop/configmap-a.yaml", "mended")
	if out, errOut, code, err := execute("--all", "--check", "--root", root); code != 0 || err != nil {
		t.Errorf("a check beside it: %d, %v: %s%s", code, err, out, errOut)
	}
	if err := os.RemoveAll(filepath.Join(root, "environments/staging")); err != nil {
		t.Fatal(err)
	}
	awaitFile(t, root, "staging/kustomization.yaml", "")

	move(t, root, "../prod", "../../away")
	w.await(t, "is rendered nowhere")
	writeFile(t, root, "../../away/a.yaml", configMap("a", "back"))
	move(t, root, "../../away", "../prod")
	w.await(t, "up to date; waiting")
	awaitFile(t, root, a, "back")

	if state := w.end(t, syscall.SIGINT); state != "signal: interrupt" {
		t.Errorf("ends with %s", state)
	}
}

func TestWatchSeesChangesBelowRendered(t *testing.T) {
	root := repository(t)
	inTheWay := filepath.Join(root, "rendered/prod/kustomization.yml")
	if err := os.MkdirAll(filepath.Dir(inTheWay), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(inTheWay, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	w := startWatcher(t, root, "--env", "prod")
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	w.await(t, "up to date; waiting")
	if state := w.end(t, syscall.SIGTERM); state != "signal: terminated" {
		t.Errorf("ends with %s", state)
	}
}

func TestWatchEndsWhenItsFolderIsMoved(t *testing.T) {
	root := filepath.Join(repository(t), "repository")
	writeFile(t, root, "kustomization.yaml", "resources: [a.yaml]\n")
	writeFile(t, root, "a.yaml", configMap("a", "b"))
	w := startWatcher(t, root, "--all")
	if err := os.Rename(root, root+"-moved"); err != nil {
		t.Fatal(err)
	}
	w.await(t, "was moved or removed: run render again in its new place")
	if code := w.exitCode(t); code != exitError {
		t.Errorf("exit code %d", code)
	}
}

func TestTwoWatchersDoNotWakeEachOther(t *testing.T) {
	root := repository(t)
	first, second := startWatcher(t, root, "--all"), startWatcher(t, root, "--env", "prod", "--output", "json")
	const edits = 5
	for i := range edits {
		before := [2]int{first.states(), second.states()}
		value := strings.Repeat("x", i+1)
		writeFile(t, root, "a.yaml", configMap("a", value))
		awaitFile(t, root, "prod/shop/configmap-a.yaml", " "+value+"\n")
		await(t, "a run of both", func() bool { return first.states() > before[0] && second.states() > before[1] }, first.printed.String)
	}
	for _, w := range []*watcher{first, second} {
		if n := w.states(); n > 3*edits {
			t.Errorf("%d runs after %d edits:\n%s", n, edits, w.printed.String())
		}
		if state := w.end(t, syscall.SIGINT); state != "signal: interrupt" {
			t.Errorf("ends with %s", state)
		}
	}
}

func TestWatchRejectsOtherFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"omit --check":                           {"--check"},
		"omit --watch":                           {"--output", "github"},
		"is not the name of an environment":      {"--env", "../prod"},
		"/nowhere: no such folder: name the one": {"--root", "/nowhere"},
	} {
		args = append([]string{"--watch", "--env", "prod", "--root", repository(t)}, args...)
		if _, _, _, err := execute(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", args, err, want)
		}
	}
}
