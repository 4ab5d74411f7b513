package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fluxcd/pkg/ssa"
	ssautils "github.com/fluxcd/pkg/ssa/utils"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
)

// Options say what to apply, or to delete, and how.
type Options struct {
	Environment string
	// Kinds are those that people may write in the environment.
	Kinds *registry.Kinds
	// Repository identifies the git repository of the environment; empty where it is not known.
	// What another one applied is left alone.
	Repository string
	// ForceConflicts takes fields from those who changed them.
	ForceConflicts bool
	// DryRun finds out what would be done, and does nothing.
	DryRun bool
	// Wait waits until what was applied is ready, and what was deleted is gone.
	Wait bool
	// Timeout is how long to wait at most, for others who apply and for what was applied.
	Timeout time.Duration
	// Progress is told what is being done.
	Progress func(step string)
	// Done is told of each object as soon as something was done about it.
	Done func(Change)
}

// Change is what was done about an object, or would be.
type Change struct {
	manifest.ID
	// Action is created, configured, unchanged or deleted. A Pod of an At that was created
	// once is unchanged, whatever became of it.
	Action string `json:"action"`
}

// The actions of a Change.
const (
	Created    = string(ssa.CreatedAction)
	Configured = string(ssa.ConfiguredAction)
	Unchanged  = string(ssa.UnchangedAction)
	Deleted    = string(ssa.DeletedAction)
)

// applier applies or deletes one environment.
type applier struct {
	Options

	cluster *Cluster
	name    string // of the field manager, the inventory and the Lease
	spares  bool   // leaves Pods to end that were started behind their gate

	inventory inventory
	others    map[manifest.ID]string // the environments whose inventories list objects
}

func newApplier(c *Cluster, options Options) *applier {
	return &applier{Options: options, cluster: c, name: managerName(options.Environment)}
}

// Apply applies an environment, and deletes what the environment applied before and no longer
// has. A problem that is an error means that nothing was written or, after a wait, that something
// is not ready. The text of an error tells how far it came.
func Apply(ctx context.Context, c *Cluster, manifests []manifest.Object, options Options) ([]manifest.Problem, error) {
	a := newApplier(c, options)
	a.spares = true
	var applied []*awaited
	const removesLease = false
	problems, err := a.hold(ctx, removesLease, func(held context.Context) (problems []manifest.Problem, err error) {
		applied, problems, err = a.apply(held, manifests)
		return problems, err
	})
	if err != nil || !a.Wait {
		return problems, err
	}
	notReady := a.waitFor(ctx, applied) // others may apply meanwhile
	return append(problems, notReady...), stopReason(ctx, nil)
}

// apply plans and, where nothing is wrong, applies and prunes. It returns what to wait for.
func (a *applier) apply(ctx context.Context, manifests []manifest.Object) ([]*awaited, []manifest.Problem, error) {
	for _, m := range manifests {
		if ssautils.IsNamespace(m.Unstructured) {
			// The environment has to own a field of it, if only the label that each one has anyway:
			// the cluster would not say who applied a name alone.
			ssautils.SetCommonMetadata([]*unstructured.Unstructured{m.Unstructured}, map[string]string{corev1.LabelMetadataName: m.GetName()}, nil)
		}
	}
	planner := &planner{
		cluster: a.cluster, progress: a.Progress, refuse: a.refuse, force: a.ForceConflicts,
		manager: func(*unstructured.Unstructured) string { return a.name },
	}
	p, problems, err := planner.plan(ctx, manifests)
	if err != nil {
		return nil, nil, withWayOut(err)
	}
	gone, err := a.planRemovals(ctx, p.ids())
	if err != nil {
		return nil, nil, withWayOut(err)
	}
	switch all := slices.Concat(problems, notDeleted(gone)); {
	case manifest.HasErrors(all):
		return nil, merged(manifest.SortProblems(all)), nil
	case a.DryRun:
		a.reportPlan(p.steps(), gone)
		return nil, all, nil
	}
	err = a.carryOut(ctx, planner, p, gone)
	return a.awaited(p.steps(), gone), slices.Concat(problems, notDeleted(gone)), err
}

// carryOut applies and prunes. At each instant the inventory lists all that was applied.
func (a *applier) carryOut(ctx context.Context, planner *planner, p *plan, gone []*removal) error {
	now := p.ids()
	union := maps.Clone(a.inventory.ids)
	maps.Copy(union, now)
	if err := a.writeInventory(ctx, union); err != nil {
		return err
	}
	if err := a.applyPlan(ctx, planner, p); err != nil {
		return err
	}
	if err := a.remove(ctx, gone); err != nil {
		return err
	}
	maps.Copy(now, keptIDs(gone))
	return a.writeInventory(ctx, now)
}

// report tells what was done about an object.
func (a *applier) report(id manifest.ID, action string) {
	a.Done(Change{id, action})
}

func (a *applier) reportPlan(steps []*step, gone []*removal) {
	for _, s := range steps {
		a.report(s.ID(), s.action)
	}
	for _, r := range gone {
		if r.live != nil {
			a.report(r.id, Deleted)
		}
	}
}

