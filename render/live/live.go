// Package live compares what environments render to with a cluster: what the next sync would
// change there, by dry runs of the API server, and what the cluster has that git has not.
package live

import (
	"context"
	"fmt"
	"path"
	"slices"
	"sync/atomic"

	ssautils "github.com/fluxcd/pkg/ssa/utils"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/cluster"
	"example.com/gatehouse/render/diff"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/tree"
)

// New renders environments and compares them with one cluster. Where one of them cannot be
// rendered, nothing is compared. An error is for what keeps it from comparing.
func New(ctx context.Context, c *cluster.Cluster, repository *render.Repository, names []string, progress func(environment, step string)) (*diff.Diff, error) {
	names, err := repository.Select(render.Selection{Names: names})
	if err != nil {
		return nil, err
	}
	d := &diff.Diff{}
	var environments []Environment
	for _, name := range names {
		const isAskedFor = true
		rendering, problems := repository.RenderOrGone(name, isAskedFor, func(step string) { progress(name, step) })
		d.Environments = append(d.Environments, diff.Environment{Name: name, Problems: problems})
		if rendering != nil {
			environments = append(environments, newEnvironment(repository.Kinds(), rendering))
		}
	}
	if d.Failed() {
		return d, nil
	}
	compared, err := Compare(ctx, c, environments, progress)
	if err != nil {
		return nil, fmt.Errorf("compare with %s: %w", c.Name, err)
	}
	for i := range compared {
		compared[i].Problems = append(compared[i].Problems, d.Environments[i].Problems...)
	}
	d.Environments = compared
	return d, nil
}

// Environment is what an environment renders to.
type Environment struct {
	Kinds   *registry.Kinds // that people may write in it
	Name    string
	Objects []diff.Manifest
}

func newEnvironment(kinds *registry.Kinds, rendering *render.Rendering) Environment {
	e := Environment{Kinds: kinds, Name: rendering.Environment}
	for i, o := range rendering.Objects {
		e.Objects = append(e.Objects, diff.Manifest{Unstructured: o.Unstructured, File: path.Join(tree.Folder, rendering.Environment, rendering.Files[i].Path)})
	}
	return e
}

// Compare compares environments with one cluster. What one of them has is no stray of another.
func Compare(ctx context.Context, c client.Client, environments []Environment, progress func(environment, step string)) (compared []diff.Environment, err error) {
	known := map[object.ID]bool{}
	for _, e := range environments {
		for _, m := range e.Objects {
			known[idOf(m.Unstructured)] = true
		}
	}
	for _, e := range environments {
		one := &comparison{Client: c, Environment: e, known: known, progress: func(step string) { progress(e.Name, step) }}
		result, err := one.run(ctx)
		if err != nil {
			return nil, err
		}
		compared = append(compared, result)
	}
	return compared, nil
}

// concurrency is how many requests are under way at a time: enough to have the API server
// busy, and so few that its priority and fairness lets everybody else through.
const concurrency = 16

// comparison compares one environment.
type comparison struct {
	client.Client
	Environment
	known    map[object.ID]bool // what environments have; strays are added, to be listed once
	progress func(step string)

	namespaces map[string]namespace
	defined    map[schema.GroupKind]bool // by the environment
	brought    map[object.ID]bool        // by the environment
	applied    map[object.ID]bool        // by render apply, from any environment
	// staged are the Namespaces and definitions that the environment changes: a sync applies
	// them before the API server judges what is in them.
	staged map[object.ID]bool
}

// run compares what is applied first, then all else, then what git does not have.
func (c *comparison) run(ctx context.Context) (diff.Environment, error) {
	c.defined, c.brought, c.staged, c.applied = definedKinds(c.Objects), map[object.ID]bool{}, map[object.ID]bool{}, map[object.ID]bool{}
	for _, m := range c.Objects {
		c.brought[idOf(m.Unstructured)] = true
	}
	if err := c.readNamespaces(ctx); err != nil {
		return diff.Environment{}, err
	}
	var first, rest []diff.Manifest
	for _, m := range c.Objects {
		if ssautils.IsNamespace(m.Unstructured) || ssautils.IsCRD(m.Unstructured) {
			first = append(first, m)
		} else {
			rest = append(rest, m)
		}
	}
	done := new(atomic.Int64)
	findings, err := c.compareAll(ctx, first, done)
	if err != nil {
		return diff.Environment{}, err
	}
	for _, f := range findings {
		c.staged[idOf(f.wanted.Unstructured)] = f.differs()
	}
	others, err := c.compareAll(ctx, rest, done)
	if err != nil {
		return diff.Environment{}, err
	}
	findings = append(findings, others...)
	c.progress("looking for what git does not have")
	extras, warnings, err := c.findExtras(ctx, findings)
	if err != nil {
		return diff.Environment{}, err
	}
	return c.result(findings, extras, append(c.namespaceProblems(), warnings...)), nil
}

func (c *comparison) compareAll(ctx context.Context, manifests []diff.Manifest, done *atomic.Int64) ([]finding, error) {
	findings := make([]finding, len(manifests))
	return findings, concurrently(ctx, len(manifests), func(ctx context.Context, i int) (err error) {
		findings[i], err = c.compare(ctx, manifests[i])
		c.progress(fmt.Sprintf("comparing with the cluster: %d of %d objects", done.Add(1), len(c.Objects)))
		return err
	})
}

// concurrently calls do for each i from 0 to n-1, several at a time, until one fails.
func concurrently(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for i := range n {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return do(ctx, i)
		})
	}
	return group.Wait()
}

// result is what was found, as changes of an environment. With errors there are none.
func (c *comparison) result(findings []finding, extras []extra, problems []object.Problem) diff.Environment {
	problems = object.SortProblems(append(problems, problemsOf(findings)...))
	if object.HasErrors(problems) {
		return diff.Environment{Name: c.Name, Problems: problems}
	}
	var before, after []diff.Manifest
	found, pruned := map[object.ID]finding{}, map[object.ID]string{}
	for _, f := range findings {
		found[idOf(f.wanted.Unstructured)] = f
		if f.live != nil {
			before = append(before, diff.Manifest{Unstructured: f.live})
		}
		after = append(after, diff.Manifest{Unstructured: f.after, File: f.wanted.File})
	}
	for _, x := range extras {
		if !x.isStray {
			pruned[idOf(x.live)] = x.note
			before = append(before, diff.Manifest{Unstructured: x.live})
		}
	}
	e := diff.Objects(c.Kinds, c.Name, before, after)
	for i := range e.Changes {
		change := &e.Changes[i]
		id := change.Object().IDInNamespace()
		if note := pruned[id]; note != "" {
			change.Notes = []string{note}
			continue
		}
		f := found[id]
		change.Notes = f.notes
		if change.Action() == diff.Replaced && f.admitted != nil {
			change.After = f.admitted // with the defaults that the one in the cluster has
		}
	}
	for _, x := range extras {
		if x.isStray {
			e.Changes = append(e.Changes, diff.Change{Before: x.live, IsStray: true, Notes: []string{x.note}})
		}
	}
	slices.SortStableFunc(e.Changes, diff.Compare)
	for i, o := range e.Unchanged {
		if f := found[idOf(o)]; f.found != nil {
			e.Unchanged[i] = f.found // with its status
		}
	}
	e.Problems = problems
	return e
}
