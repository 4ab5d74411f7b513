// Package effect has the effects of a review: their types, their order, and the sentences that list values
// and fields. TestCommentsFit and the transcripts of package review prove the words.
package effect

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
)

// Effect is the effect on an object in a cluster, or on its rendered objects.
type Effect struct {
	Object manifest.ID `json:"object"`
	kind.Effect
}

// The types of effects. Kinds have additional ones.
const (
	UpdateRefused = "updateRefused"

	WorkloadAdded   = "workloadAdded"
	WorkloadRolled  = "workloadRolled"
	WorkloadScaled  = "workloadScaled"
	WorkloadRemoved = "workloadRemoved"

	RouteOpened  = "routeOpened"
	RouteRemoved = "routeRemoved"

	ReachOpened  = "reachOpened"
	ReachBlocked = "reachBlocked"

	FieldsChanged  = "fieldsChanged"
	RenderedFollow = "renderedFollow"

	ObjectAdded   = "objectAdded"
	ObjectChanged = "objectChanged"
	ObjectRemoved = "objectRemoved"
	ObjectKept    = "objectKept"
	ObjectMutated = "objectMutated"
	ObjectLeft    = "objectLeft"
	ObjectTreated = "objectTreated"

	DefinitionRemoved = "definitionRemoved"
	DefinitionChanged = "definitionChanged"

	ObjectRefused   = "objectRefused"
	ObjectWarned    = "objectWarned"
	FieldsLost      = "fieldsLost"
	StoredOtherwise = "storedOtherwise"

	RightsGranted    = "rightsGranted"
	BuildChanged     = "buildChanged"
	PodWeakened      = "podWeakened"
	PodUnreadable    = "podUnreadable"
	ContainerAdded   = "containerAdded"
	ImageMoved       = "imageMoved"
	ConfigChanged    = "configChanged"
	ConfigRemoved    = "configRemoved"
	ProbeRemoved     = "probeRemoved"
	TokenMounted     = "tokenMounted"
	AccountDefaulted = "accountDefaulted"
	ValuesUnknown    = "valuesUnknown"
	ValuesUnread     = "valuesUnread"
)

// Of returns effects on an object.
func Of(o manifest.ID, effects ...kind.Effect) []Effect {
	all := make([]Effect, len(effects))
	for i, e := range effects {
		all[i] = Effect{o, e}
	}
	return all
}

// Once returns effects without repetitions, such as the effects on several Pods of a source object.
func Once(effects []Effect) []Effect {
	type told struct {
		object     manifest.ID
		name, what string
	}
	known := map[told]bool{}
	return slices.DeleteFunc(effects, func(e Effect) bool {
		key := told{e.Object, e.Type, string(e.What)}
		wasKnown := known[key]
		known[key] = true
		return wasKnown
	})
}

// Compare puts refused changes first, then effects with a risk, then earlier effects, and lists of rendered objects
// last.
func Compare(a, b Effect) int {
	rank := func(e Effect) int {
		switch {
		case e.Type == UpdateRefused, e.Type == ObjectRefused:
			return 0
		case e.Risk != "":
			return 1
		case e.Type == RenderedFollow:
			return 3
		}
		return 2
	}
	when := func(e Effect) time.Time { return ptr.Deref(e.Time, time.Time{}) }
	return cmp.Or(cmp.Compare(rank(a), rank(b)), when(a).Compare(when(b)), CompareObjects(a.Object, b.Object))
}

// CompareObjects orders IDs by namespace, name and kind.
func CompareObjects(a, b manifest.ID) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name),
		strings.Compare(a.Kind, b.Kind), strings.Compare(a.Group, b.Group))
}
