package cluster

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	cliobject "github.com/fluxcd/cli-utils/pkg/object"
	"github.com/fluxcd/pkg/ssa"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilwait "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
)

// removals are the objects that an environment applied and no longer has.
type removals struct {
	deleted []removal
	kept    []manifest.ID // stay in the inventory, as a later run may delete them
}

// removal is an object to delete.
type removal struct {
	id   manifest.ID
	live *unstructured.Unstructured
}

const stillRuns = "it runs; apply again when it has ended, or delete it with kubectl to stop it"

// planRemovals finds out which objects to delete. What no longer belongs to this environment is
// left, and warned of.
func (a *applier) planRemovals(ctx context.Context, ids []manifest.ID) (planned *removals, problems []manifest.Problem, err error) {
	if len(ids) > 0 {
		a.Progress("looking at what is to be deleted")
	}
	verdicts := make([]removalVerdict, len(ids))
	err = concurrently(ctx, len(ids), func(ctx context.Context, i int) (err error) {
		verdicts[i], err = a.judgeRemoval(ctx, ids[i])
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	planned = &removals{}
	going := map[manifest.ID]bool{}
	for i, v := range verdicts {
		if v.problem != nil {
			problems = append(problems, *v.problem)
		}
		if v.isKept {
			planned.kept = append(planned.kept, ids[i])
		}
		if v.live != nil {
			planned.deleted = append(planned.deleted, removal{ids[i], v.live})
			going[ids[i]] = true
		}
	}
	sortForRemoval(planned.deleted)
	planned.deleted = slices.DeleteFunc(planned.deleted, func(r removal) bool {
		why := a.stillNeeded(ctx, r, going)
		if why != "" {
			planned.kept, problems = append(planned.kept, r.id), append(problems, notDeleted(r.id, why))
		}
		return why != ""
	})
	return planned, problems, nil
}

// notDeleted returns the warning of an object that is not deleted.
func notDeleted(id manifest.ID, why string) manifest.Problem {
	return manifest.Problem{Object: id.String(), Message: "is not deleted: " + why, Warning: true}
}

// removalVerdict is what to do about an object that the environment no longer has.
type removalVerdict struct {
	live    *unstructured.Unstructured // to delete; nil for nothing
	isKept  bool                       // stays in the inventory
	problem *manifest.Problem
}

// judgeRemoval finds out whether to delete an object. An error is of the connection.
func (a *applier) judgeRemoval(ctx context.Context, id manifest.ID) (removalVerdict, error) {
	live, err := a.cluster.find(ctx, id)
	if err == nil && live != nil {
		if why := refuseDelete(live, a.name); why != "" {
			warning := notDeleted(id, why+", and it leaves the inventory")
			return removalVerdict{problem: &warning}, nil
		}
		if a.spares && runs(a.Kinds, live) {
			warning := notDeleted(id, stillRuns)
			return removalVerdict{problem: &warning, isKept: true}, nil
		}
		uid := live.GetUID()
		err = a.cluster.Delete(ctx, live, client.DryRunAll, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &uid})
	}
	switch {
	case client.IgnoreNotFound(err) == nil, apierrors.IsConflict(err):
		return removalVerdict{live: live}, nil
	case isFatal(err):
		return removalVerdict{}, err
	}
	return removalVerdict{problem: &manifest.Problem{Object: id.String(), Message: messages(err)[0]}}, nil
}

// gateOf returns the scheduling gate behind which a Pod is rendered; empty for other objects.
func gateOf(kinds *registry.Kinds, o *unstructured.Unstructured) string {
	k := kinds.RenderedFrom(o)
	if k == nil || o.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Pod"}) {
		return ""
	}
	return k.Gate
}

