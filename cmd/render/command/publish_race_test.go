//go:build unix

package command

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// contest is a remote, whose branch main has sources in order, and clones that publish them.
type contest struct {
	t                    *testing.T
	remote, author       string
	clones               [2]string
	sources              []string      // ids, the first the oldest
	checked              string        // the last published commit that was looked at
	atSource             int           // the source of that commit
	usual                time.Duration // that publishing takes
	locked, killed, late int
}

func (c *contest) git(dir string, args ...string) string {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func newContest(t *testing.T) *contest {
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("HOME", t.TempDir())
	if err := os.WriteFile(filepath.Join(os.Getenv("HOME"), ".gitconfig"), []byte(gitConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &contest{t: t, remote: t.TempDir(), author: t.TempDir()}
	c.git(c.remote, "init", "--quiet", "--bare")
	c.git(c.author, "clone", "--quiet", "file://"+c.remote, ".")
	c.addSource()
	for i := range c.clones {
		c.clones[i] = t.TempDir()
		c.git(c.clones[i], "clone", "--quiet", "file://"+c.remote, ".")
	}
	start := time.Now()
	c.again(c.clones[0], false)
	c.usual = time.Since(start)
	c.check(0)
	return c
}

// addSource pushes a commit with a unique rendering to main.
func (c *contest) addSource() {
	c.t.Helper()
	writeFile(c.t, c.author, "kustomization.yaml", "resources: [a.yaml]\n")
	writeFile(c.t, c.author, "a.yaml", fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\ndata: {v: \"%d\"}\n", len(c.sources)))
	if _, errOut, code, err := execute("--all", "--root", c.author); code != 0 || err != nil {
		c.t.Fatal(code, err, errOut)
	}
	c.git(c.author, "add", ".")
	c.git(c.author, "commit", "--quiet", "--message", fmt.Sprintf("Source %d", len(c.sources)))
	c.git(c.author, "push", "--quiet", "origin", "HEAD")
	c.sources = append(c.sources, c.git(c.author, "rev-parse", "HEAD"))
}

// publisher is a process of render publish in a separate process group, with its output.
type publisher struct {
	*exec.Cmd
	out bytes.Buffer
}

func (c *contest) publisher(clone string) *publisher {
	p := &publisher{Cmd: process(c.t, "", "publish", "--env", "prod", "--push", "--root", clone)}
	p.Stdout, p.Stderr = &p.out, &p.out
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return p
}

// killAt kills a publisher after a while, if it is still running: alone, or with the git processes that it
// has started.
func (c *contest) killAt(p *publisher, after time.Duration, all bool) {
	id := p.Process.Pid
	if all {
		id = -id
	}
	timer := time.AfterFunc(after, func() { _ = syscall.Kill(id, syscall.SIGKILL) })
	_ = p.Wait()
	timer.Stop()
	for syscall.Kill(-p.Process.Pid, 0) == nil { // its children end by themselves
		time.Sleep(time.Millisecond)
	}
}

// round has both clones publish different sources at once, kills them, and publishes again.
func (c *contest) round() {
	c.addSource()
	c.addSource()
	newest := len(c.sources) - 1
	all := rand.IntN(2) == 0
	var publishers [2]*publisher
	for i, clone := range c.clones {
		c.git(clone, "fetch", "--quiet")
		c.git(clone, "checkout", "--quiet", "--detach", c.sources[newest-i])
		publishers[i] = c.publisher(clone)
		if err := publishers[i].Start(); err != nil {
			c.t.Fatal(err)
		}
	}
	done := make(chan bool)
	for _, p := range publishers {
		go func() {
			c.killAt(p, time.Duration(rand.Int64N(int64(2*c.usual))), all)
			done <- true
		}()
	}
	<-done
	<-done
	for _, p := range publishers {
		c.judge(p)
	}
	first := rand.IntN(2)
	c.again(c.clones[first], all)
	c.again(c.clones[1-first], all)
	c.check(newest)
}

// judge checks the end of a publisher: killed, successful, or with an expected error.
func (c *contest) judge(p *publisher) {
	switch out := p.out.String(); {
	case p.ProcessState.Sys().(syscall.WaitStatus).Signaled():
		c.killed++
	case strings.Contains(out, "is later than HEAD"):
		c.late++
	case p.ProcessState.Success():
	case strings.Contains(out, ".lock': File exists"): // left at the remote by a killed publisher
		c.locked++
	default:
		c.t.Errorf("publishing: %v: %s", p.ProcessState, out)
	}
}

// again publishes in a clone without other publishers.
func (c *contest) again(clone string, wasAllKilled bool) {
	c.t.Helper()
	p := c.publisher(clone)
	err := p.Run()
	if locks := c.locks(); len(locks) > 0 {
		if !wasAllKilled {
			c.t.Errorf("locks are left: %q", locks)
		}
		c.locked++
		c.t.Logf("git was killed and left %q: %v: %s", locks, err, &p.out)
		for _, lock := range locks {
			_ = os.Remove(lock)
		}
		p = c.publisher(clone)
		err = p.Run()
	}
	isLate := clone == c.clones[1] && strings.Contains(p.out.String(), "is later than HEAD")
	if err != nil && !isLate {
		c.t.Errorf("publishing again in %s: %v: %s", clone, err, &p.out)
	}
}

// locks returns the lock files of git.
func (c *contest) locks() (locks []string) {
	for _, dir := range []string{c.remote, c.clones[0], c.clones[1]} {
		_ = filepath.WalkDir(dir, func(name string, _ fs.DirEntry, _ error) error {
			if strings.HasSuffix(name, ".lock") {
				locks = append(locks, name)
			}
			return nil
		})
	}
	return locks
}

// check expects of the branch at the remote, since the last round, that it only went on to
// later sources, up to the newest, and that each commit has the rendering of its source.
func (c *contest) check(newest int) {
	c.t.Helper()
	args := []string{"rev-list", "--reverse", "env/prod"}
	if c.checked != "" {
		args = append(args, "^"+c.checked)
		if _, err := exec.CommandContext(c.t.Context(), "git", "-C", c.remote, "merge-base", "--is-ancestor", c.checked, "env/prod").Output(); err != nil {
			c.t.Errorf("the branch does not go on from %s: %v", c.checked, err)
		}
	}
	for _, commit := range strings.Fields(c.git(c.remote, args...)) {
		source := c.git(c.remote, "log", "-1", "--format=%(trailers:key=Gatehouse-Source,valueonly)", commit)
		at := slices.Index(c.sources, source)
		if at <= c.atSource && c.checked != "" {
			c.t.Errorf("%s is of source %d, which comes after %d", commit, at, c.atSource)
		}
		if is, want := c.git(c.remote, "ls-tree", "-r", commit), c.git(c.remote, "ls-tree", "-r", source, "rendered/prod"); is != want {
			c.t.Errorf("source %d: %s, want %s", at, is, want)
		}
		c.checked, c.atSource = commit, at
	}
	if c.atSource != newest {
		c.t.Errorf("the branch has source %d, want %d", c.atSource, newest)
	}
	for _, dir := range []string{c.remote, c.clones[0], c.clones[1]} {
		c.git(dir, "fsck", "--strict", "--no-dangling")
	}
}

// Two publishers at once, killed at any instant, never set the branch back, and never block the next
// publisher. PUBLISH_ROUNDS is the number of rounds.
func TestKilledPublishersLeaveAConsistentBranch(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("PUBLISH_ROUNDS"))
	if err != nil {
		rounds = 3
	}
	if _, err := exec.LookPath("git"); errors.Is(err, exec.ErrNotFound) {
		t.Skip(err)
	}
	c := newContest(t)
	for range rounds {
		c.round()
		if t.Failed() {
			break
		}
	}
	t.Logf("%d rounds: %d killed, %d late, %d locks left by git", rounds, c.killed, c.late, c.locked)
}
