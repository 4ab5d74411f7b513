package at

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestCommandCellShowsFirstCommand(t *testing.T) {
	for script, want := range map[string]string{
		"date":        "date",
		"\n\ndate\n":  "date",
		"# a comment": "# a comment",
		"#!/bin/sh\nset -eu\n\n# why\n  run --all\nrest": "run --all … (6 lines)",
		"# only\n# comments":                             "# only … (2 lines)",
		"kill $$\n":                                      "kill $",
	} {
		var got strings.Builder
		for _, text := range commandCell(corev1.Container{Command: []string{"sh", "-c", script}}) {
			got.WriteString(text.Text)
		}
		if got.String() != want {
			t.Errorf("%q is %q, want %q", script, got.String(), want)
		}
	}
}

func TestDurationUsesLargeUnits(t *testing.T) {
	for seconds, want := range map[int64]string{1: "1s", 60: "1m", 90: "1m30s", 3600: "1h", 86400: "1d", 90061: "1d1h1m1s", 3153600000: "36500d"} {
		if got := duration(seconds); got != want {
			t.Errorf("%d is %s, want %s", seconds, got, want)
		}
	}
}
