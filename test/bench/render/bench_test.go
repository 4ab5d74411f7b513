//go:build linux

// Package render measures the time and peak memory of rendering beside `kustomize build` of the same
// inputs.
package render

import (
	"bufio"
	"bytes"
	"cmp"
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

// limit is the maximum time of a process.
const limit = 90 * time.Second

// repository is the root of this repository, whose bin/ has both programs.
const repository = "../../.."

// BenchmarkRender builds each input with kustomize, then renders it twice: render writes all files, and
// render_again checks them. Some inputs are then watched and edited.
func BenchmarkRender(b *testing.B) {
	bin, err := filepath.Abs(filepath.Join(repository, "bin"))
	if err != nil {
		b.Fatal(err)
	}
	b.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	b.Setenv("KUBECONFIG", os.DevNull) // kubectl-validate would ask a cluster for schemas
	// Keep all inputs until the end: for half a minute after many removals, ext4 creates files
	// slowly.
	dir := b.TempDir()
	for _, in := range inputs {
		b.Run(in.name, func(b *testing.B) {
			root := filepath.Join(dir, in.name)
			if err := in.write(root); err != nil {
				b.Fatal(err)
			}
			build := []string{"sh", "-c", `cd "$0" && ` + cmp.Or(in.build, "exec kustomize build environments/prod"), root}
			render := append([]string{"render", "--root", root}, strings.Fields(cmp.Or(in.flags, "--env prod"))...)
			rendered := filepath.Join(root, cmp.Or(in.rendered, "rendered"))
			var kustomize float64
			b.Run("kustomize_build", func(b *testing.B) { kustomize = run(b, 0, nil, build...) })
			b.Run("render", func(b *testing.B) {
				run(b, kustomize, func() error { return moveRendered(b, rendered, dir) }, render...)
			})
			b.Run("render_again", func(b *testing.B) { run(b, kustomize, nil, append(render, "--check")...) })
			if in.edit != nil {
				edit := func() (string, string, error) { return in.edit(root) }
				b.Run("render_watch", func(b *testing.B) { watch(b, kustomize, edit, append(render, "--watch")...) })
			}
		})
	}
}

// moveRendered moves a rendered folder to a new folder below dir.
func moveRendered(b *testing.B, rendered, dir string) error {
	b.Helper()
	before, err := os.MkdirTemp(dir, "rendered-")
	if err != nil {
		return err
	}
	err = os.Rename(rendered, filepath.Join(before, "rendered"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// run measures a command, and calls prepare before each of its runs. It returns the time in seconds, or 0
// if it killed the command. It also reports the time as a share of peer, unless peer is 0.
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

// watch measures the time between an edit and the new rendered file of a watching command.
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

// await waits until a file contains a text, at most until the limit.
func await(file, content string) error {
	for start := time.Now(); time.Since(start) < limit; time.Sleep(time.Millisecond) {
		written, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(written), content) {
			return err
		}
	}
	return fmt.Errorf("%s does not contain %q after %s", file, content, limit)
}

// report reports and returns the time of a run in seconds. It also reports the memory in MiB, and the
// time as a share of peer, unless peer is 0.
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

// peakMemory returns the peak memory of a finished command, in MiB.
func peakMemory(cmd *exec.Cmd) float64 {
	const kib = 1024
	return float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / kib
}

func TestMeasureKillsAtLimit(t *testing.T) {
	if _, killed, err := measure(t.Context(), 100*time.Millisecond, "sleep", "60"); err != nil || !killed {
		t.Errorf("killed: %t, error: %v", killed, err)
	}
	if _, _, err := measure(t.Context(), time.Minute, "sleep"); err == nil {
		t.Error("no error from a failing program")
	}
}