// stopped returns the error of a run that left an environment half applied.
func stopped(problems []manifest.Problem) error {
	problems = merged(problems)
	lines := make([]error, len(problems))
	for i, p := range problems {
		lines[i] = errors.New(p.String())
	}
	return fmt.Errorf("%w\nwhat was applied before stays: apply again to complete it", errors.Join(lines...))
}

const (
	// settling is how long the cluster may take to know a new namespace or kind.
	settling = 30 * time.Second
	// pollInterval is how long to wait before asking again.
	pollInterval = 250 * time.Millisecond
)

// applyPlan applies definitions, waits until they hold, and then applies the rest, each object
// as soon as the cluster has judged it.
func (a *applier) applyPlan(ctx context.Context, planner *planner, p *plan) error {
	if err := a.applyAll(ctx, p.definitions); err != nil {
		return err
	}
	changed := slices.DeleteFunc(slices.Clone(p.definitions), func(s *step) bool { return !s.isPending() })
	if problems := a.waitFor(ctx, a.awaited(changed, nil)); len(problems) > 0 {
		return stopped(problems)
	}
	planner.isSettling = true
	deadline := time.Now().Add(min(settling, a.Timeout))
	for rest := p.rest; len(rest) > 0; {
		_, deferred := split(rest)
		problems, err := planner.judge(ctx, deferred)
		if err != nil {
			return withWayOut(err)
		}
		if len(problems) > 0 {
			return stopped(problems)
		}
		ready, deferred := split(rest)
		if err := a.applyAll(ctx, ready); err != nil {
			return err
		}
		if rest = deferred; len(ready) > 0 {
			continue
		}
		if time.Now().After(deadline) {
			for _, s := range deferred {
				problems = append(problems, explain(s.Object, s.deferred)...)
			}
			return stopped(problems)
		}
		if err := pause(ctx, pollInterval); err != nil {
			return err
		}
	}
	return nil
}

// split returns the steps that can be taken and those that are deferred.
func split(steps []*step) (ready, deferred []*step) {
	for _, s := range steps {
		if s.deferred != nil {
			deferred = append(deferred, s)
		} else {
			ready = append(ready, s)
		}
	}
	return ready, deferred
}

// applyAll applies objects, those of one kind several at a time.
func (a *applier) applyAll(ctx context.Context, steps []*step) error {
	for len(steps) > 0 {
		kind := leadingKind(steps)
		steps = steps[len(kind):]
		a.Progress(fmt.Sprintf("applying %d of kind %s", len(kind), kind[0].GetKind()))
		done, errs := make([]string, len(kind)), make([]error, len(kind))
		err := concurrently(ctx, len(kind), func(ctx context.Context, i int) error {
			done[i], errs[i] = a.applyOne(ctx, kind[i])
			return nil
		})
		var problems []manifest.Problem
		for i, s := range kind {
			switch {
			case errs[i] != nil:
				problems = append(problems, explain(s.Object, errs[i])...)
			case done[i] != "":
				a.report(s.ID(), done[i])
			}
		}
		switch {
		case err != nil:
			return err
		case len(problems) > 0:
			return stopped(problems)
		}
	}
	return nil
}

// leadingKind returns the first steps as long as they are of one kind.
func leadingKind(steps []*step) []*step {
	for i, s := range steps {
		if s.GroupVersionKind() != steps[0].GroupVersionKind() {
			return steps[:i]
		}
	}
	return steps
}

// applyOne applies an object unless the cluster has it so already, and returns what was done.
func (a *applier) applyOne(ctx context.Context, s *step) (action string, err error) {
	isOnce := ssautils.AnyInMetadata(s.Unstructured, onlyIfAbsent) // then somebody may have applied it meanwhile
	switch {
	case !a.ForceConflicts && !s.isPending():
		return Unchanged, nil
	case !a.ForceConflicts && !isOnce:
		return s.action, a.cluster.Apply(ctx, client.ApplyConfigurationFromUnstructured(s.DeepCopy()), client.FieldOwner(a.name))
	}
	options := ssa.ApplyOptions{IfNotPresentSelector: onlyIfAbsent}
	if a.ForceConflicts {
		options.Cleanup = takeFromKubectl
	}
	manager := ssa.NewResourceManager(a.cluster, nil, ssa.Owner{Field: a.name, Group: "gatehouse.example.com"})
	entry, err := manager.Apply(ctx, s.DeepCopy(), options)
	switch {
	case err != nil:
		return "", err
	case entry.Action == ssa.SkippedAction:
		return Unchanged, nil
	}
	return string(entry.Action), nil
}

// takeFromKubectl leaves nothing to kubectl that it applied, as Flux does: what is taken out of
// git later would stay in the cluster.
var takeFromKubectl = ssa.ApplyCleanupOptions{
	Annotations: []string{corev1.LastAppliedConfigAnnotation},
	FieldManagers: []ssa.FieldManager{
		{Name: "kubectl", OperationType: "Apply"},
		{Name: "kubectl", OperationType: "Update"},
		{Name: "before-first-apply", OperationType: "Update"},
	},
}

// pause waits a moment, or for the end of a run.
func pause(ctx context.Context, moment time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(moment):
		return nil
	}
}
