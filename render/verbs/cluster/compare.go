package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/pkg/ssa/normalize"
	ssautils "github.com/fluxcd/pkg/ssa/utils"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
)

// Compare renders environments and compares them with a cluster: it finds what the next sync
// would change there. Where one of them cannot be rendered, nothing is compared.
func Compare(ctx context.Context, c *Cluster, repository *render.Repository, names []string, progress func(environment, step string)) (*diff.Diff, error) {
	names, err := repository.Select(render.Selection{Names: names})
	if err != nil {
		return nil, err
	}
	d := &diff.Diff{}
	var renderings []*render.Rendering
	for _, name := range names {
		const isAskedFor = true
		rendering, problems := repository.RenderOrGone(name, isAskedFor, func(step string) { progress(name, step) })
		d.Environments = append(d.Environments, diff.Environment{Name: name, Problems: problems})
		if rendering != nil {
			renderings = append(renderings, rendering)
		}
	}
	if d.Failed() {
		return d, nil
	}
	compared, err := compareAll(ctx, c, repository.Kinds(), renderings, progress)
	if err != nil {
		return nil, fmt.Errorf("compare with %s: %w", c.Name, withWayOut(err))
	}
	for i := range compared {
		compared[i].Problems = append(compared[i].Problems, d.Environments[i].Problems...)
		compared[i].For = renderings[i].Index.Kubernetes
		compared[i].Problems = append(compared[i].Problems, c.otherVersion(names[i], compared[i].For)...)
	}
	compared[0].Problems = append(compared[0].Problems, c.ageWarning()...)
	d.Environments = compared
	return d, nil
}

// compareAll compares environments with one cluster. No tool prunes from one of them what
// another one has.
func compareAll(ctx context.Context, c *Cluster, kinds *registry.Kinds, renderings []*render.Rendering, progress func(environment, step string)) (compared []diff.Environment, err error) {
	known := map[manifest.ID]bool{}
	for _, r := range renderings {
		for _, o := range r.Objects {
			known[o.IDInNamespace()] = true
		}
	}
	schemas := &schemas{cluster: c, converters: map[schema.GroupVersion]managedfields.TypeConverter{}}
	for _, r := range renderings {
		one := &comparison{Cluster: c, name: r.Environment, kinds: kinds, known: known, schemas: schemas, progress: func(step string) { progress(r.Environment, step) }}
		result, err := one.run(ctx, r.Objects)
		if err != nil {
			return nil, err
		}
		compared = append(compared, result)
	}
	return compared, nil
}

// comparison compares one environment with a cluster.
type comparison struct {
	*Cluster
	name     string               // of the environment
	kinds    *registry.Kinds      // that people may write in it
	known    map[manifest.ID]bool // the objects of all environments that are compared
	schemas  *schemas
	progress func(step string)
}

// run plans what a sync would do, finds what it would prune, and shows both as changes.
func (c *comparison) run(ctx context.Context, objects []manifest.Object) (diff.Environment, error) {
	readable, warnings := withoutEncrypted(objects, "it is not compared")
	manifests, written := make([]manifest.Object, len(readable)), map[string]*unstructured.Unstructured{}
	for i, m := range readable {
		written[m.File] = m.Unstructured
		manifests[i] = manifest.Object{Unstructured: m.DeepCopy(), File: m.File}
		if err := normalize.Unstructured(manifests[i].Unstructured); err != nil {
			return diff.Environment{}, fmt.Errorf("%s: %w", m.File, err)
		}
	}
	planner := &planner{
		cluster: c.Cluster, progress: c.progress, manager: c.manager, force: true,
		refuse: func(*step) string { return "" },
	}
	steps, problems, err := planner.plan(ctx, manifests)
	switch {
	case err != nil:
		return diff.Environment{}, err
	case manifest.HasErrors(problems):
		return diff.Environment{Name: c.name, Problems: manifest.SortProblems(append(warnings, problems...))}, nil
	}
	found := make([]difference, len(steps))
	err = concurrently(ctx, len(steps), func(ctx context.Context, i int) (err error) {
		found[i], err = c.difference(ctx, steps[i], written[steps[i].File])
		return err
	})
	if err != nil {
		return diff.Environment{}, err
	}
	c.progress("looking for what git does not have")
	pruned, more, err := c.findPruned(ctx, steps)
	if err != nil {
		return diff.Environment{}, err
	}
	e := c.changes(found, pruned)
	e.Problems = manifest.SortProblems(slices.Concat(warnings, terminating(steps), more))
	return e, nil
}

// terminating warns of objects that are being deleted.
func terminating(steps []*step) (warnings []manifest.Problem) {
	for _, s := range steps {
		if s.live != nil && s.live.GetDeletionTimestamp() != nil {
			since := s.live.GetDeletionTimestamp().UTC().Format(time.RFC3339)
			warnings = append(warnings, warning(s.Object, fmt.Sprintf("is being deleted since %s: once it is gone, the next sync makes it anew", since)))
		}
	}
	return warnings
}

