// Package apply applies an environment to a cluster, prunes objects that left it, and deletes an
// environment. Every error that a dry run can find stops a run before its first write.
//
// ssa.ResourceManager writes with --force-conflicts only: it takes the fields of other managers,
// deletes without preconditions, and waits without the reasons of objects that are not ready.
package apply

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/fluxcd/pkg/ssa"
	ssautils "github.com/fluxcd/pkg/ssa/utils"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/cluster"
	"example.com/gatehouse/render/verbs/cluster/inventory"
	"example.com/gatehouse/render/verbs/cluster/owner"
	"example.com/gatehouse/render/verbs/cluster/plan"
)

// Options are the options of Apply and Delete.
type Options struct {
	Environment string
	// Kinds are the kinds of source objects in the environment.
	Kinds *registry.Kinds
	// Repository identifies the git repository of the environment, if it is known. Objects that
	// another repository applied are left alone.
	Repository string
	// ForceConflicts takes fields from other managers.
	ForceConflicts bool
	// DryRun reports the effects and writes nothing.
	DryRun bool
	// Wait waits until applied objects are ready and deleted ones are gone.
	Wait bool
	// Timeout limits each wait.
	Timeout time.Duration
	// Progress is called before each step of the work.
	Progress func(step string)
	// Done is called after the change of each object.
	Done func(Change)
}

// Change is the effect on one object.
type Change struct {
	manifest.ID
	// Action is created, configured, unchanged or deleted. The Pod of an At is unchanged once
	// it was created.
	Action Action `json:"action"`
}

// Action is the kind of a Change.
type Action = ssa.Action

// The actions of a Change.
const (
	Created    = ssa.CreatedAction
	Configured = ssa.ConfiguredAction
	Unchanged  = ssa.UnchangedAction
	Deleted    = ssa.DeletedAction
)

// run applies or deletes an environment once.
type run struct {
	Options

	cluster   *cluster.Cluster
	isDelete  bool
	inventory *inventory.Inventory
	others    map[manifest.ID]string // the environments of objects in other inventories
	hasBegun  bool                   // to write
}

// Apply applies an environment, and deletes the objects that it applied before and no longer
// has. A problem that is an error means that nothing was written, that the run stopped halfway, or
// that an object is not ready.
func Apply(ctx context.Context, c *cluster.Cluster, objects []manifest.Object,
	options Options) ([]manifest.Problem, error) {
	r := &run{Options: options, cluster: c}
	problems, err := r.apply(ctx, objects)
	return problems, r.explain(ctx, err)
}

// Delete deletes the objects that an environment applied; git may lack the environment. A problem
// that is an error means that nothing was deleted, or that an object is not gone in time.
func Delete(ctx context.Context, c *cluster.Cluster, options Options) ([]manifest.Problem, error) {
	r := &run{Options: options, cluster: c, isDelete: true}
	problems, err := r.apply(ctx, nil)
	return problems, r.explain(ctx, err)
}

// explain adds advice to the error of a run, or to its interruption.
func (r *run) explain(ctx context.Context, err error) error {
	err = cluster.WithRemedy(err)
	switch cause := context.Cause(ctx); {
	case cause != nil:
		return fmt.Errorf("interrupted (%w): changes made so far stay: run this again to complete it", cause)
	case err != nil && r.hasBegun:
		return fmt.Errorf("%w\nchanges made so far stay: run this again to complete it", err)
	}
	return err
}

// apply plans, and carries out a plan without errors.
func (r *run) apply(ctx context.Context, objects []manifest.Object) ([]manifest.Problem, error) {
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	for _, o := range objects { // the API server sets the label anyway, and records no manager of no fields
		if ssautils.IsNamespace(o.Unstructured) {
			ssautils.SetCommonMetadata([]*unstructured.Unstructured{o.Unstructured},
				map[string]string{corev1.LabelMetadataName: o.GetName()}, nil)
		}
	}
	p, problems, err := plan.New(ctx, r.cluster, objects, plan.Options{
		Progress: r.Progress, Force: r.ForceConflicts,
		Manager: func(*unstructured.Unstructured) string { return owner.Manager(r.Environment) },
		Refuse:  func(s *plan.Step) string { return plan.RefuseForeign(r.Environment, r.others, s) },
	})
	if err != nil {
		return nil, err
	}
	removals, err := r.planRemovals(ctx, p.IDs())
	if err != nil {
		return nil, err
	}
	switch all := slices.Concat(problems, problemsOf(removals)); {
	case manifest.HasErrors(all):
		return manifest.SortProblems(all), nil
	case r.DryRun:
		for _, s := range p.Steps {
			r.Done(Change{s.ID(), s.Action})
		}
		for _, o := range removals {
			r.report(o)
		}
		return all, nil
	}
	more, err := r.carryOut(ctx, p, removals)
	return slices.Concat(problems, more, problemsOf(removals)), err
}

