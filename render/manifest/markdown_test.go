package manifest_test

import (
	"os/exec"
	"strings"
	"testing"
	"unicode"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
)

// hostile are values that GitHub or GitLab would render as more than text.
var hostile = []string{
	"@octocat", "#123", "!12", "GH-1", "https://example.com", "www.example.com", "a@example.com", ":smile:", "1234567890abcdef", "</code></td></table>", "<!--", "-->",
	"[a](https://example.com)", "![a](https://example.com)", "`", "``", " ` ", "a`b``c", "|", `\|`, `\\|`, `\`, "a\nb", "\u202eabc", "\u200b", "\u3164", "a\ufe0f", "\u2800", "\x1b[31m", "$a$", "$`a`$", "**a**", "_a_", "~~a~~", "&lt;", "&#64;octocat", "/approve", "", " ",
}

// TestCodeSpanIsOneCodeElement runs GitHub's Markdown parser, if it is installed.
func TestCodeSpanIsOneCodeElement(t *testing.T) {
	program, err := exec.LookPath("cmark-gfm")
	if err != nil {
		t.Skip("cmark-gfm is not installed")
	}
	for _, value := range hostile {
		cell := kind.Say("%s", value)
		if strings.ContainsFunc(cell.Plain(), func(r rune) bool { return !unicode.IsPrint(r) || r == '\u3164' || r == '\ufe0f' || r == '\u2800' }) {
			t.Errorf("%q does not show", value)
		}
		cmd := exec.CommandContext(t.Context(), program, "-e", "table", "-e", "autolink", "--unsafe")
		cmd.Stdin = strings.NewReader("| a |\n|-|\n| " + cell.Format(manifest.CodeSpan) + " |\n")
		html, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(cell.Plain())
		want := "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td><code>" + escaped + "</code></td>\n</tr>\n</tbody>\n</table>\n"
		if string(html) != want {
			t.Errorf("%q is\n%s", value, html)
		}
	}
}
