package apply

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	ssautils "github.com/fluxcd/pkg/ssa/utils"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/render/object"
)

// awaited is an object that is waited for.
type awaited struct {
	id       object.ID
	manifest Manifest // none where it is to be gone
	isGone   bool     // whether it is to be
	mayEnd   bool     // whether it may go once it has ended
	status   status.Status
	message  string
}

// isOver says whether there is nothing to wait for any more.
func (w *awaited) isOver() bool {
	return w.status == status.CurrentStatus || w.status == status.FailedStatus
}

// wait waits until objects are ready and others are gone. Its problems are why they are not.
func (a *applier) wait(ctx context.Context, manifests []Manifest, removals []removal) []object.Problem {
	var all []*awaited
	for _, m := range manifests {
		if isPodOfAt(m.Unstructured) {
			continue // its At speaks for it
		}
		_, isShort, _ := unstructured.NestedFieldNoCopy(m.Object, "spec", "ttlSecondsAfterFinished")
		all = append(all, &awaited{id: m.id(), manifest: m, mayEnd: isShort && m.GetKind() == "Job"})
	}
	for _, r := range removals {
		all = append(all, &awaited{id: r.id, isGone: true})
	}
	return a.waitFor(ctx, all)
}

// waitForDefinitions waits until kinds and namespaces can be used.
func (a *applier) waitForDefinitions(ctx context.Context, steps []*step) []object.Problem {
	var all []*awaited
	for _, s := range steps {
		if s.isPending() {
			all = append(all, &awaited{id: s.id(), manifest: s.Manifest})
		}
	}
	return a.waitFor(ctx, all)
}

func (a *applier) waitFor(ctx context.Context, all []*awaited) []object.Problem {
	inTime, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	pending := all
	for {
		a.observe(inTime, pending)
		var still []*awaited
		for _, w := range pending {
			if !w.isOver() {
				still = append(still, w)
			}
		}
		if pending = still; len(pending) == 0 {
			break
		}
		a.Progress(object.EscapeControls(fmt.Sprintf("waiting for %d of %d objects: %s: %s", len(pending), len(all), pending[0].id, pending[0].message)))
		if pause(inTime, time.Second) != nil {
			break
		}
	}
	var problems []object.Problem
	for _, w := range all {
		if w.status != status.CurrentStatus {
			if why := a.trouble(ctx, w); why != "" && !w.isGone {
				w.message += ": " + why
			}
			problems = append(problems, w.problem(a.Timeout))
		}
	}
	return problems
}

// problem says what an object is waited for in vain for.
func (w *awaited) problem(timeout time.Duration) object.Problem {
	message := fmt.Sprintf("is not ready after %s: %s", timeout, w.message)
	switch {
	case w.status == status.FailedStatus:
		message = "failed: " + w.message
	case w.isGone:
		message = fmt.Sprintf("is not gone after %s: %s", timeout, w.message)
	}
	return object.Problem{File: w.manifest.File, Object: w.id.String(), Message: message}
}

// observe looks at objects, several at a time.
func (a *applier) observe(ctx context.Context, all []*awaited) {
	var group errgroup.Group
	group.SetLimit(concurrency)
	for _, w := range all {
		group.Go(func() error {
			live, err := a.find(ctx, w.id)
			if ctx.Err() == nil || w.message == "" {
				w.see(live, err)
			}
			return nil
		})
	}
	_ = group.Wait() // none has an error
}

// see notes how far an object is.
func (w *awaited) see(live *unstructured.Unstructured, err error) {
	w.status = status.InProgressStatus
	switch {
	case err != nil:
		w.message = messages(err)[0]
	case w.isGone:
		w.seeGoing(live)
	case live == nil && w.mayEnd:
		w.status = status.CurrentStatus
	case live == nil:
		w.message = "somebody deleted it: run this again"
	default:
		w.status, w.message = health(live)
	}
}

// seeGoing notes whether an object is gone.
func (w *awaited) seeGoing(live *unstructured.Unstructured) {
	switch {
	case live == nil:
		w.status = status.CurrentStatus
	case live.GetDeletionTimestamp() == nil:
		w.status, w.message = status.FailedStatus, "somebody made it anew"
	case len(live.GetFinalizers()) > 0:
		w.message = fmt.Sprintf("it waits for its finalizers %q", live.GetFinalizers())
	default:
		w.message = cmp.Or(whatRemains(live), "it ends")
	}
}

// whatRemains says what keeps a Namespace from being gone; empty where nothing does, or it is none.
func whatRemains(live *unstructured.Unstructured) string {
	if !ssautils.IsNamespace(live) {
		return ""
	}
	var remains []string
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, condition := range conditions {
		if c, _ := condition.(map[string]any); c["status"] == "True" {
			remains = append(remains, fmt.Sprint(c["message"]))
		}
	}
	return strings.Join(remains, "; ")
}

// health is what kstatus says of an object. An At is current as well while its command runs,
// and when that ended, however: the result of a command is not the health of a delivery.
func health(live *unstructured.Unstructured) (status.Status, string) {
	if live.GroupVersionKind().GroupKind() == (cnatv1alpha1.SchemeGroupVersion.WithKind(cnatv1alpha1.KindAt).GroupKind()) && wasStarted(live) {
		return status.CurrentStatus, ""
	}
	if ssautils.IsNamespace(live) && live.GetDeletionTimestamp() != nil {
		return status.FailedStatus, "it is being deleted"
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

// wasStarted says whether the controller started an At as it is now, or found that it is over.
func wasStarted(at *unstructured.Unstructured) bool {
	observed, _, _ := unstructured.NestedInt64(at.Object, "status", "observedGeneration")
	phase, _, _ := unstructured.NestedString(at.Object, "status", "phase")
	return observed == at.GetGeneration() && (phase == string(cnatv1alpha1.AtRunning) || phase == string(cnatv1alpha1.AtDone))
}
