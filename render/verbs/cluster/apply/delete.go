package apply

import (
	"context"
	"fmt"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/cluster"
)

// Delete deletes the objects that an environment applied; git may lack the environment. A problem
// that is an error means that nothing was deleted, or that an object is not gone in time.
func Delete(ctx context.Context, c *cluster.Cluster, options Options) ([]manifest.Problem, error) {
	r, err := newRun(ctx, c, options)
	if err != nil {
		return nil, err
	}
	if !r.inventory.Exists() {
		return nil, fmt.Errorf("nothing of environment %s was applied by render apply to %s", r.Environment, c.Name)
	}
	problems, err := r.delete(ctx)
	return problems, r.end(ctx, err)
}

func (r *run) delete(ctx context.Context) ([]manifest.Problem, error) {
	removals, err := r.planRemovals(ctx, nil)
	if err != nil {
		return nil, err
	}
	switch problems := problemsOf(removals); {
	case manifest.HasErrors(problems):
		return manifest.SortProblems(problems), nil
	case r.DryRun:
		r.reportRemovals(removals)
		return problems, nil
	}
	if err := r.begin(ctx, nil); err != nil {
		return nil, err
	}
	if err := r.remove(ctx, removals); err != nil {
		return problemsOf(removals), err
	}
	problems := problemsOf(removals)
	if r.Wait {
		problems = append(problems, r.wait(ctx, r.awaitAll(nil, removals))...)
		if manifest.HasErrors(problems) || ctx.Err() != nil {
			return problems, nil //nolint:nilerr // the inventory still lists the objects
		}
	}
	return problems, r.inventory.End(ctx, keptIDs(removals))
}
