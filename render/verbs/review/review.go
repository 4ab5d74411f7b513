// Package review describes the effects of a change on clusters: Pods that start or restart, lost data,
// granted rights.
package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
)

// Review lists the effects of a change.
type Review struct {
	// Frame has changed files beside the environments that affect what is reviewed or synced.
	Frame        []diff.FrameChange  `json:"frame,omitempty"`
	Environments []EnvironmentReview `json:"environments"`
}

// EnvironmentReview lists the effects of a change on the cluster of an environment.
type EnvironmentReview struct {
	Name string `json:"name"`
	// IsNew reports whether all objects of the environment are added, IsGone whether all are removed.
	IsNew  bool `json:"isNew,omitempty"`
	IsGone bool `json:"isGone,omitempty"`
	// Kubernetes is the change of the declared version, if any.
	Kubernetes *diff.KubernetesChange `json:"kubernetes,omitempty"`
	Counts     Counts                 `json:"counts"`
	// Effects begins with effects that have a risk, each part in the order of time.
	Effects []Effect `json:"effects"`
	Changes []Change `json:"changes"`
}

// Counts is the number of objects of each action.
type Counts map[diff.Action]int

// Change is the change of an object in git.
type Change struct {
	Action diff.Action `json:"action"`
	Object manifest.ID `json:"object"`
	// BeforeFile and AfterFile are relative to the root, with slashes. They may be empty.
	BeforeFile string `json:"beforeFile,omitempty"`
	AfterFile  string `json:"afterFile,omitempty"`
	// Diff is a unified diff with masked values of Secrets.
	Diff string `json:"diff"`

	owner manifest.ID // the source object of a rendered object
}

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

	AutoscalingChanged = "autoscalingChanged"

	RouteOpened  = "routeOpened"
	RouteChanged = "routeChanged"
	RouteRemoved = "routeRemoved"

	ReachOpened  = "reachOpened"
	ReachBlocked = "reachBlocked"

	FieldsChanged  = "fieldsChanged"
	RenderedFollow = "renderedFollow"

	ObjectAdded   = "objectAdded"
	ObjectChanged = "objectChanged"
	ObjectRemoved = "objectRemoved"
	ObjectKept    = "objectKept"

	NamespaceRemoved  = "namespaceRemoved"
	DefinitionRemoved = "definitionRemoved"
	StorageRemoved    = "storageRemoved"

	RightsGranted      = "rightsGranted"
	GuardAdded         = "guardAdded"
	GuardRemoved       = "guardRemoved"
	GuardChanged       = "guardChanged"
	PodSecurityLowered = "podSecurityLowered"
	PodPrivileged      = "podPrivileged"
	BuildChanged       = "buildChanged"
	PodWeakened        = "podWeakened"
	PodUnreadable      = "podUnreadable"
	ContainerAdded     = "containerAdded"
	ContainerChanged   = "containerChanged"
	ContainerRemoved   = "containerRemoved"
	ImageMoved         = "imageMoved"
	ConfigChanged      = "configChanged"
	ConfigRemoved      = "configRemoved"
	ProbeRemoved       = "probeRemoved"
	TokenMounted       = "tokenMounted"
	AccountDefaulted   = "accountDefaulted"
	ValuesUnknown      = "valuesUnknown"
)

// New reviews the changes of environments. Schedules before now are past.
func New(environments []diff.EnvironmentDiff, now time.Time) *Review {
	r := &Review{Environments: []EnvironmentReview{}}
	for _, e := range environments {
		if len(e.Changes) > 0 || e.Kubernetes != nil {
			r.Environments = append(r.Environments, reviewEnvironment(e, now))
		}
	}
	return r
}

func reviewEnvironment(e diff.EnvironmentDiff, now time.Time) EnvironmentReview {
	counts := Counts{diff.Added: 0, diff.Changed: 0, diff.Replaced: 0, diff.Removed: 0}
	reviewed := EnvironmentReview{Name: e.Name, Kubernetes: e.Kubernetes, Counts: counts, Effects: effects(e, now), Changes: []Change{}}
	for _, c := range e.Changes {
		counts[c.Action()]++
		owner, _ := diff.OwnerOf(e.Kinds, c.Object().Unstructured)
		reviewed.Changes = append(reviewed.Changes, Change{c.Action(), c.Object().ID(), c.BeforeFile, c.AfterFile, c.Unified(), owner})
	}
	reviewed.IsNew = len(e.Changes) > 0 && len(e.Unchanged) == 0 && counts[diff.Added] == len(e.Changes)
	reviewed.IsGone = len(e.Changes) > 0 && len(e.Unchanged) == 0 && counts[diff.Removed] == len(e.Changes)
	return reviewed
}

// effects returns the effects of the changes of an environment, in the order of a review.
func effects(e diff.EnvironmentDiff, now time.Time) []Effect {
	w := newWorld(e)
	effects := w.complete(w.effectsOfRules(now))
	slices.SortStableFunc(effects, compare)
	return effects
}

// effectsOfRules returns the effects that rules and the reviews of kinds find.
func (w *world) effectsOfRules(now time.Time) []Effect {
	effects := []Effect{} // not null in JSON
	hasEffect, isTold := map[manifest.ID]bool{}, map[string]bool{}
	add := func(o manifest.ID, more []kind.Effect) {
		for _, e := range more {
			effects, hasEffect[o] = append(effects, Effect{o, e}), true
		}
	}
	for _, c := range w.Changes {
		add(idOf(c.Object().Unstructured), w.review(c))
		effects = append(effects, w.reviewValues(c)...)
		o, weaker := w.reviewPods(c)
		for _, e := range weaker {
			if told := fmt.Sprint(o, e.What); !isTold[told] { // once for several Pods
				effects, isTold[told] = append(effects, Effect{o, e}), true
			}
		}
	}
	effects = slices.Concat(effects, w.reach(), w.grantedRights())
	families := w.families(hasEffect)
	builds := w.reviewBuilds(families)
	for _, f := range families {
		if !hasEffect[f.owner] {
			add(f.owner, append(builds[f], w.reviewFamily(f, now)...))
		}
	}
	return effects
}

// compare puts refused changes first, then effects with a risk, then earlier effects.
func compare(a, b Effect) int {
	rank := func(e Effect) int {
		switch {
		case e.Type == UpdateRefused:
			return 0
		case e.Risk != "":
			return 1
		}
		return 2
	}
	when := func(e Effect) time.Time { return ptr.Deref(e.Time, time.Time{}) }
	return cmp.Or(cmp.Compare(rank(a), rank(b)), when(a).Compare(when(b)), compareObjects(a.Object, b.Object))
}

func compareObjects(a, b manifest.ID) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Group, b.Group))
}
