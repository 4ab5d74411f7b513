package observe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
	"example.com/gatehouse/kind/registry"
)

// snapshot is the input of a decision.
type snapshot struct {
	kind      kind.Kind
	owner     kind.Object
	last      []metav1.Condition // the conditions of owner
	lastMatch string             // Status.Rendering of owner: the rendering that last matched the controller's
	children  []kind.Object
	now       time.Time
	grace     time.Duration
}

// decide returns the status of the owner, and the time of the next decision if nothing changes;
// zero for never. It returns an error of Expand, and also reports it in the status.
func decide(s snapshot) (next kind.Status, wake time.Time, err error) {
	conditions := condition.New(s.last, s.owner.GetGeneration(), s.now)
	all, expanded, err := expandObserved(s.kind, s.owner)
	if err != nil {
		conditions.Stalled(ReasonExpandFailed, oneLine(err))
		return kind.Status{ObservedGeneration: s.owner.GetGeneration(), Conditions: conditions.Sorted(),
			Rendering: s.lastMatch}, time.Time{}, err
	}
	committed := registry.RenderingOf(s.owner)
	lastMatch := s.lastMatch
	if committed.Objects == expanded.Objects {
		lastMatch = committed.String()
	}
	difference := s.compareBuilds(committed, expanded)
	if difference != sameBuild {
		all = presentChildren(s.kind, s.children)
	}
	v := observe(s, all)
	v.difference = difference
	v.isIncomplete = difference != sameBuild &&
		committed.Objects != registry.ObjectsDigest(all)
	v.unobserved = unobserved(s.kind)
	v.addAvailable(conditions, s.last)
	wake = status.Earliest(v.addProgress(conditions, s.grace), v.wake)

	next = kind.Status{
		ObservedGeneration: s.owner.GetGeneration(),
		Conditions:         conditions.Sorted(),
		Objects:            ptr.To(int32(len(all))),                   // #nosec G115 -- a cluster has fewer
		ReadyObjects:       ptr.To(int32(len(all) - len(v.notReady))), // #nosec G115
		Rendering:          lastMatch,
		NotReady:           v.notReady[:min(len(v.notReady), mostNotReady)],
	}
	return next, wake, nil
}

// mostNotReady limits the objects that a status lists as not ready, and mostNames the objects that
// a message names.
const (
	mostNotReady = 10
	mostNames    = 3
)

// observation is the state of the expected objects. Each list is sorted, and worded for a message.
type observation struct {
	missing, stale, failed, inProgress []string
	leftOver, terminating              []string
	notReady                           []kind.NotReady

	available, unavailable []string
	wake                   time.Time

	difference   buildDifference
	isIncomplete bool     // the live objects differ from the rendering of another build
	unobserved   []string // child kinds that the status does not depend on
}

// observe compares the expected objects with the live objects.
func observe(s snapshot, all []registry.Child) *observation {
	v := &observation{}
	found, leftOver := match(s.kind, all, s.children)
	for i, e := range all {
		v.add(e, found[i], s.now)
	}
	for _, o := range leftOver {
		if o.GetDeletionTimestamp() != nil {
			v.terminating = append(v.terminating, describe(o))
			continue
		}
		v.leftOver = append(v.leftOver, describe(o))
	}
	return v
}

