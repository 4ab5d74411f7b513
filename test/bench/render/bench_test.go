//go:build linux

// Package render measures what rendering costs beside `kustomize build` of the same inputs:
// time, and peak memory of the process.
package render

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// limit is how long a process may run before it is killed.
const limit = time.Minute

// repository is the root of this repository, whose bin/ has both programs.
const repository = "../../.."

// BenchmarkRender builds each input with kustomize, then renders it twice: render writes every
// file, and render_again finds nothing to write. Some inputs are then watched, and edited.
func BenchmarkRender(b *testing.B) {
	// One folder holds all inputs until the end: for half a minute after many files were
	// removed, ext4 is slow to create others.
	dir := b.TempDir()
	for _, in := range inputs {
		b.Run(in.name, func(b *testing.B) {
			root := filepath.Join(dir, in.name)
			if err := in.write(root); err != nil {
				b.Fatal(err)
			}
			render := []string{filepath.Join(repository, "bin/render"), "--root", root, "--env", "prod"}
			var kustomize float64
			b.Run("kustomize_build", func(b *testing.B) {
				kustomize = run(b, 0, nil, filepath.Join(repository, "bin/kustomize"), "build", prod(root))
			})
			b.Run("render", func(b *testing.B) {
				run(b, kustomize, func() error { return moveRendered(b, root, dir) }, render...)
			})
			b.Run("render_again", func(b *testing.B) { run(b, kustomize, nil, render...) })
			if in.edit != nil {
				edit := func() (string, string, error) { return in.edit(root) }
				b.Run("render_watch", func(b *testing.B) { watch(b, kustomize, edit, append(render, "--watch")...) })
			}
		})
	}
}

// moveRendered moves the files that render wrote below root to a new folder of dir.
func moveRendered(b *testing.B, root, dir string) error {
	b.Helper()
	before, err := os.MkdirTemp(dir, "rendered-")
	if err != nil {
		return err
	}
	err = os.Rename(filepath.Join(root, "rendered"), filepath.Join(before, "rendered"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// run measures a command, before each of whose runs it calls prepare. It returns the seconds that
// the command takes, or 0 if it was killed. They are also reported as a share of peer, unless that
// is 0.
func run(b *testing.B, peer float64, prepare func() error, command ...string) (seconds float64) {
	b.Helper()
	var memory float64
	for range b.N {
		if prepare != nil {
			b.StopTimer()
			if err := prepare(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		peak, killed, err := measure(b.Context(), limit, command...)
		if err != nil {
			b.Fatal(err)
		}
		memory = max(memory, peak)
		if killed {
			b.ReportMetric(limit.Seconds(), ">sec/op")
			b.ReportMetric(memory, ">MiB")
			b.ReportMetric(0, "ns/op") // not printed
			return 0
		}
	}
	return report(b, memory, peer)
}

// watch measures how long after an edit a command, which watches, has written what is rendered from it.
func watch(b *testing.B, peer float64, edit func() (file, content string, err error), command ...string) {
	b.Helper()
	b.StopTimer()
	cmd := exec.CommandContext(b.Context(), command[0], command[1:]...)
	stderr, err := cmd.StderrPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for range b.N {
		for lines.Scan() && !strings.Contains(lines.Text(), "waiting for changes") {
			continue
		}
		b.StartTimer()
		file, content, err := edit()
		if err != nil {
			b.Fatal(err)
		}
		if err := await(file, content); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	report(b, peakMemory(cmd), peer)
}

// await waits until a file has a content, at most until the limit.
func await(file, content string) error {
	for start := time.Now(); time.Since(start) < limit; time.Sleep(time.Millisecond) {
		written, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(written), content) {
			return err
		}
	}
	return fmt.Errorf("%s does not contain %q after %s", file, content, limit)
}

// report reports the seconds that a run took, which it returns, also as a share of peer, unless that is
// 0, and the memory in MiB.
func report(b *testing.B, memory, peer float64) (seconds float64) {
	b.Helper()
	seconds = b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(seconds, "sec/op")
	b.ReportMetric(memory, "MiB")
	b.ReportMetric(0, "ns/op") // not printed
	if peer > 0 {
		b.ReportMetric(seconds/peer, "of-kustomize")
	}
	return seconds
}

// measure runs a command, and kills it at the limit. It returns the peak memory in MiB.
func measure(ctx context.Context, limit time.Duration, command ...string) (memory float64, killed bool, err error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(limited, command[0], command[1:]...)
	cmd.Stderr = &stderr
	err = cmd.Run()
	killed = ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded)
	if cmd.ProcessState == nil || err != nil && !killed {
		return 0, false, fmt.Errorf("run %s: %w: %s", cmd, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return peakMemory(cmd), killed, nil
}

// peakMemory returns the peak memory of a command that ended, in MiB.
func peakMemory(cmd *exec.Cmd) float64 {
	const kib = 1024
	return float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / kib
}

func TestMeasureKillsAtLimit(t *testing.T) {
	if _, killed, err := measure(t.Context(), 100*time.Millisecond, "sleep", "60"); err != nil || !killed {
		t.Errorf("killed: %t, error: %v", killed, err)
	}
	if _, _, err := measure(t.Context(), time.Minute, "sleep"); err == nil {
		t.Error("no error from a program that fails")
	}
}
