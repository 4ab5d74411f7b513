package apply

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	cliobject "github.com/fluxcd/cli-utils/pkg/object"
	"github.com/fluxcd/pkg/ssa"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilwait "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/render/object"
)

// removal is an object to delete.
type removal struct {
	id    object.ID
	live  *unstructured.Unstructured
	spare mode
}

// mode is what happens to Pods of Ats that run.
type mode bool

const (
	sparing  mode = true  // they are left to end
	thorough mode = false // they are deleted
)

const stillRuns = "it runs; apply again when it has ended, or delete it with kubectl to stop it"

// verdict is what to do about an object that the environment has no more.
type verdict struct {
	removal *removal
	isKept  bool // it stays in the inventory: a later run may delete it
	problem *object.Problem
}

// planRemovals finds out which objects to delete, and which are kept in the inventory. What is
// not this environment's any more is left, and warned of.
func (a *applier) planRemovals(ctx context.Context, ids []object.ID, spare mode) (removals []removal, kept []object.ID, problems []object.Problem) {
	if len(ids) > 0 {
		a.Progress("looking at what is to be deleted")
	}
	verdicts := make([]verdict, len(ids))
	var group errgroup.Group
	group.SetLimit(concurrency)
	for i, id := range ids {
		group.Go(func() error { verdicts[i] = a.judgeRemoval(ctx, id, spare); return nil })
	}
	_ = group.Wait() // none has an error
	going := map[object.ID]bool{}
	for i, v := range verdicts {
		if v.problem != nil {
			problems = append(problems, *v.problem)
		}
		if v.isKept {
			kept = append(kept, ids[i])
		}
		if v.removal != nil {
			removals = append(removals, *v.removal)
			going[ids[i]] = true
		}
	}
	inRemovalOrder(removals)
	removals = slices.DeleteFunc(removals, func(r removal) bool {
		why := a.stillNeeded(ctx, r, going)
		if why != "" {
			kept, problems = append(kept, r.id), append(problems, stays(r.id, why))
		}
		return why != ""
	})
	return removals, kept, problems
}

// stays is the warning of an object that is not deleted.
func stays(id object.ID, why string) object.Problem {
	return object.Problem{Object: id.String(), Message: "is not deleted: " + why, Warning: true}
}

// judgeRemoval finds out whether to delete an object.
func (a *applier) judgeRemoval(ctx context.Context, id object.ID, spare mode) verdict {
	live, err := a.find(ctx, id)
	switch {
	case err != nil:
		return verdict{problem: &object.Problem{Object: id.String(), Message: messages(err)[0]}}
	case live == nil:
		return verdict{}
	}
	if why := refuseDelete(live, a.manager); why != "" {
		warning := stays(id, why+", and it leaves the inventory")
		return verdict{problem: &warning}
	}
	if spare == sparing && runs(live) {
		warning := stays(id, stillRuns)
		return verdict{problem: &warning, isKept: true}
	}
	if err := a.cluster.Delete(ctx, live, client.DryRunAll, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: new(live.GetUID())}); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return verdict{problem: &object.Problem{Object: id.String(), Message: messages(err)[0]}}
	}
	return verdict{removal: &removal{id, live, spare}}
}

// find returns the object of the cluster; nil where it has none.
func (a *applier) find(ctx context.Context, id object.ID) (*unstructured.Unstructured, error) {
	mapping, err := a.cluster.RESTMapper().RESTMapping(schema.GroupKind{Group: id.Group, Kind: id.Kind})
	if meta.IsNoMatchError(err) {
		return nil, nil // without its kind it is gone
	}
	if err != nil {
		return nil, fmt.Errorf("ask the cluster for its kinds: %w", err)
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(mapping.GroupVersionKind)
	err = a.cluster.Get(ctx, client.ObjectKey{Namespace: id.Namespace, Name: id.Name}, live)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

// runs says whether an object is the Pod of an At that was started and has not ended.
func runs(live *unstructured.Unstructured) bool {
	if !isPodOfAt(live) || live.GetDeletionTimestamp() != nil {
		return false
	}
	gates, _, _ := unstructured.NestedSlice(live.Object, "spec", "schedulingGates")
	isGated := slices.ContainsFunc(gates, func(gate any) bool {
		g, _ := gate.(map[string]any)
		return g["name"] == kindat.Gate
	})
	phase, _, _ := unstructured.NestedString(live.Object, "status", "phase")
	return !isGated && phase != string(corev1.PodSucceeded) && phase != string(corev1.PodFailed)
}

func isPodOfAt(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Pod"} && u.GetLabels()[kindat.Label] != ""
}

// inRemovalOrder puts objects in the reverse of the order in which they were applied, with
// what others are in, or are of, last.
func inRemovalOrder(removals []removal) {
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

func metaOf(id object.ID) cliobject.ObjMetadata {
	return cliobject.ObjMetadata{Namespace: id.Namespace, Name: id.Name, GroupKind: schema.GroupKind{Group: id.Group, Kind: id.Kind}}
}

func isCRD(id object.ID) bool {
	return id.Group == "apiextensions.k8s.io" && id.Kind == "CustomResourceDefinition"
}

func isNamespace(id object.ID) bool { return id.Group == "" && id.Kind == "Namespace" }

// remove deletes objects and returns those that became needed meanwhile.
func (a *applier) remove(ctx context.Context, removals []removal) (left []object.ID, err error) {
	for _, r := range removals {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		a.Progress("deleting " + object.EscapeControls(r.id.String()))
		why := a.stillNeeded(ctx, r, nil)
		if why == "" {
			why, err = a.removeOne(ctx, r)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("delete %s: %w\nwhat was done before stays: run this again to complete it", r.id, err)
		case why != "":
			left = append(left, r.id)
			a.warnings = append(a.warnings, stays(r.id, why))
		default:
			a.report(r.id, Deleted)
		}
	}
	return left, nil
}

// persistence is how often, in ten seconds, an object is looked at again that changes all the
// time, as a ResourceQuota does while what it counts is deleted.
var persistence = utilwait.Backoff{Steps: 10, Duration: 10 * time.Millisecond, Factor: 2}

// removeOne deletes an object that is still this environment's, or says why not.
func (a *applier) removeOne(ctx context.Context, r removal) (why string, err error) {
	live := r.live
	err = retry.RetryOnConflict(persistence, func() error {
		if live == nil {
			found, err := a.find(ctx, r.id)
			if err != nil || found == nil {
				return err
			}
			if why = a.spareAfterAll(r, found); why != "" {
				return nil
			}
			live = found
		}
		version, uid := live.GetResourceVersion(), live.GetUID()
		err := a.cluster.Delete(ctx, live, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &uid, ResourceVersion: &version})
		live = nil // the next try is about what it is then
		return client.IgnoreNotFound(err)
	})
	return why, err
}

// spareAfterAll says why an object that changed meanwhile is not to be deleted.
func (a *applier) spareAfterAll(r removal, found *unstructured.Unstructured) string {
	switch {
	case found.GetUID() != r.live.GetUID():
		return "somebody made it anew meanwhile"
	case r.spare == sparing && runs(found):
		return stillRuns
	}
	return refuseDelete(found, a.manager)
}