// add adds the state of an expected object. The live object is nil if it is missing.
func (v *observation) add(e registry.Child, o kind.Object, now time.Time) {
	if o == nil {
		v.missing = append(v.missing, e.Kind+" "+e.Name)
		v.notReady = append(v.notReady, kind.NotReady{Kind: e.Kind, Name: e.Name, Reason: ObjectMissing})
		return
	}
	h := stateOf(o, now)
	v.wake = status.Earliest(v.wake, h.wake)
	switch h.available {
	case "":
	case string(metav1.ConditionTrue):
		v.available = append(v.available, describe(o))
	default:
		v.unavailable = append(v.unavailable, describe(o))
	}
	why := fmt.Sprintf("%s (%s)", describe(o), h.reason)
	switch {
	case isStale(e, o):
		v.stale = append(v.stale, describe(o))
		h.reason = ObjectStale
	case h.status == kstatus.CurrentStatus:
		return
	case h.status == kstatus.FailedStatus:
		v.failed = append(v.failed, why)
	default:
		v.inProgress = append(v.inProgress, why)
	}
	v.notReady = append(v.notReady, kind.NotReady{Kind: e.Kind, Name: o.GetName(), Reason: h.reason})
}

// addAvailable adds Available if any object has that condition. If the last status had it, a
// missing object counts as not available.
func (v *observation) addAvailable(conditions *condition.Conditions, last []metav1.Condition) {
	unavailable := v.unavailable
	if meta.FindStatusCondition(last, Available) != nil {
		unavailable = slices.Concat(unavailable, v.missing)
	}
	switch {
	case len(unavailable) > 0:
		conditions.Add(Available, metav1.ConditionFalse, ReasonObjectsNotAvailable, "Not available: "+list(unavailable))
	case len(v.available) > 0:
		conditions.Add(Available, metav1.ConditionTrue, ReasonObjectsAvailable,
			"All objects that say whether they are available are")
	}
}

// addProgress adds Synced and the conditions of kstatus, and returns the time of the next decision.
func (v *observation) addProgress(conditions *condition.Conditions, grace time.Duration) (wake time.Time) {
	switch {
	case v.isIncomplete:
		return conditions.Await(Synced, ReasonControllerDiffers,
			string(v.difference)+"; the cluster does not have what was rendered", grace)
	case len(v.missing) > 0:
		return conditions.Await(Synced, ReasonObjectsMissing,
			"The cluster has no "+list(v.missing)+": render the environment, commit and sync", grace)
	case len(v.stale) > 0:
		return conditions.Await(Synced, ReasonRenderingStale,
			"Rendered from another spec: "+list(v.stale)+": render the environment, commit and sync", grace)
	case len(v.leftOver) > 0:
		return conditions.Await(Synced, ReasonObjectsLeftOver,
			"The spec is not rendered to "+list(v.leftOver)+": prune what is left over", grace)
	}
	observed := ""
	if len(v.unobserved) > 0 {
		observed = ", not observed: " + strings.Join(v.unobserved, ", ")
	}
	if v.difference == sameBuild {
		conditions.Add(Synced, metav1.ConditionTrue, ReasonSynced,
			"What the spec is rendered to is in the cluster"+observed)
	} else {
		conditions.Add(Synced, metav1.ConditionTrue, ReasonControllerDiffers, string(v.difference)+observed)
	}
	switch {
	case len(v.failed) > 0:
		conditions.Stalled(ReasonObjectsFailed, "Failed: "+list(v.failed)+": see status and events")
	case len(v.inProgress) > 0:
		conditions.Reconciling(ReasonObjectsNotReady, "Not ready: "+list(v.inProgress))
	case len(v.terminating) > 0:
		conditions.Reconciling(ReasonObjectsNotReady, "Being deleted: "+list(v.terminating))
	default:
		conditions.Ready(ReasonReady, "All that the spec is rendered to is there and ready"+observed)
	}
	return time.Time{}
}

// list joins the first names of objects, and says whether there are more.
func list(objects []string) string {
	if len(objects) > mostNames {
		return strings.Join(objects[:mostNames], ", ") + " and others"
	}
	return strings.Join(objects, ", ")
}

// oneLine returns an error message without line breaks, shortened to a condition's usual length.
func oneLine(err error) string {
	const most = 1024
	message := strings.ReplaceAll(err.Error(), "\n", "; ")
	if len(message) <= most {
		return message
	}
	return strings.ToValidUTF8(message[:most], "") + "…"
}
