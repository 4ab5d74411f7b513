package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilwait "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
)

// removal is an object that an environment applied and no longer has.
type removal struct {
	id      manifest.ID
	live    *unstructured.Unstructured // to delete; nil where there is nothing to delete
	isKept  bool                       // stays in the inventory, as a later run may delete it
	problem *manifest.Problem
}

// leave leaves the object in the cluster, and for now in the inventory, and warns of it.
func (r *removal) leave(why string, isForNow bool) {
	if !isForNow {
		why += ", and it leaves the inventory"
	}
	r.live, r.isKept = nil, isForNow
	r.problem = &manifest.Problem{Object: r.id.String(), Message: "is not deleted: " + why, Warning: true}
}

// planRemovals finds out which objects of the inventory to delete that are not there now, in the
// order in which to delete them. What no longer belongs to this environment is left.
func (a *applier) planRemovals(ctx context.Context, now map[manifest.ID]bool) ([]*removal, error) {
	var gone []*removal
	for id := range a.inventory.ids {
		if !now[id] {
			gone = append(gone, &removal{id: id})
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	a.Progress("looking at what is to be deleted")
	slices.SortFunc(gone, func(a, b *removal) int { return compareInApplyOrder(b.id, a.id) })
	if err := concurrently(ctx, len(gone), func(ctx context.Context, i int) error { return a.judgeRemoval(ctx, gone[i]) }); err != nil {
		return nil, err
	}
	going := map[manifest.ID]bool{}
	for _, r := range gone {
		going[r.id] = r.live != nil
	}
	for _, r := range gone {
		if why := a.stillNeeded(ctx, r, going); why != "" {
			r.leave(why, true)
		}
	}
	return gone, nil
}

// notDeleted returns the problems with objects that are not deleted.
func notDeleted(gone []*removal) (problems []manifest.Problem) {
	for _, r := range gone {
		if r.problem != nil {
			problems = append(problems, *r.problem)
		}
	}
	return problems
}

// keptIDs returns the objects that stay in the inventory.
func keptIDs(gone []*removal) map[manifest.ID]bool {
	kept := map[manifest.ID]bool{}
	for _, r := range gone {
		if r.isKept {
			kept[r.id] = true
		}
	}
	return kept
}

// judgeRemoval finds out whether to delete an object. An error is of the connection.
func (a *applier) judgeRemoval(ctx context.Context, r *removal) error {
	err := a.removeOne(ctx, r, client.DryRunAll)
	if err != nil && !isFatal(err) {
		r.problem = &manifest.Problem{Object: r.id.String(), Message: messages(err)[0]}
		return nil
	}
	return err
}

// gateOf returns the scheduling gate behind which a Pod is rendered; empty for other objects.
func gateOf(kinds *registry.Kinds, o *unstructured.Unstructured) string {
	k := kinds.RenderedFrom(o)
	if k == nil || o.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Pod"}) {
		return ""
	}
	return k.Gate()
}

// runs reports whether an object is a Pod that was started, by opening the gate behind which
// it was rendered, and has not ended.
func runs(kinds *registry.Kinds, live *unstructured.Unstructured) bool {
	gate := gateOf(kinds, live)
	if gate == "" || live.GetDeletionTimestamp() != nil {
		return false
	}
	pod := manifest.As[corev1.Pod](live)
	isGated := slices.ContainsFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == gate })
	return !isGated && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// remove deletes objects. Those that became needed meanwhile are kept.
func (a *applier) remove(ctx context.Context, gone []*removal) error {
	for _, r := range gone {
		if r.live == nil {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		a.Progress("deleting " + kind.Visible(r.id.String()))
		if why := a.stillNeeded(ctx, r, nil); why != "" {
			r.leave(why, true)
			continue
		}
		if err := a.removeOne(ctx, r); err != nil {
			return fmt.Errorf("delete %s: %w\nwhat was done before stays: run this again to complete it", r.id, err)
		}
		if r.live != nil {
			a.Done(Change{r.id, Deleted})
		}
	}
	return nil
}

// busyRetries is how often, in ten seconds, to delete an object that changes all the time, as a
// ResourceQuota does while what it counts is deleted.
var busyRetries = utilwait.Backoff{Steps: 10, Duration: 10 * time.Millisecond, Factor: 2}

// removeOne deletes an object, or tries to by a dry run. It leaves one that does not belong to this
// environment, or no longer does.
func (a *applier) removeOne(ctx context.Context, r *removal, options ...client.DeleteOption) error {
	return retry.RetryOnConflict(busyRetries, func() error {
		live, err := a.cluster.find(ctx, r.id)
		if err != nil || live == nil {
			return err
		}
		why, isForNow := a.refuseDelete(live)
		if r.live != nil && r.live.GetUID() != live.GetUID() {
			why, isForNow = "somebody made it anew meanwhile", true
		}
		if why != "" {
			r.leave(why, isForNow)
			return nil
		}
		r.live = live
		version, uid := live.GetResourceVersion(), live.GetUID()
		options := append(options, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &uid, ResourceVersion: &version})
		return client.IgnoreNotFound(a.cluster.Delete(ctx, live, options...))
	})
}
