package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/gatehouse/render/cluster"
	"example.com/gatehouse/render/object"
)

// Delete deletes what an environment applied, whether git has that or not. Problems that are
// errors are why nothing was deleted, or the error says how far it came.
func Delete(ctx context.Context, c *cluster.Cluster, options Options) ([]object.Problem, error) {
	a := newApplier(c, options)
	held, release, err := a.begin(ctx)
	if err != nil {
		return a.problemsAnyway(ctx, nil, err)
	}
	defer release(true)
	if err := a.readInventories(held); err != nil {
		return a.problemsAnyway(ctx, nil, err)
	}
	if a.inventory.resourceVersion == "" {
		return nil, fmt.Errorf("nothing of environment %s was applied by render apply to %s%s", a.Environment, c.Name, a.applied())
	}
	removals, kept, problems := a.planRemovals(held, slices.Collect(maps.Keys(a.inventory.IDs)), thorough)
	if object.HasErrors(problems) {
		return few(object.SortProblems(problems)), nil
	}
	if a.DryRun {
		a.reportPlan(&plan{}, removals)
		return problems, nil
	}
	left, err := a.remove(held, removals)
	problems = append(problems, a.warnings...)
	if err != nil {
		return problems, lost(held, err)
	}
	if a.Wait {
		waited := a.wait(held, nil, removals)
		if err := lost(held, nil); err != nil {
			return problems, err
		}
		if problems = append(problems, waited...); len(waited) > 0 {
			return problems, nil // the inventory has what is not gone
		}
	}
	return problems, lost(held, a.forget(held, append(kept, left...)))
}

// applied says what was applied there by render apply instead.
func (a *applier) applied() string {
	environments := map[string]bool{}
	for _, environment := range a.others {
		environments[environment] = true
	}
	if len(environments) == 0 {
		return ""
	}
	return ": there is " + object.EscapeControls(strings.Join(slices.Sorted(maps.Keys(environments)), ", "))
}

// forget has the inventory list no more than what is kept, and be gone where that is nothing.
func (a *applier) forget(ctx context.Context, kept []object.ID) error {
	if len(kept) == 0 {
		return a.removeInventory(ctx)
	}
	ids := map[object.ID]bool{}
	for _, id := range kept {
		ids[id] = true
	}
	return a.writeInventory(ctx, ids)
}
