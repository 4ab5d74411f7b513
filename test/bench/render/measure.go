//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// cost is what a process took.
type cost struct {
	took   time.Duration
	memory float64 // at its peak, in MiB
	cut    bool    // the process was killed: it would have taken more than this
}

// costs are those of the commands that build one input. They were run one after the
// other.
type costs struct {
	kustomize cost
	render    cost // writes every file
	again     cost // finds nothing to write; zero where render was cut
}

// measureInput runs each command as often as the input says, and returns the
// medians.
func (b *bench) measureInput(ctx context.Context, in input) (costs, error) {
	var kustomize, render, again []cost
	err := b.inFolder(in.write, func(root string) error {
		for range in.runs {
			c, err := b.measureRound(ctx, root)
			if err != nil {
				return err
			}
			kustomize, render = append(kustomize, c.kustomize), append(render, c.render)
			if !c.render.cut {
				again = append(again, c.again)
			}
		}
		return nil
	})
	if err != nil {
		return costs{}, err
	}
	return costs{median(kustomize), median(render), median(again)}, nil
}

// measureRound runs each command once.
func (b *bench) measureRound(ctx context.Context, root string) (c costs, err error) {
	if c.kustomize, err = b.measureKustomize(ctx, root); err != nil {
		return c, err
	}
	if c.render, err = b.measureFirst(ctx, root); err != nil || c.render.cut {
		return c, err
	}
	c.again, err = b.measureRender(ctx, root)
	return c, err
}

func (b *bench) measureKustomize(ctx context.Context, root string) (cost, error) {
	return measure(ctx, b.limit, b.kustomize, "build", prod(root))
}

func (b *bench) measureRender(ctx context.Context, root string) (cost, error) {
	return measure(ctx, b.limit, b.render, "--root", root, "--env", "prod")
}

// measureFirst has render write every file, whatever was rendered before.
func (b *bench) measureFirst(ctx context.Context, root string) (cost, error) {
	before, err := os.MkdirTemp(b.dir, "") // see inFolder
	if err != nil {
		return cost{}, fmt.Errorf("create a folder for what was rendered: %w", err)
	}
	err = os.Rename(filepath.Join(root, "rendered"), filepath.Join(before, "rendered"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cost{}, fmt.Errorf("move what was rendered away: %w", err)
	}
	return b.measureRender(ctx, root)
}

// measure runs a program, and kills it at the limit.
func measure(ctx context.Context, limit time.Duration, program string, args ...string) (cost, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(limited, program, args...) // #nosec G204 -- what is compared
	cmd.Stderr = &stderr
	start := time.Now()
	err := cmd.Run()
	c := cost{took: time.Since(start)}
	if err != nil {
		c.cut = ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded)
		if !c.cut {
			return cost{}, fmt.Errorf("run %s: %w: %s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(stderr.Bytes()))
		}
		c.took = limit
	}
	if cmd.ProcessState == nil {
		return cost{}, fmt.Errorf("run %s: the limit of %s passed before it started", program, limit)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return cost{}, fmt.Errorf("read the peak memory of %s: this system does not say", program)
	}
	c.memory = float64(usage.Maxrss) / 1024 // from KiB
	return c, nil
}

// median is the median of the times, and that of the memory; zero without runs.
func median(runs []cost) cost {
	if len(runs) == 0 {
		return cost{}
	}
	middle := len(runs) / 2
	slices.SortFunc(runs, func(a, b cost) int { return cmp.Compare(a.memory, b.memory) })
	memory := runs[middle].memory
	slices.SortFunc(runs, func(a, b cost) int { return cmp.Compare(a.took, b.took) })
	c := runs[middle]
	c.memory = memory
	return c
}
