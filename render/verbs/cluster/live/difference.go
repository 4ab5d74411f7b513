package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/cluster"
	"example.com/gatehouse/render/verbs/cluster/owner"
	"example.com/gatehouse/render/verbs/cluster/plan"
)

// difference is the effect of a sync on an object.
type difference struct {
	*plan.Step                            // nil for an object that git lacks
	before     *unstructured.Unstructured // the live object; nil if the cluster lacks it
	after      *unstructured.Unstructured // nil for an object that git lacks
	notes      []string
}

// difference returns the effect of a sync on an object, which is rendered in git.
func (c *comparison) difference(ctx context.Context, s *plan.Step,
	rendered *unstructured.Unstructured) (difference, error) {
	d := difference{Step: s, after: rendered}
	if s.Live != nil {
		d.before = clean(s.Live)
	}
	switch {
	case s.Deferred != nil:
		d.notes = estimateNotes(s)
	case s.Live == nil:
	case s.IsCreatedOnce():
		d.after, d.notes = syncCreatedOnce(s)
	default:
		synced, err := c.removeLeftovers(ctx, s)
		if err != nil {
			return d, err
		}
		if d.after = clean(synced); !equality.Semantic.DeepEqual(d.before.Object, d.after.Object) {
			d.notes = c.notes(s, synced)
		}
	}
	return d, nil
}

// estimateNotes returns a note on a deferred object, unless it only waits for its namespace or
// kind.
func estimateNotes(s *plan.Step) []string {
	var refusal cluster.Refusal
	isUnserved := errors.As(s.Deferred, &refusal) && refusal.IsUnserved
	if s.Live == nil && (isUnserved || cluster.IsMissingNamespace(s.Deferred)) {
		return nil
	}
	return []string{
		fmt.Sprintf("this is an estimate without the API server's defaults: it refuses the object until other "+
			"changes of the environment are applied: %v", s.Deferred),
	}
}

// syncCreatedOnce returns the live object, which a sync leaves alone. Only a changed digest shows as
// a difference.
func syncCreatedOnce(s *plan.Step) (after *unstructured.Unstructured, notes []string) {
	after = clean(s.Live)
	digest := s.GetAnnotations()[kind.DigestAnnotation]
	if after.GetAnnotations()[kind.DigestAnnotation] == digest {
		return after, nil
	}
	_ = unstructured.SetNestedField(after.Object, digest, "metadata", "annotations", kind.DigestAnnotation)
	return after,
		[]string{"it was rendered from another spec than the one in git, and a sync leaves it alone: delete it, and " +
			"the next sync creates the one in git"}
}

// changes presents differences as changes of the environment.
func (c *comparison) changes(differences []difference) compare.Differences {
	before := make([]manifest.Object, 0, len(differences))
	after := make([]manifest.Object, 0, len(differences))
	steps := map[manifest.ID]*plan.Step{}
	notes := map[manifest.ID][]string{}
	for _, d := range differences {
		if d.before != nil {
			before = append(before, manifest.Object{Unstructured: d.before})
		}
		if d.after != nil {
			after = append(after, manifest.Object{Unstructured: d.after, File: d.File})
		}
		id := idInNamespace(cmp.Or(d.after, d.before))
		steps[id] = d.Step
		notes[id] = d.notes
	}
	found := compare.Differ(c.kinds, compare.Input{Objects: before}, compare.Input{Objects: after})
	for i := range found.Changes {
		change := &found.Changes[i]
		id := idInNamespace(change.Object().Unstructured)
		change.Notes = notes[id]
		if change.Action() == compare.Replaced && steps[id].DryRun != nil {
			change.After = clean(steps[id].DryRun) // with the defaults that the live object has
		}
	}
	for i, o := range found.Unchanged {
		found.Unchanged[i] = steps[idInNamespace(o)].Live // with its status
	}
	return found
}

// toolMetadata lists the labels and annotations that tools set on each object that they apply.
var toolMetadata = map[string][]string{
	"labels": {owner.FluxDomain + "/name", owner.FluxDomain + "/namespace", owner.ArgoDomain + "/instance"},
	"annotations": {owner.ArgoDomain + "/tracking-id", owner.ArgoDomain + "/installation-id",
		corev1.LastAppliedConfigAnnotation},
}

func isToolMetadata(path fieldpath.Path) bool {
	if len(path) != 3 || path[1].FieldName == nil || path[2].FieldName == nil {
		return false
	}
	return slices.Contains(toolMetadata[*path[1].FieldName], *path[2].FieldName)
}

// clean returns a live object without the fields that never count as a difference.
func clean(live *unstructured.Unstructured) *unstructured.Unstructured {
	live = plan.WithoutServerFields(live)
	metadata, _ := live.Object["metadata"].(map[string]any)
	for field, keys := range toolMetadata {
		values, _ := metadata[field].(map[string]any)
		for _, key := range keys {
			delete(values, key)
		}
		if len(values) == 0 {
			delete(metadata, field)
		}
	}
	return live
}

// idInNamespace returns the ID of an object, with the default namespace if it names none.
func idInNamespace(o *unstructured.Unstructured) manifest.ID {
	return manifest.Object{Unstructured: o}.IDInNamespace()
}
