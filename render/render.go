// Package render turns the environments of a repository, environments/<name>,
// into plain Kubernetes manifests, rendered/<name>. What it writes depends on the
// files of the repository alone: on no cluster, clock, network or other program.
package render

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

const (
	environmentsFolder = "environments"
	renderedFolder     = "rendered"
)

// Options say what to render.
type Options struct {
	// Root is the folder that holds environments/.
	Root string
	// Environments are the names of environments.
	Environments []string
	// All adds every environment that there is, and those that were rendered and
	// are no more.
	All bool
	// Check writes nothing; the report has the differences.
	Check bool
	// Progress, if set, is told what is being done.
	Progress func(environment, step string)
}

// Report is what was done.
type Report struct {
	Environments []EnvironmentReport `json:"environments"`
}

// EnvironmentReport is what was done for one environment. Paths are relative to
// the root, with slashes.
type EnvironmentReport struct {
	Name string `json:"name"`
	// Objects is how many objects the environment has.
	Objects int `json:"objects"`
	// Written are the files that are new or changed.
	Written []string `json:"written"`
	// Unchanged are the files that were right already.
	Unchanged []string `json:"unchanged"`
	// Pruned are the files that are rendered no more.
	Pruned []string `json:"pruned"`
	// Errors are why nothing was written, in any environment.
	Errors []Problem `json:"errors"`

	// Diff is a unified diff of all that was written and pruned, or would be.
	Diff string `json:"diff,omitempty"`
}

// Failed says whether any environment has errors.
func (r *Report) Failed() bool {
	for _, e := range r.Environments {
		if len(e.Errors) > 0 {
			return true
		}
	}
	return false
}

// Changed says whether any file is, or would be, written or pruned.
func (r *Report) Changed() bool {
	for _, e := range r.Environments {
		if len(e.Written)+len(e.Pruned) > 0 {
			return true
		}
	}
	return false
}

// Run renders environments. What is wrong with them is in the report, all of it,
// and then nothing is written; an error is for what keeps Run from finding out.
func Run(ctx context.Context, options Options) (*Report, error) {
	t, err := openTree(options.Root)
	if err != nil {
		return nil, fmt.Errorf("open the folder that holds %s: %w", environmentsFolder, err)
	}
	defer t.disk.Close()
	if !t.IsDir("/" + environmentsFolder) {
		return nil, fmt.Errorf("%s has no folder %s", t.dir, environmentsFolder)
	}
	names, err := selectEnvironments(t, options)
	if err != nil {
		return nil, err
	}
	if options.Progress == nil {
		options.Progress = func(string, string) {}
	}
	rendered := make([]*environment, len(names))
	for i, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rendered[i] = renderEnvironment(t.fresh(), name, !slices.Contains(options.Environments, name), options.Progress)
	}
	if !options.Check && !slices.ContainsFunc(rendered, (*environment).failed) {
		unlock, err := lock(ctx, t.disk)
		if err != nil {
			return nil, err
		}
		defer unlock()
	}
	report, plans := compare(t.disk, rendered)
	if report.Failed() {
		return report, nil
	}
	for i, p := range plans {
		if options.Check {
			report.Environments[i].Diff = p.diff()
			continue
		}
		options.Progress(names[i], "writing")
		if err := errors.Join(p.folder.clean(), p.apply(ctx)); err != nil {
			return nil, fmt.Errorf("write %s: %w", p.folder.path, err)
		}
	}
	return report, nil
}

// environment is a rendered environment: files in apply order, or problems.
type environment struct {
	name     string
	files    []file
	problems []Problem
}

func (e *environment) failed() bool { return len(e.problems) > 0 }

// compare plans what to write for each environment.
func compare(root *os.Root, environments []*environment) (*Report, []*plan) {
	report := &Report{Environments: []EnvironmentReport{}}
	plans := make([]*plan, 0, len(environments))
	for _, e := range environments {
		f := folder{root: root, path: path.Join(renderedFolder, e.name)}
		p, err := newPlan(f, e.files)
		if err != nil && len(e.problems) == 0 {
			for line := range strings.Lines(err.Error()) {
				e.problems = append(e.problems, Problem{Message: strings.TrimSpace(line)})
			}
		}
		plans = append(plans, p)
		report.Environments = append(report.Environments, e.report(p))
	}
	return report, plans
}

func (e *environment) report(p *plan) EnvironmentReport {
	r := EnvironmentReport{Name: e.name, Objects: len(e.files), Written: []string{}, Unchanged: []string{}, Pruned: []string{}, Errors: []Problem{}}
	if len(e.problems) > 0 {
		r.Errors = e.problems
		return r
	}
	full := func(name string) string { return path.Join(p.folder.path, name) }
	for _, file := range p.write {
		r.Written = append(r.Written, full(file.path))
	}
	for _, name := range p.unchanged {
		r.Unchanged = append(r.Unchanged, full(name))
	}
	for _, name := range p.prune {
		r.Pruned = append(r.Pruned, full(name))
	}
	if old, ok := p.before[indexFile]; ok && p.index != nil {
		r.Written = append(r.Written, full(indexFile))
	} else if ok && old != nil {
		r.Pruned = append(r.Pruned, full(indexFile))
	} else if p.index != nil {
		r.Unchanged = append(r.Unchanged, full(indexFile))
	}
	return r
}

// diff is a unified diff of what the plan changes, as `git apply` takes it.
func (p *plan) diff() string {
	var b strings.Builder
	for _, file := range append(p.write, file{indexFile, p.index}) {
		if old, ok := p.before[file.path]; ok {
			b.WriteString(p.fileDiff(file.path, old, file.content))
		}
	}
	for _, name := range p.prune {
		b.WriteString(p.fileDiff(name, p.before[name], nil))
	}
	return b.String()
}

func (p *plan) fileDiff(name string, before, after []byte) string {
	from, to := "a/"+path.Join(p.folder.path, name), "b/"+path.Join(p.folder.path, name)
	if before == nil {
		from = os.DevNull
	}
	if after == nil {
		to = os.DevNull
	}
	return udiff.Unified(from, to, string(before), string(after))
}

// FindRoot is the folder at or above dir that holds environments/.
func FindRoot(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, environmentsFolder)); err == nil && info.IsDir() {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no folder %s at or above %s: name the folder that holds it with --root", environmentsFolder, dir)
		}
	}
}
