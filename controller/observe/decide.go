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

// snapshot is what a status is decided from.
type snapshot struct {
	kind     kind.Kind
	owner    kind.Object
	last     []metav1.Condition // of owner
	agreed   string             // Status.Rendering of owner
	children []kind.Object
	now      time.Time
	grace    time.Duration
}

// decide says how what an object is rendered to is, and when to decide again although
// nothing changes; zero for never. The error is that of Expand, and in the status as well.
func decide(s snapshot) (next kind.Status, wake time.Time, err error) {
	conditions := condition.New(s.last, s.owner.GetGeneration(), s.now)
	all, own, err := expect(s.kind, s.owner)
	if err != nil {
		conditions.Stalled(ReasonExpandFailed, oneLine(err))
		return kind.Status{ObservedGeneration: s.owner.GetGeneration(), Conditions: conditions.Sorted(), Rendering: s.agreed}, time.Time{}, err
	}
	carried, agreed := registry.RenderingOf(s.owner), s.agreed
	if carried.Objects == own.Objects {
		agreed = carried.String()
	}
	build := s.compare(carried, own)
	if build != sameBuild {
		all = present(s.kind, s.children)
	}
	v := look(s, all)
	v.build, v.isIncomplete = build, build != sameBuild && carried.Objects != registry.ObjectsDigest(all)
	v.unobserved = unobserved(s.kind)
	v.addAvailable(conditions, s.last)
	wake = status.Earliest(v.addProgress(conditions, s.grace), v.wake)

	next = kind.Status{
		ObservedGeneration: s.owner.GetGeneration(),
		Conditions:         conditions.Sorted(),
		Objects:            ptr.To(int32(len(all))),                   // #nosec G115 -- a cluster has fewer
		ReadyObjects:       ptr.To(int32(len(all) - len(v.notReady))), // #nosec G115
		Rendering:          agreed,
		NotReady:           v.notReady[:min(len(v.notReady), mostNotReady)],
	}
	return next, wake, nil
}

// mostNotReady is how many objects that are not ready a status names, and mostNames how many
// a message does.
const (
	mostNotReady = 10
	mostNames    = 3
)

// view is how what is expected is, each list sorted and in words for a message.
type view struct {
	missing, stale, failed, inProgress []string
	leftOver, going                    []string
	notReady                           []kind.NotReady

	available, unavailable []string
	wake                   time.Time

	build        build
	isIncomplete bool     // something else is in the cluster than what another build rendered
	unobserved   []string // kinds that are rendered
}

// look looks at each object that is expected.
func look(s snapshot, all []registry.Child) *view {
	v := &view{}
	found, leftOver := match(s.kind, all, s.children)
	for i, e := range all {
		v.add(e, found[i], s.now)
	}
	for _, o := range leftOver {
		if o.GetDeletionTimestamp() != nil {
			v.going = append(v.going, describe(o))
			continue
		}
		v.leftOver = append(v.leftOver, describe(o))
	}
	return v
}

// add adds an object that is expected, and how it is in the cluster: nil for not at all.
func (v *view) add(e registry.Child, o kind.Object, now time.Time) {
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

// addAvailable adds Available, where objects have it. One that is missing and had it is not
// available.
func (v *view) addAvailable(conditions *condition.Conditions, last []metav1.Condition) {
	unavailable := v.unavailable
	if meta.FindStatusCondition(last, Available) != nil {
		unavailable = slices.Concat(unavailable, v.missing)
	}
	switch {
	case len(unavailable) > 0:
		conditions.Add(Available, metav1.ConditionFalse, ReasonObjectsNotAvailable, "Not available: "+list(unavailable))
	case len(v.available) > 0:
		conditions.Add(Available, metav1.ConditionTrue, ReasonObjectsAvailable, "All objects that say whether they are available are")
	}
}

// addProgress adds Synced and the conditions of kstatus, and returns when to look again.
func (v *view) addProgress(conditions *condition.Conditions, grace time.Duration) (wake time.Time) {
	switch {
	case v.isIncomplete:
		return conditions.Await(Synced, ReasonControllerDiffers,
			string(v.build)+"; the cluster does not have what was rendered", grace)
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
	if v.build == sameBuild {
		conditions.Add(Synced, metav1.ConditionTrue, ReasonSynced, "What the spec is rendered to is in the cluster"+observed)
	} else {
		conditions.Add(Synced, metav1.ConditionTrue, ReasonControllerDiffers, string(v.build)+observed)
	}
	switch {
	case len(v.failed) > 0:
		conditions.Stalled(ReasonObjectsFailed, "Failed: "+list(v.failed)+": see status and events")
	case len(v.inProgress) > 0:
		conditions.Reconciling(ReasonObjectsNotReady, "Not ready: "+list(v.inProgress))
	case len(v.going) > 0:
		conditions.Reconciling(ReasonObjectsNotReady, "Being deleted: "+list(v.going))
	default:
		conditions.Ready(ReasonReady, "All that the spec is rendered to is there and ready"+observed)
	}
	return time.Time{}
}

// list lists the first of some objects.
func list(objects []string) string {
	if len(objects) > mostNames {
		return strings.Join(objects[:mostNames], ", ") + " and others"
	}
	return strings.Join(objects, ", ")
}

// oneLine returns the text of an error of whatever form, as far as it is not too long.
func oneLine(err error) string {
	const most = 1024
	message := strings.ReplaceAll(err.Error(), "\n", "; ")
	if len(message) <= most {
		return message
	}
	return strings.ToValidUTF8(message[:most], "") + "…"
}
