package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/gatehouse/kind/gatehouse"
)

func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	writeFile(t, root, "kustomization.yaml", "resources: [a.yaml]\n")
	writeFile(t, root, "a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\n")
	return root
}

func writeFile(t *testing.T, root, name, content string) {
	t.Helper()
	name = filepath.Join(root, "environments/prod", name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// coverageLine is the line about what is judged.
var coverageLine = regexp.MustCompile(`(?m)^\d+ (clusters?|folders?)( and \d+ folders?)?, \d+ objects? judged.*\n`)

// execute runs a command. Its stderr lacks the line of the coverage.
func execute(args ...string) (stdout, stderr string, code int, err error) {
	var out, errOut bytes.Buffer
	cmd := newCommand(gatehouse.All(), args)
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SetArgs(args)
	err = cmd.Execute()
	var exit exitCode
	if errors.As(err, &exit) {
		return out.String(), coverageLine.ReplaceAllString(errOut.String(), ""), int(exit), nil
	}
	return out.String(), coverageLine.ReplaceAllString(errOut.String(), ""), 0, err
}

func TestExitCodesDistinguishDifferencesFromErrors(t *testing.T) {
	root := repository(t)
	step := func(what string, wantCode int, wantOut, wantErr string, args ...string) {
		t.Helper()
		out, errOut, code, err := execute(append(args, "--root", root)...)
		if err != nil || code != wantCode || !strings.Contains(out, wantOut) || !strings.Contains(errOut, wantErr) {
			t.Errorf("%s: exit code %d, error %v\n%s%s", what, code, err, out, errOut)
		}
	}
	step("check before", exitDiffers, "+++ b/rendered/prod/shop/configmap-a.yaml", "", "--all", "--check")
	step("render", 0, "prod: 1 object, 2 written, 0 pruned, 0 unchanged", "", "--env", "prod")
	step("check after", 0, "", "", "--all", "--check")
	writeFile(t, root, "a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndatta: {}\n")
	step("problem", exitError, "", `environments/prod/a.yaml:4: ConfigMap a: unknown field "datta"`, "--env", "prod")
	step("missing", exitError, "", "environments/nope: no such environment", "--env", "nope")
}

func TestJSONReportHasNoNulls(t *testing.T) {
	root := repository(t)
	out, _, code, err := execute("--all", "--root", root, "-o", "json")
	var report report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if e := report.Environments[0]; err != nil || code != 0 || e.Objects != 1 || len(e.Written) != 2 || len(e.Errors) != 0 {
		t.Errorf("exit code %d, error %v: %s", code, err, out)
	}
}

func TestInvalidFlagsAreErrors(t *testing.T) {
	for want, args := range map[string][]string{
		"which environment? write --":     {},
		"use text, json, github or sarif": {"--all", "-o", "xml"},
		"is not the name":                 {"--env", "../prod", "--root", repository(t)},
		"is not an environment":           {"--env", "base", "--root", repository(t)},
		"has no folder environments":      {"--all", "--root", t.TempDir()},
		"[env all] are set none":          {"--all", "--env", "prod"},
		`unknown command "prod" for`:      {"prod"},
		"/nowhere: no such folder":        {"--all", "--root", "/nowhere"},
	} {
		if _, _, _, err := execute(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", args, err, want)
		}
	}
}

// Each run says how much is judged, and render coverage lists the rest.
func TestEachRunEndsWithItsCoverage(t *testing.T) {
	root := repository(t)
	writeFile(t, root, "kustomization.yaml", "resources: [a.yaml, b.yaml]\n")
	writeFile(t, root, "b.yaml", "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: b, namespace: shop}\n")
	const want = "1 cluster, 1 object judged. Not judged: 1 kind without a definition\n"
	for _, args := range []string{"--all --check", "--all --check -o json", "diff --all", "images --all",
		"upgrade --all --kubernetes 1.37"} {
		var errOut bytes.Buffer
		cmd := newCommand(gatehouse.All(), nil)
		cmd.SetOut(&bytes.Buffer{})
		cmd.SetErr(&errOut)
		cmd.SetArgs(append(strings.Fields(args), "--root", root))
		if _ = cmd.Execute(); !strings.HasSuffix(errOut.String(), want) {
			t.Errorf("%s: %s", args, &errOut)
		}
	}
	out, _, _, err := execute("coverage", "--root", root)
	if err != nil || out != "environments/prod/b.yaml:1: Widget.example.com: without a definition\n"+want {
		t.Errorf("%v: %s", err, out)
	}
}