// requestTimeout limits the time from a check of the inventory to the end of the write that it allows.
var requestTimeout = 15 * time.Second

// open reads the inventory. It ends another run that is under way, or died: from here on that begins no request. It
// waits for the last ones, so that the plan of this run knows their effects.
func (r *run) open(ctx context.Context) (err error) {
	r.inventory, r.others, err = inventory.Open(ctx, r.cluster, r.Environment, r.Repository)
	switch {
	case err != nil:
		return err
	case r.isDelete && !r.inventory.Exists():
		return fmt.Errorf("nothing of environment %s was applied by render apply to %s", r.Environment, r.cluster.Name)
	case r.DryRun || !r.inventory.IsUnfinished():
		return nil
	}
	r.Progress("waiting for the last requests of another run")
	if err := r.begin(ctx, nil); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(requestTimeout):
		return nil
	}
}

// begin adds objects to the inventory and claims it, before the first write of the run.
func (r *run) begin(ctx context.Context, ids map[manifest.ID]bool) error {
	err := r.inventory.Begin(ctx, ids)
	r.hasBegun = err == nil
	return err
}

// permitted calls write, unless another run took over.
func (r *run) permitted(ctx context.Context, write func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := r.inventory.Check(ctx); err != nil {
		return err
	}
	return write(ctx)
}

// carryOut applies, prunes and waits. Its problems are the reasons why it stopped halfway, and the
// objects that are not ready or gone.
func (r *run) carryOut(ctx context.Context, p *plan.Plan, removals []*removal) ([]manifest.Problem, error) {
	ids := p.IDs()
	if err := r.begin(ctx, ids); err != nil {
		return nil, err
	}
	if problems, err := r.applyPlan(ctx, p); err != nil || len(problems) > 0 {
		return problems, err
	}
	if err := r.remove(ctx, removals); err != nil {
		return nil, err
	}
	for _, o := range removals {
		if o.isKept {
			ids[o.id] = true
		}
	}
	endsLast := r.Wait && len(p.Steps) == 0 // a deletion lists its objects until they are gone
	if !endsLast {
		if err := r.inventory.End(ctx, ids); err != nil || !r.Wait {
			return nil, err
		}
	}
	problems := r.wait(ctx, r.awaitAll(p.Steps, removals))
	if endsLast && len(problems) == 0 && ctx.Err() == nil {
		return nil, r.inventory.End(ctx, ids)
	}
	return problems, nil
}

// Read returns the objects in rendered/ENVIRONMENT, if that is up to date, without those that deliveries bring. It
// drops encrypted objects with a warning.
func Read(ctx context.Context, repository *render.Repository, environment string,
	progress func(step string)) (objects []manifest.Object, problems []manifest.Problem, err error) {
	if err := repository.CheckEnvironment(environment); err != nil {
		if render.IsEnvironmentName(environment) {
			err = fmt.Errorf("%w\nif it is gone from git, render delete --env %s deletes it from the cluster", err,
				environment)
		}
		return nil, nil, err
	}
	problems, err = render.UpdateOne(ctx, repository, environment, progress,
		func(e render.TreeUpdate) (problems []manifest.Problem, err error) {
			if e.Plan.Changes() {
				return nil, fmt.Errorf("%s is not what %s renders to: run render --env %s first",
					path.Join(tree.Folder, environment), path.Join(tree.EnvironmentsFolder, environment), environment)
			}
			files := slices.DeleteFunc(e.Plan.Files(), func(file tree.File) bool { return tree.IsDelivered(file.Path) })
			if objects, problems = tree.Objects(environment, files); len(problems) > 0 {
				return problems, nil
			}
			objects, problems = plan.DropEncrypted(objects,
				"render apply has no keys: it is left out; decrypt it and apply it with kubectl")
			return problems, nil
		})
	return objects, problems, err
}
