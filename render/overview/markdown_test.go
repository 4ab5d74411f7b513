package overview

import (
	"strings"
	"testing"
)

// Text from manifests is shown as it is, and has no meaning to Markdown.
func TestCode(t *testing.T) {
	for text, want := range map[string]string{
		"date":                  "`date`",
		" a  b\t":               "`a  b`",
		"a | b || c":            "`a \\| b \\|\\| c`",
		`a \| b`:                "`a \\\\| b`",
		"a\nb\r\n# c":           "`a\\nb\\r\\n# c`",
		"`id`":                  "`` `id` ``",
		"a ``b`` c":             "```a ``b`` c```",
		"<img src=x> &lt; @a":   "`<img src=x> &lt; @a`",
		"\x1b[31m\u202e\u200ba": "`\\x1b[31m\\u202e\\u200ba`",
		"日本 😀":                  "`日本 😀`",
		" \n\t":                 "(blank)",
		strings.Repeat("x", 72): "`" + strings.Repeat("x", 72) + "`",
		strings.Repeat("é", 73): "`" + strings.Repeat("é", 71) + "…`",
	} {
		if got := code(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// A name is code where a host might make a link of it.
func TestWord(t *testing.T) {
	for name, want := range map[string]string{
		"shop": "shop", "a-1": "a-1", "Deployment": "Deployment", "deadbee": "`deadbee`", "decade": "decade", "www.example.com": "`www.example.com`", "a_b": "`a_b`", "a|b": "`a\\|b`", "@a": "`@a`", "-a": "`-a`",
	} {
		if got := word(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestShort(t *testing.T) {
	for script, want := range map[string]string{
		"date":        "date",
		"\n\ndate\n":  "date",
		"# a comment": "# a comment",
		"#!/bin/sh\nset -eu\n\n# why\n  run --all\nrest": "run --all … (6 lines)",
		"# only\n# comments":                             "# only … (2 lines)",
		strings.Repeat("x", 100) + "\ny":                 strings.Repeat("x", 61) + "… (2 lines)",
	} {
		if got := short(script); got != want {
			t.Errorf("%q is %q, want %q", script, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for seconds, want := range map[int64]string{1: "1s", 60: "1m", 90: "1m30s", 3600: "1h", 86400: "1d", 90061: "1d1h1m1s", 3153600000: "36500d"} {
		if got := duration(seconds); got != want {
			t.Errorf("%d is %s, want %s", seconds, got, want)
		}
	}
}
