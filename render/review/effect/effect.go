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
	Rank Rank `json:"rank"`
	// Severity orders risks.
	Severity Severity `json:"-"`
}

// Rank is the knowledge of an effect.
type Rank string

// The ranks. An effect that no rule ranks is unknown.
const (
	IsUnknown Rank = "unknown"
	IsKnown   Rank = "known"
	IsRisk    Rank = "risk"
)

// Severity orders risks. It is 0 for an effect whose type decides.
type Severity int

// The severities. A risk that no table names is serious.
const (
	Slight Severity = iota + 1
	Serious
	Grave  // lost data, or power over other objects and nodes
	Utmost // any right in the cluster
)

// severities are the severities of effects by type.
var severities = map[string]Severity{
	BuildChanged: Slight, ConfigChanged: Slight, ProbeRemoved: Slight, ValuesUnread: Slight,
	DefinitionRemoved: Grave, VolumesLost: Grave,
}

// AddRisk adds a risk to the effect.
func (e *Effect) AddRisk(risk kind.Sentence, severity Severity) {
	if e.Risk != "" {
		severity = max(severity, cmp.Or(e.Severity, severities[e.Type]))
		risk = e.Risk + "; " + risk
	}
	e.Risk = risk
	e.Severity = severity
}

// Judged returns the effect with its rank and severity. Without a risk it is unknown, unless a rule ranked it
// otherwise.
func (e Effect) Judged() Effect {
	if e.Risk != "" {
		e.Rank = IsRisk
		e.Severity = cmp.Or(e.Severity, severities[e.Type], Serious)
	}
	e.Rank = cmp.Or(e.Rank, IsUnknown)
	return e
}

// The types of effects. Kinds have additional ones.
const (
	UpdateRefused = "updateRefused"

	WorkloadAdded   = "workloadAdded"
	WorkloadRolled  = "workloadRolled"
	WorkloadScaled  = "workloadScaled"
	WorkloadRemoved = "workloadRemoved"
	VolumesLost     = "volumesLost"

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
	ObjectMoved   = "objectMoved"

	EnvironmentMoved = "environmentMoved"
	EnvironmentLost  = "environmentLost"

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
	ImageUnfit       = "imageUnfit"
	ConfigChanged    = "configChanged"
	ConfigRemoved    = "configRemoved"
	ProbeRemoved     = "probeRemoved"
	ReferenceBroken  = "referenceBroken"
	TokenMounted     = "tokenMounted"
	AccountDefaulted = "accountDefaulted"
	ValuesUnknown    = "valuesUnknown"
	ChartUnproven    = "chartUnproven"
	ValuesUnread     = "valuesUnread"
)

// Of returns effects on an object.
func Of(o manifest.ID, effects ...kind.Effect) []Effect {
	all := make([]Effect, len(effects))
	for i, e := range effects {
		all[i] = Effect{Object: o, Effect: e}
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

// Compare puts risks first, the gravest before refused changes and others, then unknown effects, then known ones, each
// in the order of time, and lists of rendered objects last.
func Compare(a, b Effect) int {
	rank := func(e Effect) int {
		isRefused := e.Type == UpdateRefused || e.Type == ObjectRefused
		switch {
		case e.Rank == IsRisk && e.Severity >= Grave:
			return -int(e.Severity)
		case isRefused:
			return 0
		case e.Rank == IsRisk:
			return int(Grave - e.Severity)
		case e.Type == RenderedFollow:
			return 5
		case e.Rank == IsKnown:
			return 4
		}
		return 3
	}
	when := func(e Effect) time.Time { return ptr.Deref(e.Time, time.Time{}) }
	return cmp.Or(cmp.Compare(rank(a), rank(b)), when(a).Compare(when(b)), CompareObjects(a.Object, b.Object))
}

// CompareObjects orders IDs by namespace, name and kind.
func CompareObjects(a, b manifest.ID) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name),
		strings.Compare(a.Kind, b.Kind), strings.Compare(a.Group, b.Group))
}
