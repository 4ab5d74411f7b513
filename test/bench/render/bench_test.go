//go:build linux

package main

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"
)

func TestExponent(t *testing.T) {
	for _, want := range []float64{0, 1, 1.5, 2} {
		var points []point
		for _, n := range fitSizes {
			points = append(points, point{n, 3 * math.Pow(float64(n), want)})
		}
		if got := exponent(points); math.Abs(got-want) > 1e-9 {
			t.Errorf("exponent of n^%g = %g", want, got)
		}
	}
}

func TestFormatFit(t *testing.T) {
	points := []point{{1000, 1}, {2000, 4}, {4000, 16}}
	points = appendFinished(points, 8000, cost{took: time.Second, cut: true})
	if got, want := formatFit(points), "n^2.00, fitted over n = 1,000; 2,000; 4,000"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := formatFit(points[:1]), "too few runs finished within the limit"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCostRow(t *testing.T) {
	second := cost{took: time.Second, memory: 99.6}
	cut := cost{took: 3 * time.Second, memory: 99.6, cut: true}
	for _, test := range []struct {
		name string
		costs
		want []string
	}{
		{"both finish", costs{cost{took: 3 * time.Second, memory: 50}, second, second},
			[]string{"3.00 s", "50", "1.00 s", "0.33", "100", "1.00 s", "0.33", "100"}},
		{"kustomize is cut", costs{cut, second, second},
			[]string{"> 3 s", "> 99", "1.00 s", "< 0.34", "100", "1.00 s", "< 0.34", "100"}},
		{"render is cut", costs{kustomize: second, render: cut},
			[]string{"1.00 s", "100", "> 3 s", "> 3.00", "> 99", "-", "-", "-"}},
		{"both are cut", costs{kustomize: cut, render: cut},
			[]string{"> 3 s", "> 99", "> 3 s", "-", "> 99", "-", "-", "-"}},
	} {
		if got := costRow(test.name, test.costs)[1:]; !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestMedian(t *testing.T) {
	runs := []cost{{took: 5, memory: 1}, {took: 1, memory: 5}, {took: 4, memory: 3}}
	if got, want := median(runs), (cost{took: 4, memory: 3}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := median(nil); got != (cost{}) {
		t.Errorf("no runs: got %v", got)
	}
}

func TestMeasureCuts(t *testing.T) {
	c, err := measure(context.Background(), 100*time.Millisecond, "sleep", "60")
	if err != nil || !c.cut || c.took != 100*time.Millisecond {
		t.Errorf("got %v, %v", c, err)
	}
	if _, err := measure(context.Background(), time.Minute, "sleep"); err == nil {
		t.Error("no error from a program that fails")
	}
}
