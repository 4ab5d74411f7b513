package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fluxcd/pkg/ssa"
	ssautils "github.com/fluxcd/pkg/ssa/utils"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilwait "k8s.io/apimachinery/pkg/util/wait"
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
	Action Action `json:"action"`
}

// Action is what is done about an object.
type Action = ssa.Action

// The actions of a Change.
const (
	Created    = ssa.CreatedAction
	Configured = ssa.ConfiguredAction
	Unchanged  = ssa.UnchangedAction
	Deleted    = ssa.DeletedAction
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
	problems, err := a.hold(ctx, func(held context.Context) (problems []manifest.Problem, err error) {
		applied, problems, err = a.apply(held, manifests)
		return problems, err
	})
	if err != nil || manifest.HasErrors(problems) || !a.Wait {
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
	steps, problems, err := planner.plan(ctx, manifests)
	if err != nil {
		return nil, nil, withWayOut(err)
	}
	gone, err := a.planRemovals(ctx, idsOf(steps))
	if err != nil {
		return nil, nil, withWayOut(err)
	}
	switch all := slices.Concat(problems, notDeleted(gone)); {
	case manifest.HasErrors(all):
		return nil, manifest.SortProblems(all), nil
	case a.DryRun:
		a.reportPlan(steps, gone)
		return nil, all, nil
	}
	stopped, err := a.carryOut(ctx, planner, steps, gone)
	return a.awaited(steps, gone), slices.Concat(problems, stopped, notDeleted(gone)), err
}

// carryOut applies and prunes. At each instant the inventory lists all that was applied. The problems
// say why it stopped halfway.
func (a *applier) carryOut(ctx context.Context, planner *planner, steps []*step, gone []*removal) ([]manifest.Problem, error) {
	now := idsOf(steps)
	union := maps.Clone(a.inventory.ids)
	maps.Copy(union, now)
	if err := a.writeInventory(ctx, union); err != nil {
		return nil, err
	}
	if problems, err := a.applySteps(ctx, planner, steps); err != nil || len(problems) > 0 {
		return problems, err
	}
	if err := a.remove(ctx, gone); err != nil {
		return nil, err
	}
	maps.Copy(now, keptIDs(gone))
	return nil, a.writeInventory(ctx, now)
}

func (a *applier) reportPlan(steps []*step, gone []*removal) {
	for _, s := range steps {
		a.Done(Change{s.ID(), s.action})
	}
	for _, r := range gone {
		if r.live != nil {
			a.Done(Change{r.id, Deleted})
		}
	}
}

const (
	// settling is how long the cluster may take to know a new namespace or kind.
	settling = 30 * time.Second
	// pollInterval is how long to wait before asking again.
	pollInterval = 250 * time.Millisecond
)

// applySteps applies definitions, waits until they hold, and then applies the rest, each object
// as soon as the cluster has judged it. It stops where there are problems.
func (a *applier) applySteps(ctx context.Context, planner *planner, steps []*step) (problems []manifest.Problem, err error) {
	definitions, rest := cutDefinitions(steps)
	if problems, err = a.applyAll(ctx, definitions); err != nil || len(problems) > 0 {
		return problems, err
	}
	changed := slices.DeleteFunc(slices.Clone(definitions), func(s *step) bool { return !s.isPending() })
	if problems = a.waitFor(ctx, a.awaited(changed, nil)); len(problems) > 0 {
		return problems, nil
	}
	planner.isSettling = true
	const immediately = true
	err = utilwait.PollUntilContextTimeout(ctx, pollInterval, min(settling, a.Timeout), immediately, func(context.Context) (isOver bool, err error) {
		_, deferred := split(rest)
		if problems, err = planner.judge(ctx, deferred); err != nil || len(problems) > 0 {
			return true, withWayOut(err)
		}
		ready, deferred := split(rest)
		rest = deferred
		problems, err = a.applyAll(ctx, ready)
		return len(rest) == 0 || len(problems) > 0, err
	})
	if !utilwait.Interrupted(err) || ctx.Err() != nil {
		return problems, err
	}
	for _, s := range rest {
		problems = append(problems, explain(s.Object, s.deferred)...)
	}
	return problems, nil
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

// applyAll applies objects, those of one kind several at a time, as long as there is no problem.
func (a *applier) applyAll(ctx context.Context, steps []*step) (problems []manifest.Problem, err error) {
	for len(steps) > 0 && len(problems) == 0 {
		kind := leadingKind(steps)
		steps = steps[len(kind):]
		a.Progress(fmt.Sprintf("applying %d of kind %s", len(kind), kind[0].GetKind()))
		done, errs := make([]Action, len(kind)), make([]error, len(kind))
		err = concurrently(ctx, len(kind), func(ctx context.Context, i int) error {
			done[i], errs[i] = a.applyOne(ctx, kind[i])
			return nil
		})
		for i, s := range kind {
			switch {
			case errs[i] != nil:
				problems = append(problems, explain(s.Object, errs[i])...)
			case done[i] != "":
				a.Done(Change{s.ID(), done[i]})
			}
		}
		if err != nil {
			break
		}
	}
	return problems, err
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
func (a *applier) applyOne(ctx context.Context, s *step) (Action, error) {
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
	return entry.Action, nil
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
