package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fatih/color"
)

func TestOutputIsInert(t *testing.T) {
	for text, want := range map[string]string{
		"plain: é 😀 日本\n\tx":                       "plain: é 😀 日本\n\tx",
		"\x1b[31m\r\a\x00\u009b\u202e\u200b\ufeff": `\x1b[31m\r\a\x00\u009b\u202e\u200b\ufeff`,
		"⚠️ x\ufe0f":                               `⚠️ x\ufe0f`,
		"a\xffb":                                   "a\ufffdb",

		"a ##[error]x ###[x] ##vso[task.x]": `a ##\x5berror]x ###\x5bx] ##vso\x5btask.x]`,
		"## [a] # #[b] ##-[c] ##\n[d] #[e]": "## [a] # #[b] ##-[c] ##\n[d] #[e]",

		"::error::x ::y::\n \t::add-mask f=a::x":     "::error:\\x3ax :\\x3ay:\\x3a\n \t::add-mask f=a:\\x3ax",
		"a ::error::x\n- ::1\n::1 localhost\nA::B::": "a ::error::x\n- ::1\n::1 localhost\nA::B::",
		": ::error::x\n:::x::":                       ": ::error::x\n:::x::",
	} {
		for size := 1; size < 9; size++ {
			var out bytes.Buffer
			w := &inert{to: &out, escape: escapeText}
			for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
				fmt.Fprint(w, rest[:min(size, len(rest))])
			}
			if out.String() != want {
				t.Errorf("%q in pieces of %d is %q, want %q", text, size, &out, want)
			}
		}
	}
}

// runnerCommand matches lines that runners of workflows take for a command: Go's reading of
// https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs.
var runnerCommand = regexp.MustCompile(`(?m)^\s*::[^:\n].*?::|##\w*\[`)

// Names of files, and contents, are in no output as they are.
func TestNoVerbPrintsCommandsOfNamesAndContents(t *testing.T) {
	const hostile = "##[add-mask]x"
	root := repository(t)
	if _, _, code, err := execute("--all", "--root", root); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	for name, content := range map[string]string{
		"environments/" + hostile + "/kustomization.yaml": "resources: []\n",
		"environments/prod/" + hostile + ".yaml":          "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n",
		"rendered/prod/" + hostile + "/a.yaml":            "a: b\n",
		"rendered/prod/shop/configmap-a.yaml":             "\x1b]0;title\a\r##[error]a\n  ::error::b\n",
	} {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"--env", "prod", "--check"}, {"--env", "prod", "--check", "-o", "json"}, {"--env", "prod", "--check", "-o", "github"}, {"--all", "--check"}, {"--env", hostile},
		{"diff", "--env", "prod"}, {"diff", "--all"}, {"diff", "--all", "--require-routine"}, {"diff", "--all", "-o", "markdown"}, {"diff", "--all", "-o", "json"}, {"explain", hostile}, {"explain", "a/" + hostile, "--env", "prod"},
		{"upgrade", "--all", "--kubernetes", "1.36"}, {"sync", "flux", "--env", hostile, "--repo", "https://example.com/" + hostile}, {hostile}, {"--" + hostile}, {"__complete", "--env", ""},
	} {
		output, _ := process(t, "", append(args, "--root", root)...).CombinedOutput()
		var lines []string
		for line := range strings.Lines(string(output)) {
			if !strings.HasPrefix(line, "::error ") && !strings.HasPrefix(line, "::warning ") { // of render itself
				lines = append(lines, line)
			}
		}
		if found := runnerCommand.FindString(strings.Join(lines, "")); found != "" || bytes.ContainsAny(output, "\x1b\r\a") || len(output) == 0 {
			t.Errorf("%q: %q in %s", args, found, output)
		}
	}
}

func TestJSONKeepsItsValues(t *testing.T) {
	value := "##[error]\x1b\r\u202e\U000e0100\u3164 ⚠️ é <&> \n::error::"
	var out bytes.Buffer
	if err := printJSON(&out, value); err != nil {
		t.Fatal(err)
	}
	var read string
	if err := json.Unmarshal(out.Bytes(), &read); err != nil || read != value || runnerCommand.Match(out.Bytes()) {
		t.Errorf("%s is read as %q, %v", &out, read, err)
	}
}

func TestPaintColorsOnlyOwnWords(t *testing.T) {
	var out bytes.Buffer
	w := &inert{to: &out, escape: escapeText, isColored: true}
	paint(w, "+a\x1b[8m", color.FgGreen)
	if got := out.String(); !strings.HasPrefix(got, "\x1b[32m+a\\x1b[8m\x1b[0") || strings.Count(got, "\x1b") != 2 {
		t.Errorf("%q", got)
	}
}
