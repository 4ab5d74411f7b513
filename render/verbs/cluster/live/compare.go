// Package live shows the changes that the next sync of an environment would make in a cluster.
// It writes nothing: the API server answers by dry run.
package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/pkg/ssa/normalize"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/cluster"
	"example.com/gatehouse/render/verbs/cluster/plan"
	"example.com/gatehouse/render/watchdog"
)

// Compare renders environments and compares them with a cluster. If one cannot be rendered, it
// compares none.
func Compare(ctx context.Context, c *cluster.Cluster, repository *render.Repository, names []string,
	progress func(environment, step string)) (*compare.Diff, error) {
	names, err := repository.Select(render.Selection{Names: names})
	if err != nil {
		return nil, err
	}
	d := &compare.Diff{}
	var renderings []*render.Rendering
	for _, name := range names {
		loaded := repository.Load(name, render.LoadOptions{Progress: func(step string) { progress(name, step) }})
		facts := compare.Facts{Name: name, Problems: loaded.Problems}
		if loaded.Rendering != nil {
			facts.Checker = loaded.Checker()
			renderings = append(renderings, loaded.Rendering)
		}
		d.Environments = append(d.Environments, compare.Differences{}.With(facts))
	}
	if d.Failed() {
		return d, nil
	}
	compared, err := compareAll(ctx, c, repository.Kinds(), renderings, progress)
	if err != nil {
		return nil, fmt.Errorf("compare with %s: %w", c.Name, cluster.WithRemedy(err))
	}
	for i, e := range compared {
		facts := d.Environments[i].Facts
		facts.Problems = slices.Concat(e.Problems, facts.Problems,
			c.VersionWarnings(names[i], renderings[i].Index.Kubernetes))
		d.Environments[i] = e.With(facts)
	}
	return d, nil
}

// compareAll compares environments with one cluster. An object of one environment is never
// reported as pruned from another.
func compareAll(ctx context.Context, c *cluster.Cluster, kinds *registry.Kinds, renderings []*render.Rendering,
	progress func(environment, step string)) (compared []*compare.Comparison, err error) {
	watchdog.Hold() // to the end: the cluster decides the rest of the work
	known := map[manifest.ID]bool{}
	for _, r := range renderings {
		for _, o := range everyObject(r) {
			known[o.IDInNamespace()] = true
		}
	}
	schemas := &schemas{cluster: c, converters: map[schema.GroupVersion]managedfields.TypeConverter{}}
	for _, r := range renderings {
		one := &comparison{Cluster: c, environment: r.Environment, kinds: kinds, known: known, schemas: schemas,
			followed: foldersOf(r), appliers: appliersOf(r),
			progress: func(step string) { progress(r.Environment, step) }}
		objects, warnings := applied(r)
		differences, problems, err := one.run(ctx, objects)
		if err != nil {
			return nil, err
		}
		facts := compare.Facts{Name: r.Environment, Problems: append(problems, warnings...)}
		compared = append(compared, differences.With(facts))
	}
	return compared, nil
}

// comparison compares one environment with a cluster.
type comparison struct {
	*cluster.Cluster
	environment string
	kinds       *registry.Kinds
	known       map[manifest.ID]bool // the objects of all compared environments
	followed    []*render.Delivery
	appliers    map[manifest.ID]string // see appliersOf
	schemas     *schemas
	progress    func(step string)
}

// run plans a sync and lists the objects that it would prune.
func (c *comparison) run(ctx context.Context, objects []manifest.Object) (found compare.Differences,
	problems []manifest.Problem, err error) {
	readable, warnings := plan.DropEncrypted(objects, "it is not compared")
	normalized := make([]manifest.Object, len(readable))
	rendered := map[manifest.ID]*unstructured.Unstructured{}
	for i, o := range readable {
		rendered[o.IDInNamespace()] = o.Unstructured
		normalized[i] = manifest.Object{Unstructured: o.DeepCopy(), File: o.File}
		if err := normalize.Unstructured(normalized[i].Unstructured); err != nil {
			return found, nil, fmt.Errorf("%s: %w", o.File, err)
		}
	}
	p, problems, err := plan.New(ctx, c.Cluster, normalized, plan.Options{
		Progress: c.progress, Manager: c.manager, Force: true,
		Refuse: func(*plan.Step) string { return "" },
	})
	switch {
	case err != nil:
		return found, nil, err
	case manifest.HasErrors(problems):
		return found, manifest.SortProblems(append(warnings, problems...)), nil
	}
	differences := make([]difference, len(p.Steps))
	err = cluster.ForEach(ctx, len(p.Steps), func(ctx context.Context, i int) (err error) {
		differences[i], err = c.difference(ctx, p.Steps[i], rendered[p.Steps[i].IDInNamespace()])
		return err
	})
	if err != nil {
		return found, nil, err
	}
	c.progress("looking for objects that left git")
	pruned, more, err := c.findPruned(ctx, p.Steps)
	if err != nil {
		return found, nil, err
	}
	problems = manifest.SortProblems(slices.Concat(warnings, terminating(p.Steps), more))
	return c.changes(slices.Concat(differences, pruned)), problems, nil
}

// terminating warns of objects that are being deleted.
func terminating(steps []*plan.Step) (warnings []manifest.Problem) {
	for _, s := range steps {
		if s.Live != nil && s.Live.GetDeletionTimestamp() != nil {
			since := s.Live.GetDeletionTimestamp().UTC().Format(time.RFC3339)
			message := fmt.Sprintf("is being deleted since %s: once it is gone, the next sync creates it again", since)
			warnings = append(warnings, manifest.Problem{Code: manifest.ClusterDiffers,
				File: s.File, Object: s.String(), Message: message,
				Warning: true})
		}
	}
	return warnings
}
