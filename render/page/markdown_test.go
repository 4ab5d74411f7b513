package page

import (
	"strings"
	"testing"
)

func TestCodeShowsTextWithoutMarkup(t *testing.T) {
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

func TestWordIsCodeIfAHostWouldLinkIt(t *testing.T) {
	for name, want := range map[string]string{
		"shop": "shop", "a-1": "a-1", "Deployment": "Deployment", "deadbee": "`deadbee`", "decade": "decade", "www.example.com": "`www.example.com`", "a_b": "`a_b`", "a|b": "`a\\|b`", "@a": "`@a`", "-a": "`-a`",
	} {
		if got := word(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestEscapeKeepsTextAndLineBreaks(t *testing.T) {
	for text, want := range map[string]string{
		"3 to 6, ~1Mi (a-b.c)": "3 to 6, ~1Mi (a-b.c)",
		"a|b *c* _d_ [e](f)":   `a\|b \*c\* \_d\_ \[e\](f)`,
		"<b> &lt; `x` \\":      "\\<b\\> \\&lt; \\`x\\` \\\\",
		"a\nb\x1b":             `a<br>b\x1b`,
	} {
		if got := escape(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
