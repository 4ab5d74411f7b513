package cluster

import (
	"context"
	"fmt"

	"example.com/gatehouse/render/manifest"
)

// Delete deletes what an environment applied, whether git has the environment or not. A problem
// that is an error means that nothing was deleted or, after a wait, that something is not gone.
// The text of an error tells how far it came.
func Delete(ctx context.Context, c *Cluster, options Options) ([]manifest.Problem, error) {
	a := newApplier(c, options)
	if !options.DryRun {
		defer a.removeLease(context.WithoutCancel(ctx))
	}
	return a.hold(ctx, a.delete)
}

func (a *applier) delete(ctx context.Context) ([]manifest.Problem, error) {
	if a.inventory.ResourceVersion == "" {
		return nil, fmt.Errorf("nothing of environment %s was applied by render apply to %s", a.Environment, a.cluster.Name)
	}
	gone, err := a.planRemovals(ctx, nil)
	if err != nil {
		return nil, withWayOut(err)
	}
	switch problems := notDeleted(gone); {
	case manifest.HasErrors(problems):
		return manifest.SortProblems(problems), nil
	case a.DryRun:
		a.reportPlan(nil, gone)
		return problems, nil
	}
	if err := a.remove(ctx, gone); err != nil {
		return notDeleted(gone), err
	}
	if a.Wait {
		if notGone := a.waitFor(ctx, a.awaited(nil, gone)); len(notGone) > 0 || ctx.Err() != nil {
			return append(notDeleted(gone), notGone...), nil //nolint:nilerr // the inventory lists what is not gone
		}
	}
	if kept := keptIDs(gone); len(kept) > 0 {
		return notDeleted(gone), a.writeInventory(ctx, kept)
	}
	return notDeleted(gone), a.removeInventory(ctx)
}
