// Command bench prints what rendering costs beside `kustomize build` of the same
// inputs, one after the other: time, and peak memory, of a whole process.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

func main() {
	render := flag.String("render", "bin/render", "the render program")
	kustomize := flag.String("kustomize", "bin/kustomize", "the kustomize program")
	flag.Parse()
	if err := bench(*render, *kustomize); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// input is an environment to build; write makes it below a root.
type input struct {
	name  string
	write func(root string) error
}

var inputs = []input{
	{"this repository's prod", repository},
	{"1,000 CRs in 200 folders", func(root string) error { return folders(root, 1000, 200) }},
	{"the same, every Deployment overridden", overridden},
	{"4,000 CRs in 200 folders", func(root string) error { return folders(root, 4000, 200) }},
	{"4,000 CRs in one file", func(root string) error { return folders(root, 4000, 1) }},
}

func bench(render, kustomize string) error {
	var err error
	if render, err = filepath.Abs(render); err != nil {
		return err
	}
	if kustomize, err = filepath.Abs(kustomize); err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "input\tkustomize build\t\trender\t\trender again\t")
	for _, in := range inputs {
		root, err := os.MkdirTemp("", "bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(root)
		if err := in.write(root); err != nil {
			return err
		}
		fmt.Fprint(w, in.name)
		for _, command := range [][]string{
			{kustomize, "build", filepath.Join(root, "environments/prod")},
			{render, "--root", root, "--env", "prod"},
			{render, "--root", root, "--env", "prod"},
		} {
			took, memory, err := measure(command)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "\t%.2f s\t%.0f MiB", took.Seconds(), memory)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// measure runs a command and returns its time and its peak memory in MiB.
func measure(command []string) (time.Duration, float64, error) {
	cmd := exec.CommandContext(context.Background(), command[0], command[1:]...) // #nosec G204 -- the programs that are compared
	cmd.Stdout, cmd.Stderr = io.Discard, os.Stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, 0, fmt.Errorf("%s: no resource usage on this system", command[0])
	}
	return time.Since(start), float64(usage.Maxrss) / 1024, nil
}

// repository copies what this repository's environments are built from.
func repository(root string) error {
	for _, dir := range []string{"environments", "apis/crds"} {
		if err := os.CopyFS(filepath.Join(root, dir), os.DirFS(dir)); err != nil {
			return err
		}
	}
	return nil
}

// folders writes an environment of n CRs, half of them Memcacheds and half Ats, in
// folders with one file each.
func folders(root string, n, folders int) error {
	var top strings.Builder
	top.WriteString("resources:\n")
	for folder := range folders {
		var manifests strings.Builder
		for i := range n / folders {
			manifests.WriteString(resource(folder*(n/folders) + i))
		}
		dir := fmt.Sprintf("team-%d", folder)
		fmt.Fprintf(&top, "- ../../%s\n", dir)
		if err := writeFile(filepath.Join(root, dir, "all.yaml"), manifests.String()); err != nil {
			return err
		}
		if err := writeFile(filepath.Join(root, dir, "kustomization.yaml"), "resources: [all.yaml]\n"); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(root, "environments/prod/kustomization.yaml"), top.String())
}

// overridden is 1,000 CRs in 200 folders, and a patch of what they are rendered to,
// which is nothing that kustomize could do.
func overridden(root string) error {
	const component = `kind: Component
apiVersion: kustomize.config.k8s.io/v1alpha1
patches:
- target: {kind: Deployment}
  patch: '[{"op": "add", "path": "/spec/template/spec/priorityClassName", "value": "high"}]'
`
	if err := folders(root, 1000, 200); err != nil {
		return err
	}
	return writeFile(filepath.Join(root, "environments/prod/overrides/kustomization.yaml"), component)
}

func resource(i int) string {
	if i%2 == 0 {
		return fmt.Sprintf("---\napiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: cache-%d, namespace: shop}\nspec: {size: 2}\n", i)
	}
	return fmt.Sprintf("---\napiVersion: cnat.programming-kubernetes.info/v1alpha1\nkind: At\nmetadata: {name: job-%d, namespace: shop}\nspec: {schedule: \"2027-01-01T00:00:00Z\", command: \"echo %d\"}\n", i, i)
}

func writeFile(name, content string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(content), 0o600)
}
