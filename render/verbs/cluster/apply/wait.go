package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	ssautils "github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilwait "k8s.io/apimachinery/pkg/util/wait"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/cluster"
	"example.com/gatehouse/render/verbs/cluster/plan"
)

// awaited is an object that a run waits for, until it is ready or gone.
type awaited struct {
	id        manifest.ID
	file      string
	isRemoval bool // waits for the end of the object
	mayVanish bool // a Job with a TTL may be deleted once it has ended
	status    status.Status
	message   string
}

func (w *awaited) isOver() bool {
	return w.status == status.CurrentStatus || w.status == status.FailedStatus
}

// awaitAll returns the objects to wait for. A gated Pod is not among them: its source object
// reports its state.
func (r *run) awaitAll(applied []*plan.Step, removals []*removal) (all []*awaited) {
	for _, s := range applied {
		if gateOf(r.Kinds, s.Unstructured) == "" {
			hasTTL := len(ssautils.ExtractJobsWithTTL([]*unstructured.Unstructured{s.Unstructured})) > 0
			all = append(all, &awaited{id: s.ID(), file: s.File, mayVanish: hasTTL})
		}
	}
	for _, o := range removals {
		if o.live != nil {
			all = append(all, &awaited{id: o.id, isRemoval: true})
		}
	}
	return all
}

// wait waits until each object is ready, gone or failed. Its problems name the others.
func (r *run) wait(ctx context.Context, all []*awaited) (problems []manifest.Problem) {
	pending := all
	immediately := true
	_ = utilwait.PollUntilContextTimeout(ctx, time.Second, r.Timeout, immediately,
		func(inTime context.Context) (bool, error) {
			_ = cluster.ForEach(inTime, len(pending), func(ctx context.Context, i int) error {
				live, err := r.cluster.Find(ctx, pending[i].id)
				if ctx.Err() == nil || pending[i].message == "" {
					pending[i].status, pending[i].message = pending[i].observe(r.Kinds, live, err)
				}
				return nil
			})
			pending = slices.DeleteFunc(slices.Clone(pending), (*awaited).isOver)
			if len(pending) > 0 {
				r.Progress(kind.Visible(fmt.Sprintf("waiting for %d of %d objects: %s: %s", len(pending), len(all),
					pending[0].id, pending[0].message)))
			}
			return len(pending) == 0, nil
		})
	for _, w := range all {
		prefix := fmt.Sprintf("is not ready after %s: ", r.Timeout)
		switch {
		case w.status == status.CurrentStatus:
			continue
		case w.status == status.FailedStatus:
			prefix = "failed: "
		case w.isRemoval:
			prefix = fmt.Sprintf("is not gone after %s: ", r.Timeout)
		}
		problems = append(problems, manifest.Problem{Code: manifest.ClusterRefused,
			File: w.file, Object: w.id.String(), Message: prefix + w.message})
	}
	return problems
}

// observe returns the progress of an object. Live is nil if the cluster lacks the object.
func (w *awaited) observe(kinds *registry.Kinds, live *unstructured.Unstructured, err error) (status.Status, string) {
	switch {
	case err != nil:
		return status.InProgressStatus, cluster.Messages(err)[0]
	case live == nil && (w.isRemoval || w.mayVanish):
		return status.CurrentStatus, ""
	case live == nil:
		return status.InProgressStatus, "somebody deleted it: run this again"
	case !w.isRemoval:
		return health(kinds, live)
	case live.GetDeletionTimestamp() == nil:
		return status.FailedStatus, "it was created again"
	case len(live.GetFinalizers()) > 0:
		return status.InProgressStatus, fmt.Sprintf("it waits for its finalizers %q", live.GetFinalizers())
	}
	return status.InProgressStatus, "it ends"
}

// health returns the kstatus of an object, or Current in a healthy phase of its kind: an At whose
// command failed is delivered.
func health(kinds *registry.Kinds, live *unstructured.Unstructured) (status.Status, string) {
	if kinds.IsInHealthyPhase(live) {
		return status.CurrentStatus, ""
	}
	result, err := status.Compute(live)
	if err != nil {
		return status.FailedStatus, err.Error()
	}
	observed, _, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration")
	switch {
	case result.Status == status.TerminatingStatus:
		return status.InProgressStatus, "it is being deleted"
	case observed < 0: // the default of Gatehouse's kinds
		return result.Status,
			"no controller has looked at it: is gatehouse-controller running? See kubectl get pods --all-namespaces " +
				"--selector app.kubernetes.io/name=gatehouse-controller"
	}
	return result.Status, result.Message
}
