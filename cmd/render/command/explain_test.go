package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"example.com/gatehouse/apis/crds"
)

// Each archive of testdata/explain is a repository with questions and answers. -update rewrites the
// answers.
func TestExplainAnswersQuestions(t *testing.T) {
	archives, err := filepath.Glob("testdata/explain/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives: ", err)
	}
	for _, name := range archives {
		t.Run(filepath.Base(name), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			root := extract(t, archive)
			name, err := filepath.Abs(name)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(root)
			for i, f := range archive.Files {
				question, ok := strings.CutPrefix(f.Name, "$ ")
				if !ok {
					continue
				}
				answer := explainOutput(strings.ReplaceAll(question, "\\n", "\n"))
				if !*rewrite && answer != string(f.Data) {
					t.Errorf("render explain %s:\n%s\nwant:\n%s", question, answer, f.Data)
				}
				archive.Files[i].Data = []byte(answer)
			}
			if *rewrite {
				if err := os.WriteFile(name, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// explainOutput returns the output of explain and its error or exit code.
func explainOutput(question string) string {
	out, errOut, code, err := execute(append([]string{"explain"}, strings.Fields(question)...)...)
	if err != nil {
		errOut += fmt.Sprintln("error:", err)
	} else if code != 0 {
		errOut += fmt.Sprintln("exit code", code)
	}
	return errOut + out
}

// extract writes the repository of an archive, with the CustomResourceDefinitions in crds/.
func extract(t *testing.T, archive *txtar.Archive) (root string) {
	t.Helper()
	root = t.TempDir()
	write := func(name string, content []byte) {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range archive.Files {
		if !strings.HasPrefix(f.Name, "$ ") {
			write(f.Name, f.Data)
		}
	}
	index := "resources:\n"
	for name, content := range map[string][]byte{"ats.yaml": crds.At, "memcacheds.yaml": crds.Memcached} {
		write("crds/"+name, content)
		index += "- " + name + "\n"
	}
	write("crds/kustomization.yaml", []byte(index))
	return root
}
