// Package review describes the effects of a change on clusters: Pods that start or restart, lost data,
// granted rights.
//
// Its rooms find the effects: rights, reach, pods and guards are functions from a world, an environment before
// and after, to effects. The table in rules.go maps kinds to rules, and complete.go tells all other changed
// fields. TestReviewTellsEveryField proves that nothing is left out.
package review

import (
	"slices"
	"time"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/definitions"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/pods"
	"example.com/gatehouse/render/verbs/review/reach"
	"example.com/gatehouse/render/verbs/review/rights"
	"example.com/gatehouse/render/verbs/review/world"
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
	Effects []effect.Effect `json:"effects"`
	// Changes are changed objects, and then changed definitions that other tools install.
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
	// InstalledBy is the HelmRelease or Application of an object that is in no rendered file.
	InstalledBy *manifest.ID `json:"installedBy,omitempty"`
	// Diff is a unified diff with masked values of Secrets.
	Diff string `json:"diff"`

	owner manifest.ID // the source object of a rendered object
}

// New reviews the changes of environments. Schedules before now are past.
func New(environments []diff.EnvironmentDiff, now time.Time) *Review {
	r := &Review{Environments: []EnvironmentReview{}}
	for _, e := range environments {
		if e.Differs() || len(e.Unread) > 0 {
			r.Environments = append(r.Environments, reviewEnvironment(e, now))
		}
	}
	return r
}

func reviewEnvironment(e diff.EnvironmentDiff, now time.Time) EnvironmentReview {
	counts := Counts{diff.Added: 0, diff.Changed: 0, diff.Replaced: 0, diff.Removed: 0}
	reviewed := EnvironmentReview{Name: e.Name, Kubernetes: e.Kubernetes, Counts: counts, Effects: effects(e, now), Changes: []Change{}}
	for i, c := range slices.Concat(e.Changes, e.Definitions) {
		if i < len(e.Changes) {
			counts[c.Action()]++
		}
		owner, _ := diff.OwnerOf(e.Kinds, c.Object().Unstructured)
		by := &c.InstalledBy
		if *by == (manifest.ID{}) {
			by = nil
		}
		reviewed.Changes = append(reviewed.Changes, Change{c.Action(), c.Object().ID(), c.BeforeFile, c.AfterFile, by, c.Unified(), owner})
	}
	reviewed.IsNew = len(e.Changes) > 0 && len(e.Unchanged) == 0 && counts[diff.Added] == len(e.Changes)
	reviewed.IsGone = len(e.Changes) > 0 && len(e.Unchanged) == 0 && counts[diff.Removed] == len(e.Changes)
	return reviewed
}

// effects returns the effects of the changes of an environment, in the order of a review.
func effects(e diff.EnvironmentDiff, now time.Time) []effect.Effect {
	w := world.New(e)
	effects := append([]effect.Effect{}, slices.Concat(complete(w, effectsOfRules(w, now)), definitions.Verdicts(w.Verdicts), reviewUnread(e.Unread))...)
	slices.SortStableFunc(effects, effect.Compare)
	return effects
}

// effectsOfRules returns the effects that rules and the reviews of kinds find.
func effectsOfRules(w *world.World, now time.Time) (effects []effect.Effect) {
	hasEffect := map[manifest.ID]bool{}
	add := func(o manifest.ID, more []kind.Effect) {
		effects, hasEffect[o] = append(effects, effect.Of(o, more...)...), hasEffect[o] || len(more) > 0
	}
	for _, c := range slices.Concat(w.Changes, w.Definitions) {
		add(c.Object().ID(), review(w, c))
		effects = append(append(effects, reviewValues(w, c)...), pods.Review(w, c)...)
	}
	effects = append(append(append(effect.Once(effects), reach.Review(w)...), rights.Review(w)...), reviewMutations(w)...)
	families := families(w)
	builds := reviewBuilds(w, families)
	for _, f := range families {
		if !hasEffect[f.owner] {
			add(f.owner, append(builds[f], reviewFamily(w, f, now)...))
		}
	}
	return effects
}
