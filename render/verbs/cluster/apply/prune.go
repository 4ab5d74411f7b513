package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/cluster"
	"example.com/gatehouse/render/verbs/cluster/owner"
	"example.com/gatehouse/render/verbs/cluster/plan"
)

// removal is an object of the inventory that the environment no longer has.
type removal struct {
	id      manifest.ID
	live    *unstructured.Unstructured // the object to delete, if any
	isKept  bool                       // stays in the inventory for a later run to delete
	problem *manifest.Problem
}

// keep leaves the object in the cluster with a warning. Only a temporary reason keeps it in the
// inventory.
func (r *removal) keep(reason string, isTemporary bool) {
	if !isTemporary {
		reason += ", and it leaves the inventory"
	}
	r.live = nil
	r.isKept = isTemporary
	r.problem = &manifest.Problem{Code: manifest.ClusterRefused,
		Object: r.id.String(), Message: "is not deleted: " + reason, Warning: true}
}

// planRemovals decides about the listed objects that are not in ids, in deletion order.
func (r *run) planRemovals(ctx context.Context, ids map[manifest.ID]bool) (removals []*removal, err error) {
	for id := range r.inventory.IDs {
		if !ids[id] {
			removals = append(removals, &removal{id: id})
		}
	}
	slices.SortFunc(removals, func(a, b *removal) int { return plan.CompareIDs(b.id, a.id) })
	leaving := map[manifest.ID]bool{}
	for _, o := range removals {
		r.Progress("looking at " + kind.Visible(o.id.String()))
		err := r.removeOne(ctx, o, client.DryRunAll)
		switch {
		case err == nil:
			leaving[o.id] = o.live != nil
		case cluster.IsFatal(err):
			return nil, err
		default:
			o.problem = &manifest.Problem{Code: manifest.ClusterRefused, Object: o.id.String(),
				Message: cluster.Messages(err)[0]}
		}
	}
	for _, o := range removals {
		r.keepIfNeeded(ctx, o, leaving)
	}
	return removals, nil
}

func problemsOf(removals []*removal) (problems []manifest.Problem) {
	for _, o := range removals {
		if o.problem != nil {
			problems = append(problems, *o.problem)
		}
	}
	return problems
}

// report reports a deletion, unless the object stays.
func (r *run) report(o *removal) {
	if o.live != nil {
		r.Done(Change{o.id, Deleted})
	}
}

// remove deletes objects, except for Namespaces and CustomResourceDefinitions that became needed.
func (r *run) remove(ctx context.Context, removals []*removal) error {
	for _, o := range removals {
		if o.live != nil {
			r.Progress("deleting " + kind.Visible(o.id.String()))
			r.keepIfNeeded(ctx, o, nil)
		}
		if o.live == nil {
			continue
		}
		if err := r.permitted(ctx, func(ctx context.Context) error { return r.removeOne(ctx, o) }); err != nil {
			return fmt.Errorf("delete %s: %w", o.id, err)
		}
		r.report(o)
	}
	return nil
}

// busyRetries allows ten seconds to delete an object that changes all the time, such as a
// ResourceQuota whose objects are being deleted.
var busyRetries = utilwait.Backoff{Steps: 10, Duration: 10 * time.Millisecond, Factor: 2}

// removeOne deletes an object that still belongs to this environment.
func (r *run) removeOne(ctx context.Context, o *removal, options ...client.DeleteOption) error {
	return retry.RetryOnConflict(busyRetries, func() error {
		live, err := r.cluster.Find(ctx, o.id)
		if err != nil || live == nil {
			return err
		}
		reason, isTemporary := r.refuseDelete(live)
		if o.live != nil && o.live.GetUID() != live.GetUID() {
			reason = "it was created again meanwhile"
			isTemporary = true
		}
		if reason != "" {
			o.keep(reason, isTemporary)
			return nil
		}
		o.live = live
		version := live.GetResourceVersion()
		uid := live.GetUID()
		options := append(options, client.PropagationPolicy(metav1.DeletePropagationBackground),
			client.Preconditions{UID: &uid, ResourceVersion: &version})
		return client.IgnoreNotFound(r.cluster.Delete(ctx, live, options...))
	})
}

// refuseDelete returns the reason not to delete a listed object, if there is one. A later run may
// delete an object with a temporary reason.
func (r *run) refuseDelete(live *unstructured.Unstructured) (reason string, isTemporary bool) {
	appliers := owner.Appliers(live)
	others := slices.DeleteFunc(slices.Clone(appliers), func(other string) bool {
		return other == owner.Manager(r.Environment)
	})
	// The cluster records no manager of a ServiceAccount, for example, with nothing but a name.
	hasManagers := slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Subresource == ""
	})
	tool := owner.Of(live)
	kept := delivery.Keeping(delivery.Settings(live, delivery.Flux, delivery.Argo))
	switch {
	case len(others) == len(appliers) && hasManagers:
		return "this environment did not apply it", false
	case len(others) > 0:
		return strings.Join(others, " and ") + " applied it, too", false
	case tool != "":
		return "it belongs to " + tool, false
	case kept != nil:
		return kept.Key + " is " + kept.Value, false
	case !r.isDelete && isStartedPod(r.Kinds, live):
		return "it runs; apply again when it has ended, or delete it with kubectl to stop it", true
	}
	return "", false
}

// gateOf returns the scheduling gate of a rendered Pod; empty for other objects.
func gateOf(kinds *registry.Kinds, o *unstructured.Unstructured) string {
	k := kinds.RenderedFrom(o)
	if k == nil || o.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Pod"}) {
		return ""
	}
	return k.Gate()
}

// isStartedPod reports whether an object is a gated Pod whose gate was opened and that has not
// ended.
func isStartedPod(kinds *registry.Kinds, live *unstructured.Unstructured) bool {
	gate := gateOf(kinds, live)
	if gate == "" || live.GetDeletionTimestamp() != nil {
		return false
	}
	pod := manifest.As[corev1.Pod](live)
	isGated := slices.ContainsFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool {
		return g.Name == gate
	})
	return !isGated && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}
