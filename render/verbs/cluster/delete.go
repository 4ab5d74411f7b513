package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/gatehouse/render/manifest"
)

// Delete deletes what an environment applied, whether git has the environment or not. A problem
// that is an error means that nothing was deleted or, after a wait, that something is not gone.
// The text of an error tells how far it came.
func Delete(ctx context.Context, c *Cluster, options Options) ([]manifest.Problem, error) {
	a := newApplier(c, options)
	held, release, err := a.begin(ctx)
	if err != nil {
		return nil, withWayOut(err)
	}
	defer release(true)
	if a.inventory.resourceVersion == "" {
		return nil, fmt.Errorf("nothing of environment %s was applied by render apply to %s%s", a.Environment, c.Name, a.applied())
	}
	planned, problems, err := a.planRemovals(held, a.gone(nil))
	if err != nil {
		return nil, stopReason(held, withWayOut(err))
	}
	if manifest.HasErrors(problems) {
		return merged(manifest.SortProblems(problems)), nil
	}
	if a.DryRun {
		a.reportPlan(&plan{}, planned)
		return problems, nil
	}
	warnings, err := a.remove(held, planned)
	if problems = append(problems, warnings...); err != nil {
		return problems, stopReason(held, err)
	}
	if a.Wait {
		notGone := a.waitFor(held, a.awaited(nil, planned.deleted))
		problems = append(problems, notGone...)
		if err := stopReason(held, nil); err != nil || len(notGone) > 0 {
			return problems, err // the inventory lists what is not gone
		}
	}
	return problems, stopReason(held, a.forget(held, planned.kept))
}

// applied names the environments that were applied there by render apply.
func (a *applier) applied() string {
	environments := map[string]bool{}
	for _, environment := range a.others {
		environments[environment] = true
	}
	if len(environments) == 0 {
		return ""
	}
	return ": there is " + manifest.EscapeControls(strings.Join(slices.Sorted(maps.Keys(environments)), ", "))
}

// forget leaves only kept objects in the inventory, and deletes an empty inventory.
func (a *applier) forget(ctx context.Context, kept []manifest.ID) error {
	if len(kept) == 0 {
		return a.removeInventory(ctx)
	}
	ids := map[manifest.ID]bool{}
	for _, id := range kept {
		ids[id] = true
	}
	return a.writeInventory(ctx, ids)
}
