package command

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/tools/txtar"
)

// transcript matches a block of a page with commands and their output.
var transcript = regexp.MustCompile("(?ms)^```console\n(.*?)^```$")

// The repository podinfo has the layout of many existing repositories.
func TestAdoptPageShowsRealOutput(t *testing.T) {
	page, err := os.ReadFile("../../../docs/adopt.md")
	if err != nil {
		t.Fatal(err)
	}
	repository, err := txtar.ParseFile("testdata/podinfo/deploy.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	script.WriteString("git init -q\ngit add .\ngit commit -q -m podinfo\n")
	for _, block := range transcript.FindAllSubmatch(page, -1) {
		for _, step := range strings.Split("\n"+string(block[1]), "\n$ ")[1:] {
			command, output, _ := strings.Cut(step, "\n")
			if output != "" && !strings.HasSuffix(output, "\n") {
				output += "\n"
			}
			name := fmt.Sprintf(".git/output-%d", len(repository.Files))
			repository.Files = append(repository.Files, txtar.File{Name: name, Data: []byte(output)})
			fmt.Fprintf(&script, "exec sh -c '{ %s; } 2>&1 || true'\ncmp stdout %s\n", strings.ReplaceAll(command, "'", "''"), name)
		}
	}
	if strings.Count(script.String(), "cmp") < 5 {
		t.Fatal("docs/adopt.md has no transcript")
	}
	repository.Comment = []byte(script.String())
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "adopt.txtar"), txtar.Format(repository), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Dir: dir, Setup: setUpGit, Cmds: map[string]func(*testscript.TestScript, bool, []string){"git": runGit}})
}
