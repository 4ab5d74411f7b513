package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/pkg/ssa"
	corev1 "k8s.io/api/core/v1"
	utilwait "k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/cluster"
	"example.com/gatehouse/render/verbs/cluster/owner"
	"example.com/gatehouse/render/verbs/cluster/plan"
)

const (
	// settlingTime limits how long the cluster may take to serve a new namespace or kind.
	settlingTime = 30 * time.Second
	// settlingInterval is the time between two questions about deferred objects.
	settlingInterval = 250 * time.Millisecond
)

// applyPlan applies definitions, waits until they are established, and applies the other objects
// as soon as the API server can judge them. It stops at problems.
func (r *run) applyPlan(ctx context.Context, p *plan.Plan) (problems []manifest.Problem, err error) {
	definitions, rest := p.Definitions()
	if problems, err = r.applySteps(ctx, definitions); err != nil || len(problems) > 0 {
		return problems, err
	}
	changed := slices.DeleteFunc(slices.Clone(definitions), func(s *plan.Step) bool { return !s.IsPending() })
	if problems = r.wait(ctx, r.awaitAll(changed, nil)); len(problems) > 0 {
		return problems, nil
	}
	p.IsSettling = true
	const immediately = true
	err = utilwait.PollUntilContextTimeout(ctx, settlingInterval, min(settlingTime, r.Timeout), immediately,
		func(context.Context) (isOver bool, err error) {
			_, deferred := splitDeferred(rest)
			if problems, err = p.Judge(ctx, deferred); err != nil || len(problems) > 0 {
				return true, err
			}
			ready, deferred := splitDeferred(rest)
			rest = deferred
			problems, err = r.applySteps(ctx, ready)
			return len(rest) == 0 || len(problems) > 0, err
		})
	if !utilwait.Interrupted(err) || ctx.Err() != nil {
		return problems, err
	}
	for _, s := range rest {
		problems = append(problems, cluster.Explain(s.Object, s.Deferred)...)
	}
	return problems, nil
}

func splitDeferred(steps []*plan.Step) (ready, deferred []*plan.Step) {
	for _, s := range steps {
		if s.Deferred != nil {
			deferred = append(deferred, s)
		} else {
			ready = append(ready, s)
		}
	}
	return ready, deferred
}

// applySteps applies objects kind by kind, several of one kind at a time. It stops after a kind with
// problems.
func (r *run) applySteps(ctx context.Context, steps []*plan.Step) (problems []manifest.Problem, err error) {
	for len(steps) > 0 && len(problems) == 0 && err == nil {
		gvk := steps[0].GroupVersionKind()
		n := slices.IndexFunc(steps, func(s *plan.Step) bool { return s.GroupVersionKind() != gvk })
		if n < 0 {
			n = len(steps)
		}
		r.Progress(fmt.Sprintf("applying %d of kind %s", n, gvk.Kind))
		actions := make([]Action, n)
		refusals := make([]error, n)
		err = cluster.ForEach(ctx, n, func(ctx context.Context, i int) (err error) {
			actions[i], err = r.write(ctx, steps[i])
			if err != nil && !cluster.IsFatal(err) {
				refusals[i] = err
				err = nil
			}
			return err
		})
		for i, s := range steps[:n] {
			switch {
			case refusals[i] != nil:
				problems = append(problems, cluster.Explain(s.Object, refusals[i])...)
			case actions[i] != "":
				r.Done(Change{s.ID(), actions[i]})
			}
		}
		steps = steps[n:]
	}
	return problems, err
}

// write applies a changed object, unless another run took over. With --force-conflicts it also
// takes unchanged objects from kubectl.
func (r *run) write(ctx context.Context, s *plan.Step) (Action, error) {
	if !r.ForceConflicts && !s.IsPending() {
		return Unchanged, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := r.inventory.Check(ctx); err != nil {
		return "", err
	}
	manager := owner.Manager(r.Environment)
	if !r.ForceConflicts && !s.IsCreatedOnce() {
		if err := r.cluster.Apply(ctx, client.ApplyConfigurationFromUnstructured(s.DeepCopy()),
			client.FieldOwner(manager)); err != nil {
			return "", err
		}
		return s.Action, nil
	}
	options := ssa.ApplyOptions{IfNotPresentSelector: delivery.FluxSelector(delivery.CreatedOnce)}
	if r.ForceConflicts {
		options.Cleanup = takeFromKubectl
	}
	entry, err := ssa.NewResourceManager(r.cluster, nil, ssa.Owner{Field: manager}).Apply(ctx, s.DeepCopy(), options)
	switch {
	case err != nil:
		return "", err
	case entry.Action == ssa.SkippedAction:
		return Unchanged, nil
	}
	return entry.Action, nil
}

// takeFromKubectl transfers ownership of all fields from kubectl, as Flux does. Otherwise a field
// that later leaves git would stay in the cluster.
var takeFromKubectl = ssa.ApplyCleanupOptions{
	Annotations: []string{corev1.LastAppliedConfigAnnotation},
	FieldManagers: []ssa.FieldManager{
		{Name: "kubectl", OperationType: "Apply"},
		{Name: "kubectl", OperationType: "Update"},
		{Name: "before-first-apply", OperationType: "Update"},
	},
}
