package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bombs make repositories whose work grows with two numbers, by mechanisms of their own. The files are below
// environments/prod.
var bombs = []func(n, m int) map[string]string{
	// Applications of a matrix of lists.
	func(n, m int) map[string]string {
		list := func(key string, n int) string {
			items := make([]string, n)
			for i := range items {
				items[i] = fmt.Sprintf("{%s: v%d}", key, i)
			}
			return "{list: {elements: [" + strings.Join(items, ", ") + "]}}"
		}
		return map[string]string{"kustomization.yaml": "resources: [a.yaml]\n",
			"a.yaml": `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: s, namespace: argocd}
spec:
  generators: [{matrix: {generators: [` + list("a", n) + ", " + list("b", m) + `]}}]
  template:
    metadata: {name: '{{a}}-{{b}}'}
    spec: {project: p, source: {repoURL: https://example.com/r.git, path: x}, destination: {name: in-cluster}}
`}
	},
	// A template that calls itself, twice at each level.
	func(n, m int) map[string]string {
		return map[string]string{"kustomization.yaml": "helmCharts: [{name: c, releaseName: c}]\n",
			"charts/c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
			"charts/c/templates/a.yaml": fmt.Sprintf(`{{define "f"}}{{if .}}{{include "f" (sub . 1)}}{{include "f" (sub . 1)}}`+
				"{{repeat %d \"x\"}}{{end}}{{end}}{{include \"f\" %d}}\n", m, n%64)}
	},
	// A text that each of many variables doubles.
	func(n, m int) map[string]string {
		var values strings.Builder
		fmt.Fprintf(&values, "  V0: %q\n", strings.Repeat("x", m))
		for i := range n {
			fmt.Fprintf(&values, "  V%d: '${V%d}${V%d}'\n", i+1, i, i)
		}
		return map[string]string{
			"kustomization.yaml": "metadata: {annotations: {gatehouse.example.com/substitute: v.yaml}}\nresources: [a.yaml]\n",
			"v.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v}\ndata:\n" + values.String(),
			"a.yaml":             fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: '${V%d}'}\n", n)}
	},
	// Patches of all objects.
	func(n, m int) map[string]string {
		var patches, objects strings.Builder
		for i := range n {
			fmt.Fprintf(&patches, "- {target: {kind: ConfigMap, name: '.*a.*'}, patch: '[{op: add, path: /data/k%d, value: v}]'}\n", i)
		}
		for i := range m {
			fmt.Fprintf(&objects, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%d}\ndata: {k: v}\n", i)
		}
		return map[string]string{"kustomization.yaml": "resources: [a.yaml]\npatches:\n" + patches.String(),
			"a.yaml": objects.String()}
	},
	// Levels of folders, each of which names all objects anew.
	func(n, m int) map[string]string {
		files := map[string]string{"kustomization.yaml": "resources: [l0]\n"}
		var objects strings.Builder
		for i := range m {
			fmt.Fprintf(&objects, "---\napiVersion: v1\nkind: Secret\nmetadata: {name: a%d}\n", i)
		}
		dir := ""
		for i := range min(n, 150) {
			dir += fmt.Sprintf("l%d/", i)
			files[dir+"kustomization.yaml"] = fmt.Sprintf("namePrefix: p-\nnameSuffix: -s\nresources: [l%d]\n", i+1)
		}
		files[dir+"kustomization.yaml"] = "resources: [a.yaml]\n"
		files[dir+"a.yaml"] = objects.String()
		return files
	},
}

// Whatever a small repository asks for, the process ends at its limits, with an error or a result.
func FuzzWatchdog(f *testing.F) {
	for i := range bombs {
		f.Add(byte(i), uint16(60), uint16(400))
	}
	const limit = time.Second
	f.Fuzz(func(t *testing.T, mechanism byte, n, m uint16) {
		root := t.TempDir()
		for file, content := range bombs[int(mechanism)%len(bombs)](int(n)%2000, int(m)%2000) {
			name := filepath.Join(root, "environments/prod", file)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		cmd := process(t, "", "--all", "--check", "--root", root, "--max-cpu", limit.String(), "--max-memory", "300Mi")
		out, _ := cmd.CombinedOutput()
		used := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		// The start of the process comes before its limit, and the collector may be in the middle of its work.
		if code := cmd.ProcessState.ExitCode(); code < 0 || code > exitError || cpu > limit+2*time.Second ||
			used.Maxrss > 900<<10 {
			t.Errorf("exit code %d, CPU time %s, %d MiB: %.1000s", code, cpu, used.Maxrss>>10, out)
		}
		if strings.Contains(string(out), "goroutine ") {
			t.Errorf("panics: %.1000s", out)
		}
	})
}
