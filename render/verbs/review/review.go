// Package review says what a change does to clusters, for the people who review it: which
// Pods run and when, what is lost, who may do more than before.
package review

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
)

// Review is what a change does.
type Review struct {
	Environments []Environment `json:"environments"`
}

// Environment is what a change does to the cluster of an environment.
type Environment struct {
	Name string `json:"name"`
	// IsNew reports whether nothing of the environment was there before, IsGone whether
	// nothing is left.
	IsNew  bool `json:"isNew,omitempty"`
	IsGone bool `json:"isGone,omitempty"`
	// Kubernetes is the version that it is for, where that changes.
	Kubernetes *diff.KubernetesChange `json:"kubernetes,omitempty"`
	Counts     Counts                 `json:"counts"`
	// Effects begins with those that have a risk; then it is in the order of time.
	Effects []Effect `json:"effects"`
	Changes []Change `json:"changes"`
}

// Counts has the number of objects of each action.
type Counts map[diff.Action]int

// Change is what happens to an object in git.
type Change struct {
	Action diff.Action `json:"action"`
	Object manifest.ID `json:"object"`
	// BeforeFile and AfterFile are relative to the root, with slashes; empty where there is
	// no file.
	BeforeFile string `json:"beforeFile,omitempty"`
	AfterFile  string `json:"afterFile,omitempty"`
	// Diff is unified. It has no values of Secrets.
	Diff string `json:"diff"`
}

// Effect is something that happens to an object in a cluster, or to what was rendered from it.
type Effect struct {
	Object manifest.ID `json:"object"`
	kind.Effect
}

// The types of effects, beside those that kinds have.
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

	ObjectAdded   = "objectAdded"
	ObjectChanged = "objectChanged"
	ObjectRemoved = "objectRemoved"
	ObjectKept    = "objectKept"

	NamespaceRemoved  = "namespaceRemoved"
	DefinitionRemoved = "definitionRemoved"
	StorageRemoved    = "storageRemoved"

	RightsGranted      = "rightsGranted"
	GuardRemoved       = "guardRemoved"
	GuardChanged       = "guardChanged"
	PodSecurityLowered = "podSecurityLowered"
	PodPrivileged      = "podPrivileged"
	BuildChanged       = "buildChanged"
	PodWeakened        = "podWeakened"
	ProbeRemoved       = "probeRemoved"
	TokenMounted       = "tokenMounted"
	AccountDefaulted   = "accountDefaulted"
)

// New reviews what changes in environments. Now decides which schedules are past.
func New(environments []diff.Environment, now time.Time) *Review {
	r := &Review{Environments: []Environment{}}
	for _, e := range environments {
		if len(e.Changes) > 0 || e.Kubernetes != nil {
			r.Environments = append(r.Environments, newEnvironment(e, now))
		}
	}
	return r
}

func newEnvironment(e diff.Environment, now time.Time) Environment {
	counts := Counts{diff.Added: 0, diff.Changed: 0, diff.Replaced: 0, diff.Removed: 0}
	reviewed := Environment{Name: e.Name, Kubernetes: e.Kubernetes, Counts: counts, Effects: effects(e, now), Changes: []Change{}}
	for _, c := range e.Changes {
		counts[c.Action()]++
		reviewed.Changes = append(reviewed.Changes, Change{c.Action(), c.Object().ID(), c.BeforeFile, c.AfterFile, c.Unified()})
	}
	reviewed.IsNew = len(e.Changes) > 0 && len(e.Unchanged) == 0 && counts[diff.Added] == len(e.Changes)
	reviewed.IsGone = len(e.Changes) > 0 && len(e.Unchanged) == 0 && counts[diff.Removed] == len(e.Changes)
	return reviewed
}

// effects returns what the changes of an environment do, in the order of a review.
func effects(e diff.Environment, now time.Time) []Effect {
	w := newWorld(e)
	effects := []Effect{} // in JSON a list also where it is empty
	hasEffect, isTold := map[manifest.ID]bool{}, map[Effect]bool{}
	add := func(o manifest.ID, more []kind.Effect) {
		for _, e := range more {
			effects, hasEffect[o] = append(effects, Effect{o, e}), true
		}
	}
	for _, c := range w.Changes {
		add(idOf(c.Object().Unstructured), w.review(c))
		o, weaker := w.reviewPods(c)
		for _, e := range weaker {
			if told := (Effect{o, e}); !isTold[told] { // of several Pods, once
				effects, isTold[told] = append(effects, told), true
			}
		}
	}
	families := w.families(hasEffect)
	builds := w.reviewBuilds(families)
	for _, f := range families {
		if !hasEffect[f.owner] {
			add(f.owner, append(builds[f], w.reviewFamily(f, now)...))
		}
	}
	slices.SortStableFunc(effects, compare)
	return effects
}

// compare puts refused changes first, then effects with a risk, then those that happen earlier.
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