// runs reports whether an object is a Pod that was started, by opening the gate behind which
// it was rendered, and has not ended.
func runs(kinds *registry.Kinds, live *unstructured.Unstructured) bool {
	gate := gateOf(kinds, live)
	if gate == "" || live.GetDeletionTimestamp() != nil {
		return false
	}
	gates, _, _ := unstructured.NestedSlice(live.Object, "spec", "schedulingGates")
	isGated := slices.ContainsFunc(gates, func(g any) bool {
		fields, _ := g.(map[string]any)
		return fields["name"] == gate
	})
	phase, _, _ := unstructured.NestedString(live.Object, "status", "phase")
	return !isGated && phase != string(corev1.PodSucceeded) && phase != string(corev1.PodFailed)
}

// sortForRemoval puts objects in the reverse of the order in which they were applied, and last
// Namespaces and then CustomResourceDefinitions.
func sortForRemoval(removals []removal) {
	rank := func(r removal) int {
		switch {
		case isCRD(r.id):
			return 2
		case isNamespace(r.id):
			return 1
		}
		return 0
	}
	sort.SliceStable(removals, func(i, j int) bool {
		if a, b := rank(removals[i]), rank(removals[j]); a != b {
			return a < b
		}
		return ssa.SortableMetas{metaOf(removals[j].id), metaOf(removals[i].id)}.Less(0, 1)
	})
}

func metaOf(id manifest.ID) cliobject.ObjMetadata {
	return cliobject.ObjMetadata{Namespace: id.Namespace, Name: id.Name, GroupKind: schema.GroupKind{Group: id.Group, Kind: id.Kind}}
}

func isCRD(id manifest.ID) bool {
	return id.Group == "apiextensions.k8s.io" && id.Kind == "CustomResourceDefinition"
}

func isNamespace(id manifest.ID) bool { return id.Group == "" && id.Kind == "Namespace" }

// remove deletes objects. Those that became needed meanwhile are kept, and warned of.
func (a *applier) remove(ctx context.Context, planned *removals) (warnings []manifest.Problem, err error) {
	for _, r := range planned.deleted {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		a.Progress("deleting " + manifest.EscapeControls(r.id.String()))
		why := a.stillNeeded(ctx, r, nil)
		if why == "" {
			why, err = a.removeOne(ctx, r)
		}
		switch {
		case err != nil:
			return warnings, fmt.Errorf("delete %s: %w\nwhat was done before stays: run this again to complete it", r.id, err)
		case why != "":
			planned.kept, warnings = append(planned.kept, r.id), append(warnings, notDeleted(r.id, why))
		default:
			a.report(r.id, Deleted)
		}
	}
	return warnings, nil
}

// busyRetries is how often, in ten seconds, to delete an object that changes all the time, as a
// ResourceQuota does while what it counts is deleted.
var busyRetries = utilwait.Backoff{Steps: 10, Duration: 10 * time.Millisecond, Factor: 2}

// removeOne deletes an object that still belongs to this environment, or returns why not.
func (a *applier) removeOne(ctx context.Context, r removal) (why string, err error) {
	live := r.live
	err = retry.RetryOnConflict(busyRetries, func() error {
		if live == nil {
			found, err := a.cluster.find(ctx, r.id)
			if err != nil || found == nil {
				return err
			}
			if why = a.refuseChanged(r, found); why != "" {
				return nil
			}
			live = found
		}
		version, uid := live.GetResourceVersion(), live.GetUID()
		err := a.cluster.Delete(ctx, live, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &uid, ResourceVersion: &version})
		live = nil // the next attempt looks again
		return client.IgnoreNotFound(err)
	})
	return why, err
}

// refuseChanged returns why an object that changed meanwhile is not deleted; empty where it is.
func (a *applier) refuseChanged(r removal, found *unstructured.Unstructured) string {
	switch {
	case found.GetUID() != r.live.GetUID():
		return "somebody made it anew meanwhile"
	case a.spares && runs(a.Kinds, found):
		return stillRuns
	}
	return refuseDelete(found, a.name)
}
