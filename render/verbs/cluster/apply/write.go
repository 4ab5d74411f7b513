package apply

import (
	"context"
	"slices"
	"time"

	"github.com/fluxcd/pkg/ssa"
	corev1 "k8s.io/api/core/v1"
	utilwait "k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind"
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
	isDeferred := func(s *plan.Step) bool { return s.Deferred != nil }
	isJudged := func(s *plan.Step) bool { return s.Deferred == nil }
	err = utilwait.PollUntilContextTimeout(ctx, settlingInterval, min(settlingTime, r.Timeout), immediately,
		func(context.Context) (isOver bool, err error) {
			deferred := slices.DeleteFunc(slices.Clone(rest), isJudged)
			if problems, err = p.Judge(ctx, deferred); err != nil || len(problems) > 0 {
				return true, err
			}
			problems, err = r.applySteps(ctx, slices.DeleteFunc(slices.Clone(rest), isDeferred))
			rest = slices.DeleteFunc(deferred, isJudged)
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

// applySteps applies objects in order, as the library does. It stops at the first problem.
func (r *run) applySteps(ctx context.Context, steps []*plan.Step) ([]manifest.Problem, error) {
	for _, s := range steps {
		action := Unchanged
		if r.ForceConflicts || s.IsPending() { // with --force-conflicts it takes unchanged objects from kubectl, too
			r.Progress("applying " + kind.Visible(s.String()))
			err := r.permitted(ctx, func(ctx context.Context) (err error) {
				action, err = r.write(ctx, s)
				return err
			})
			switch {
			case err == nil:
			case cluster.IsFatal(err):
				return nil, err
			default:
				return cluster.Explain(s.Object, err), nil
			}
		}
		r.Done(Change{s.ID(), action})
	}
	return nil, nil
}

func (r *run) write(ctx context.Context, s *plan.Step) (Action, error) {
	manager := owner.Manager(r.Environment)
	if !r.ForceConflicts && !s.IsCreatedOnce() {
		return s.Action, r.cluster.Apply(ctx, client.ApplyConfigurationFromUnstructured(s.DeepCopy()),
			client.FieldOwner(manager))
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
