package cluster

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
)

// awaited is an object that is waited for, until it is ready or gone.
type awaited struct {
	id      manifest.ID
	file    string
	isGone  bool // it is to be gone, rather than ready
	mayEnd  bool // it may go once it has ended
	status  status.Status
	message string
}

// isOver reports whether waiting for the object is over.
func (w *awaited) isOver() bool {
	return w.status == status.CurrentStatus || w.status == status.FailedStatus
}

// awaited returns what to wait for after objects were applied and deleted. The object that a
// gated Pod was rendered from speaks for the Pod.
func (a *applier) awaited(applied []*step, gone []*removal) (all []*awaited) {
	for _, s := range applied {
		if gateOf(a.Kinds, s.Unstructured) != "" {
			continue
		}
		mayEnd := len(ssautils.ExtractJobsWithTTL([]*unstructured.Unstructured{s.Unstructured})) > 0
		all = append(all, &awaited{id: s.ID(), file: s.File, mayEnd: mayEnd})
	}
	for _, r := range gone {
		if r.live != nil {
			all = append(all, &awaited{id: r.id, isGone: true})
		}
	}
	return all
}

// waitFor waits until objects are ready and others are gone. The problems say why they are not.
func (a *applier) waitFor(ctx context.Context, all []*awaited) (problems []manifest.Problem) {
	pending, immediately := all, true
	_ = utilwait.PollUntilContextTimeout(ctx, time.Second, a.Timeout, immediately, func(inTime context.Context) (bool, error) {
		_ = concurrently(inTime, len(pending), func(ctx context.Context, i int) error {
			if live, err := a.cluster.find(ctx, pending[i].id); ctx.Err() == nil || pending[i].message == "" {
				pending[i].status, pending[i].message = pending[i].observe(a.Kinds, live, err)
			}
			return nil
		})
		pending = slices.DeleteFunc(slices.Clone(pending), (*awaited).isOver)
		if len(pending) > 0 {
			a.Progress(kind.Visible(fmt.Sprintf("waiting for %d of %d objects: %s: %s", len(pending), len(all), pending[0].id, pending[0].message)))
		}
		return len(pending) == 0, nil
	})
	for _, w := range all {
		if w.status != status.CurrentStatus {
			problems = append(problems, w.problem(a.Timeout, a.trouble(ctx, w)))
		}
	}
	return problems
}

// problem returns why waiting for an object ended without success.
func (w *awaited) problem(timeout time.Duration, trouble string) manifest.Problem {
	message := fmt.Sprintf("is not ready after %s: ", timeout)
	switch {
	case w.status == status.FailedStatus:
		message = "failed: "
	case w.isGone:
		message = fmt.Sprintf("is not gone after %s: ", timeout)
	}
	return manifest.Problem{File: w.file, Object: w.id.String(), Message: message + w.message + trouble}
}

// observe returns how far an object is.
func (w *awaited) observe(kinds *registry.Kinds, live *unstructured.Unstructured, err error) (status.Status, string) {
	switch {
	case err != nil:
		return status.InProgressStatus, messages(err)[0]
	case live == nil && (w.isGone || w.mayEnd):
		return status.CurrentStatus, ""
	case live == nil:
		return status.InProgressStatus, "somebody deleted it: run this again"
	case !w.isGone:
		return health(kinds, live)
	case live.GetDeletionTimestamp() == nil:
		return status.FailedStatus, "somebody made it anew"
	case len(live.GetFinalizers()) > 0:
		return status.InProgressStatus, fmt.Sprintf("it waits for its finalizers %q", live.GetFinalizers())
	}
	return status.InProgressStatus, "it ends"
}

// health returns the status of an object: Current where its kind takes it for healthy, and else
// that of kstatus. The result of a command is not the health of a delivery.
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
	case observed < 0: // the default of the kinds of Gatehouse
		return result.Status, "no controller has looked at it: is gatehouse-controller running? See kubectl get pods --all-namespaces --selector app.kubernetes.io/name=gatehouse-controller"
	}
	return result.Status, result.Message
}
