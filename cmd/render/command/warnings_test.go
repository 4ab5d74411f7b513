package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/gatehouse/render/manifest"
)

// past is an At that is past and one to come, in an environment without a controller.
const past = `
apiVersion: cnat.programming-kubernetes.info/v1alpha1
kind: At
metadata: {name: to-come, namespace: shop}
spec: {schedule: "9999-01-31T09:00:00Z", command: echo}
---
apiVersion: cnat.programming-kubernetes.info/v1alpha1
kind: At
metadata: {name: past, namespace: shop}
spec: {schedule: "2020-01-31T09:00:00Z", command: echo}
`

// warned returns a repository with two warnings of a base that two environments share.
func warned(t *testing.T) string {
	t.Helper()
	root := repository(t)
	if err := os.Remove(filepath.Join(root, "environments/prod/a.yaml")); err != nil { // nothing lists it
		t.Fatal(err)
	}
	writeFile(t, root, "../base/kustomization.yaml", "resources: [ats.yaml]\n")
	writeFile(t, root, "../base/ats.yaml", past)
	for _, environment := range []string{"prod", "dev"} {
		writeFile(t, root, "../"+environment+"/kustomization.yaml", "resources: [../base]\n")
	}
	return root
}

const (
	pastPosition = "environments/base/ats.yaml:10: warning: At shop/past: spec.schedule: is past: "
	noController = "environments/base/ats.yaml:7: warning: At shop/past: no Gatehouse controller in the environment: "
)

func TestWarningsArePrinted(t *testing.T) {
	root := warned(t)
	out, errOut, code, err := execute("--all", "--root", root)
	if code != 0 || err != nil || out != "dev: 4 objects, 6 written, 0 pruned, 0 unchanged, 2 warnings\nprod: 4 objects, 6 written, 0 pruned, 0 unchanged, 2 warnings\n" {
		t.Errorf("exit code %d, error %v: %s", code, err, out)
	}
	lines := strings.Split(errOut, "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], noController) || !strings.HasPrefix(lines[1], pastPosition) {
		t.Errorf("warnings:\n%s", errOut)
	}
	out, errOut, code, err = execute("--all", "--check", "--root", root)
	if code != 0 || err != nil || out != "" || !strings.HasSuffix(errOut, "\n2 warnings\n") {
		t.Errorf("check: exit code %d, error %v: %s%s", code, err, out, errOut)
	}
}

func TestStrictTurnsWarningsIntoErrors(t *testing.T) {
	for _, check := range []string{"--check", "--check=false"} {
		root := warned(t)
		before := filesBelow(t, root)
		out, errOut, code, err := execute("--all", "--root", root, "--strict", check)
		if code != exitError || err != nil || out != "" || !strings.HasSuffix(errOut, "\nerror: 2 problems, nothing was written\n") || strings.Contains(errOut, "warning: ") {
			t.Errorf("%s: exit code %d, error %v: %s%s", check, code, err, out, errOut)
		}
		if after := filesBelow(t, root); after != before {
			t.Errorf("%s: changed to %s", check, after)
		}
	}
}

// Environments with errors come first, and errors before warnings. They count apart.
func TestErrorsPrecedeWarnings(t *testing.T) {
	root := warned(t)
	writeFile(t, root, "../staging/kustomization.yaml", "resources: [none.yaml]\n")
	_, errOut, code, _ := execute("--all", "--root", root)
	lines := strings.Split(errOut, "\n")
	if code != exitError || len(lines) != 5 || !strings.HasPrefix(lines[0], "environments/staging/kustomization.yaml:1: ") || lines[3] != "error: 1 problem, 2 warnings, nothing was written" {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}

func TestJSONListsWarnings(t *testing.T) {
	root := warned(t)
	for _, strict := range []bool{false, true} {
		out, _, _, _ := execute("--env", "prod", "--root", root, "-o", "json", fmt.Sprintf("--strict=%t", strict))
		var report struct {
			Environments []map[string]any
		}
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatal(err)
		}
		warnings, _ := report.Environments[0]["warnings"].([]any)
		errors, _ := report.Environments[0]["errors"].([]any)
		if warnings == nil || errors == nil {
			t.Fatalf("no list: %s", out)
		}
		if strict {
			warnings, errors = errors, warnings
		}
		if len(errors) != 0 || len(warnings) != 2 {
			t.Fatalf("strict %t: %s", strict, out)
		}
		got, _ := warnings[1].(map[string]any)
		if got["file"] != "environments/base/ats.yaml" || got["line"] != 10.0 || got["object"] != "At shop/past" || got["field"] != "spec.schedule" {
			t.Errorf("strict %t: %v", strict, got)
		}
	}
}

func TestGitHubShowsAnnotations(t *testing.T) {
	root := warned(t)
	t.Setenv("GITHUB_WORKSPACE", filepath.Dir(root))
	out, errOut, code, err := execute("--all", "--root", root, "-o", "github")
	want := "::warning file=" + filepath.Base(root) + "/environments/base/ats.yaml,line=10,title=At shop/past::spec.schedule: is past: "
	if code != 0 || err != nil || errOut != "" || strings.Count(out, "::warning ") != 2 || !strings.Contains(out, "\n"+want) || !strings.Contains(out, "\nprod: 4 objects") {
		t.Errorf("exit code %d, error %v: %s%s", code, err, out, errOut)
	}
	t.Setenv("GITHUB_WORKSPACE", "")
	out, _, code, _ = execute("--all", "--root", root, "-o", "github", "--strict")
	if code != exitError || !strings.Contains(out, "\n::error file=environments/base/ats.yaml,line=10,") || !strings.HasSuffix(out, "\nerror: 2 problems, nothing was written\n") {
		t.Errorf("strict: exit code %d: %s", code, out)
	}
}

// Neither an annotation nor a diff can contain a command.
func TestGitHubEscapesWorkflowCommands(t *testing.T) {
	var out bytes.Buffer
	printAnnotation(&out, manifest.Problem{File: "a,b:c%.yaml", Line: 3, Object: "Kind a:b,c\n", Message: "100%\r\n::error::x, y: z\x1b[31m"}, "")
	if want := "::error file=a%2Cb%3Ac%25.yaml,line=3,title=Kind a%3Ab%2Cc%0A::100%25%0D%0A::error::x, y: z\\x1b[31m\n"; out.String() != want {
		t.Errorf("%q, want %q", &out, want)
	}
	out.Reset()
	printAnnotation(&out, manifest.Problem{Message: "m", Warning: true}, "")
	if want := "::warning title=render::m\n"; out.String() != want {
		t.Errorf("%q, want %q", &out, want)
	}

	root := repository(t)
	writeFile(t, root, "a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    ::error::from a diff\n    b\n")
	if _, _, code, err := execute("--all", "--root", root); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	writeFile(t, root, "a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    ::error::from a diff\n    c\n")
	diff, _, code, err := execute("--all", "--root", root, "--check", "-o", "github")
	if code != exitDiffers || err != nil || !strings.Contains(diff, "\n     ::error:\\x3afrom a diff\n") {
		t.Errorf("exit code %d, error %v: %s", code, err, diff)
	}
}

// The word warning is yellow on a terminal, and is no word of a file's name.
func TestWarningsAreYellowOnATerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer terminal.Close()
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	if !isColored(terminal) {
		t.Error("no colours on a terminal")
	}
	t.Setenv("NO_COLOR", "1")
	if isColored(terminal) {
		t.Error("colours in spite of NO_COLOR")
	}
	if isColored(&bytes.Buffer{}) {
		t.Error("colours in a buffer")
	}
}
