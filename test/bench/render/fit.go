//go:build linux

package main

import (
	"context"
	"fmt"
	"math"
	"strings"
)

// fitName is the name of the fit for -only.
const fitName = "exponent of time"

// fitSizes are the numbers of CRs that times are fitted over.
var fitSizes = []int{1000, 2000, 4000, 8000}

// point is how many seconds n CRs took.
type point struct {
	n       int
	seconds float64
}

// printFit prints how the times of kustomize build and of render, which finds nothing
// to write, grow with the number of CRs.
func (b *bench) printFit(ctx context.Context) error {
	t := newTable(
		column{"input", len("8,000 CRs in 400 folders")},
		column{"kustomize build", 0},
		column{"render again", len("123.45 s")})
	t.printHeader()
	var kustomize, render []point
	for _, n := range fitSizes {
		name := fmt.Sprintf("%s CRs in %d folders", thousands(n), n/perFolder)
		showProgress(name)
		c, err := b.measureSize(ctx, n)
		hideProgress()
		if err != nil {
			return fmt.Errorf("measure %s: %w", name, err)
		}
		kustomize, render = appendFinished(kustomize, n, c.kustomize), appendFinished(render, n, c.render)
		t.printRow(name, formatTime(c.kustomize), formatTime(c.render))
	}
	fmt.Println()
	fmt.Println("Time grows with the number n of CRs:")
	fmt.Println("- kustomize build:", formatFit(kustomize))
	fmt.Println("- render again:", formatFit(render))
	return nil
}

// measureSize runs kustomize build once, and render again twice: the better run counts.
// The first run, which makes the files, says more of the file system than of render.
func (b *bench) measureSize(ctx context.Context, n int) (costs, error) {
	var c costs
	write := func(root string) error { return writePlain(root, n) }
	err := b.inFolder(write, func(root string) (err error) {
		if c.kustomize, err = b.measureKustomize(ctx, root); err != nil {
			return err
		}
		if _, err = b.measureFirst(ctx, root); err != nil {
			return err
		}
		if c.render, err = b.measureRender(ctx, root); err != nil || c.render.cut {
			return err
		}
		second, err := b.measureRender(ctx, root)
		if err == nil && second.took < c.render.took {
			c.render = second
		}
		return err
	})
	return c, err
}

// appendFinished adds a point, unless the process was cut.
func appendFinished(points []point, n int, c cost) []point {
	if c.cut {
		return points
	}
	return append(points, point{n, c.took.Seconds()})
}

// formatFit says how time grows, and over which points that holds.
func formatFit(points []point) string {
	if len(points) < 2 {
		return "too few runs finished within the limit"
	}
	sizes := make([]string, len(points))
	for i, p := range points {
		sizes[i] = thousands(p.n)
	}
	return fmt.Sprintf("n^%.2f, fitted over n = %s", exponent(points), strings.Join(sizes, "; "))
}

// exponent is the e of seconds = c * n^e: the slope of the line through the
// logarithms with the least squares of errors.
func exponent(points []point) float64 {
	var meanX, meanY float64
	for _, p := range points {
		meanX += math.Log(float64(p.n)) / float64(len(points))
		meanY += math.Log(p.seconds) / float64(len(points))
	}
	var above, below float64
	for _, p := range points {
		x, y := math.Log(float64(p.n))-meanX, math.Log(p.seconds)-meanY
		above, below = above+x*y, below+x*x
	}
	return above / below
}

// thousands is a number below a million as people write it, like 20,000.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}