// difference is what a sync makes of an object.
type difference struct {
	*step
	before *unstructured.Unstructured // of the cluster; nil where the cluster lacks the object
	after  *unstructured.Unstructured
	notes  []string
}

// difference returns what a sync makes of an object. Written is the object as git has it.
func (c *comparison) difference(ctx context.Context, s *step, written *unstructured.Unstructured) (difference, error) {
	d := difference{step: s, after: written}
	if s.live != nil {
		d.before = cleaned(s.live)
	}
	switch {
	case s.deferred != nil:
		d.notes = estimate(s)
	case s.live == nil:
	case ssautils.AnyInMetadata(s.Unstructured, onlyIfAbsent):
		d.after, d.notes = c.leftAlone(s)
	default:
		after, err := c.withoutLeftovers(ctx, s)
		if err != nil {
			return d, err
		}
		if d.after = cleaned(after); !equality.Semantic.DeepEqual(d.before.Object, d.after.Object) {
			d.notes = c.notes(s, after)
		}
	}
	return d, nil
}

// estimate returns the note on an object that the API server cannot judge yet; none on one that waits
// for its namespace or its kind alone.
func estimate(s *step) []string {
	refused, _ := s.deferred.(refusal) //nolint:errorlint // it is never wrapped
	if s.live == nil && (refused.isUnserved || isMissingNamespace(s.deferred)) {
		return nil
	}
	return []string{fmt.Sprintf("this is an estimate, without what the API server adds or removes: the API server refuses it before what else the environment changes is applied: %v", s.deferred)}
}

// leftAlone returns what a sync makes of an object that it creates once. That is another one
// only if it was rendered from another spec.
func (c *comparison) leftAlone(s *step) (after *unstructured.Unstructured, notes []string) {
	after = cleaned(s.live)
	digest := s.GetAnnotations()[kind.DigestAnnotation]
	if after.GetAnnotations()[kind.DigestAnnotation] == digest {
		return after, nil
	}
	_ = unstructured.SetNestedField(after.Object, digest, "metadata", "annotations", kind.DigestAnnotation)
	return after, []string{"it was not made from the spec in git, and a sync leaves it alone: delete it, and the next sync makes the one in git"}
}

// changes returns differences, and objects that tools prune, as changes of the environment.
func (c *comparison) changes(found []difference, pruned []*prunedObject) diff.Environment {
	before, after := make([]manifest.Object, 0, len(found)), make([]manifest.Object, 0, len(found))
	steps, notes := map[manifest.ID]*step{}, map[manifest.ID][]string{}
	for _, d := range found {
		if d.before != nil {
			before = append(before, manifest.Object{Unstructured: d.before})
		}
		after = append(after, manifest.Object{Unstructured: d.after, File: d.File})
		id := idInNamespace(d.after)
		steps[id], notes[id] = d.step, d.notes
	}
	for _, o := range pruned {
		before = append(before, manifest.Object{Unstructured: cleaned(o.live)})
		notes[idInNamespace(o.live)] = []string{o.note}
	}
	e := diff.Objects(c.kinds, c.name, before, after)
	for i := range e.Changes {
		change := &e.Changes[i]
		id := idInNamespace(change.Object().Unstructured)
		change.Notes = notes[id]
		if change.Action() == diff.Replaced && steps[id].after != nil {
			change.After = cleaned(steps[id].after) // with the defaults that the one in the cluster has
		}
	}
	for i, o := range e.Unchanged {
		e.Unchanged[i] = steps[idInNamespace(o)].live // with its status
	}
	return e
}

// toolMetadata is what tools note on each object that they apply.
var toolMetadata = map[string][]string{
	"labels":      {fluxDomain + "/name", fluxDomain + "/namespace", argoDomain + "/instance"},
	"annotations": {argoDomain + "/tracking-id", argoDomain + "/installation-id", corev1.LastAppliedConfigAnnotation},
}

// isToolMetadata reports whether a path leads to what tools note on each object that they apply.
func isToolMetadata(path fieldpath.Path) bool {
	if len(path) != 3 || path[1].FieldName == nil || path[2].FieldName == nil {
		return false
	}
	return slices.Contains(toolMetadata[*path[1].FieldName], *path[2].FieldName)
}

// cleaned returns an object of a cluster without what is no difference from git: what the API
// server keeps, and what tools note.
func cleaned(o *unstructured.Unstructured) *unstructured.Unstructured {
	o = withoutServerFields(o)
	metadata, _ := o.Object["metadata"].(map[string]any)
	for field, keys := range toolMetadata {
		values, _ := metadata[field].(map[string]any)
		for _, key := range keys {
			delete(values, key)
		}
		if len(values) == 0 {
			delete(metadata, field)
		}
	}
	return o
}

// idInNamespace returns the ID of an object with the namespace that it will be in.
func idInNamespace(o *unstructured.Unstructured) manifest.ID {
	return manifest.Object{Unstructured: o}.IDInNamespace()
}
