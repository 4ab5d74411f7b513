package review

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unicode"

	"example.com/gatehouse/render/diff"
)

// A comment is never longer than it may be, all folds and fences in it are closed, and it
// says that something is left out.
func TestCommentsFit(t *testing.T) {
	r := &Review{}
	for i := range 12 {
		e := Environment{Name: fmt.Sprintf("env-%d", i)}
		for j := range i {
			o := Object{Kind: "ConfigMap", Namespace: "n", Name: fmt.Sprintf("map-%d-%d", i, j)}
			effect := Effect{Object: o, What: say("happens %d", i*j)}
			if j%3 == 0 {
				effect.Risk = "is bad"
			}
			e.Effects = append(e.Effects, effect)
			e.Changes = append(e.Changes, Change{Action: diff.Added, Object: o, Diff: strings.Repeat("+"+strings.Repeat("`", j)+"\n", i*j)})
			e.Counts.Added++
		}
		r.Environments = append(r.Environments, e)
	}
	const rest = "See the job."
	all := r.Markdown(1<<30, rest)
	if strings.Contains(all, rest) {
		t.Error("is cut, and need not be")
	}
	for limit := 400; limit < len(all); limit += 37 {
		comment := r.Markdown(limit, rest)
		if len(comment) > limit {
			t.Fatalf("%d bytes of %d", len(comment), limit)
		}
		if !strings.HasPrefix(comment, Marker+"\n") || !strings.HasSuffix(comment, rest+"\n") {
			t.Fatalf("at %d bytes: begins or ends otherwise:\n%s", limit, comment)
		}
		if opened, closed := strings.Count(comment, "<details>"), strings.Count(comment, "</details>"); opened != closed {
			t.Fatalf("at %d bytes: %d folds are opened, %d closed", limit, opened, closed)
		}
		if strings.Contains(comment, "+`") && limit > len(all)/2 && !strings.Contains(comment, "is bad") {
			t.Fatalf("at %d bytes: has diffs and no risk", limit)
		}
	}
}

func TestLongLinesAreCut(t *testing.T) {
	got := diffText("+" + strings.Repeat("ä", 5000) + "\n+b\tc\r\n")
	if len(got) > 2200 || !strings.Contains(got, "… and 4001 more characters\n+b\tc\\r\n") {
		t.Error(got)
	}
}

func TestNoChange(t *testing.T) {
	r := New([]diff.Environment{{Name: "prod"}}, time.Now())
	if got := r.Markdown(1000, ""); got != Marker+"\nNo change to any cluster.\n" {
		t.Error(got)
	}
	encoded, err := json.Marshal(r)
	if err != nil || string(encoded) != `{"environments":[]}` {
		t.Errorf("%s %v", encoded, err)
	}
}

// hostile are values that would be more than text to GitHub or GitLab.
var hostile = []string{
	"@octocat", "#123", "!12", "GH-1", "https://example.com", "www.example.com", "a@example.com", ":smile:", "1234567890abcdef", "</code></td></table>", "<!--", "-->",
	"[a](https://example.com)", "![a](https://example.com)", "`", "``", " ` ", "a`b``c", "|", `\|`, `\\|`, `\`, "a\nb", "\u202eabc", "\u200b", "\u3164", "a\ufe0f", "\u2800", "\x1b[31m", "$a$", "$`a`$", "**a**", "_a_", "~~a~~", "&lt;", "&#64;octocat", "/approve", "", " ",
}

// TestCodeSpan asks the parser of GitHub, where it is installed, what a value is to it: the
// text of one element <code>, in one cell.
func TestCodeSpan(t *testing.T) {
	program, err := exec.LookPath("cmark-gfm")
	if err != nil {
		t.Skip("there is no cmark-gfm")
	}
	for _, value := range hostile {
		cell := quoted(value)
		if strings.ContainsFunc(cell.Plain(), func(r rune) bool { return !unicode.IsPrint(r) || r == '\u3164' || r == '\ufe0f' || r == '\u2800' }) {
			t.Errorf("%q is not seen", value)
		}
		cmd := exec.CommandContext(t.Context(), program, "-e", "table", "-e", "autolink", "--unsafe")
		cmd.Stdin = strings.NewReader("| a |\n|-|\n| " + cell.markdown() + " |\n")
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
