// Package review describes the effects of a change on clusters: Pods that start or restart, lost data,
// granted rights.
//
// Its rooms find the effects: rights, reach, pods and guards are functions from a comparison to effects. The
// table in rules.go maps kinds to rules, and complete.go tells all other changed fields. TestReviewTellsEveryField
// proves that nothing is left out.
package review

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/review/definitions"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/render/review/pods"
	"example.com/gatehouse/render/review/reach"
	"example.com/gatehouse/render/review/rights"
)

// Review lists the effects of a change.
type Review struct {
	// Frame has the changed files that the environments do not explain.
	Frame        []FrameReview       `json:"frame,omitempty"`
	Environments []EnvironmentReview `json:"environments"`
	// Unbuilt are the environments that do not build, neither before the change nor after it.
	Unbuilt []string `json:"unbuilt,omitempty"`
}

// FrameReview is a changed file with the effects on its objects, if a tool applies it.
type FrameReview struct {
	compare.FrameChange
	Effects []effect.Effect `json:"effects,omitempty"`
	Changes []Change        `json:"changes,omitempty"`
}

// around reviews changed files that the environments do not explain. Of their objects it tells the changed fields:
// nothing else is known of their cluster.
func around(frame []compare.FrameChange) []FrameReview {
	reviewed := make([]FrameReview, len(frame))
	for i, c := range frame {
		reviewed[i].FrameChange = c
		if c.Objects != nil {
			reviewed[i].Effects = complete(c.Objects, nil)
			reviewed[i].Changes = changesOf(c.Objects)
			rank(c.Objects, reviewed[i].Effects)
		}
	}
	return reviewed
}

// EnvironmentReview lists the effects of a change on the cluster of an environment.
type EnvironmentReview struct {
	Name string `json:"name"`
	// IsNew reports whether all objects of the environment are added, IsGone whether all are removed.
	IsNew  bool `json:"isNew,omitempty"`
	IsGone bool `json:"isGone,omitempty"`
	// Kubernetes is the change of the declared version, if any.
	Kubernetes *compare.KubernetesChange `json:"kubernetes,omitempty"`
	Counts     Counts                    `json:"counts"`
	// Effects begins with risks, the gravest first, and ends with known effects, each part in the order of time.
	Effects []effect.Effect `json:"effects"`
	// Changes are changed objects, and then changed definitions that other tools install.
	Changes []Change `json:"changes"`
	Routine Routine  `json:"routine"`

	definitions int              // changed ones that other tools install
	images      sets.Set[string] // new ones
	reserved    []string         // changed objects that are never routine
}

// Counts is the number of objects of each action.
type Counts map[compare.Action]int

// Change is the change of an object in git.
type Change struct {
	Action compare.Action `json:"action"`
	Object manifest.ID    `json:"object"`
	// BeforeFile and AfterFile are relative to the root, with slashes. They may be empty.
	BeforeFile string `json:"beforeFile,omitempty"`
	AfterFile  string `json:"afterFile,omitempty"`
	// InstalledBy is the HelmRelease or Application of an object that is in no rendered file.
	InstalledBy manifest.ID `json:"installedBy,omitzero"`
	// Diff is a unified diff with masked values of Secrets.
	Diff string `json:"diff"`

	owner manifest.ID // the source object of a rendered object
}

// New reviews the changes of environments, and around them. Schedules before now are past.
func New(d *compare.Diff, now time.Time) *Review {
	rest, moves := reviewed(d.Environments)
	r := &Review{Frame: around(d.Frame), Environments: make([]EnvironmentReview, len(rest))}
	for _, e := range d.Environments {
		if e.IsUnbuilt {
			r.Unbuilt = append(r.Unbuilt, e.Name)
		}
	}
	parallel.For(len(rest), func(i int) {
		found := &r.Environments[i]
		if m, isMoved := moves[rest[i].Name]; isMoved {
			*found = m.review(now)
		} else {
			*found = reviewEnvironment(rest[i], now)
		}
		found.Routine = found.facts().routine()
	})
	return r
}

func reviewEnvironment(both *compare.Comparison, now time.Time) EnvironmentReview {
	counts := Counts{compare.Added: 0, compare.Changed: 0, compare.Replaced: 0, compare.Removed: 0}
	reviewed := EnvironmentReview{Name: both.Name, Kubernetes: both.Kubernetes, Counts: counts,
		Effects: effects(both, now), Changes: changesOf(both), definitions: len(both.Definitions),
		images: imagesOf(both), reserved: reservedIn(both)}
	for _, c := range both.Changes {
		counts[c.Action()]++
	}
	isWhole := len(both.Changes) > 0 && len(both.Unchanged) == 0
	reviewed.IsNew = isWhole && counts[compare.Added] == len(both.Changes)
	reviewed.IsGone = isWhole && counts[compare.Removed] == len(both.Changes)
	return reviewed
}

// changesOf returns the changes of objects and definitions.
func changesOf(e *compare.Comparison) []Change {
	all := slices.Concat(e.Changes, e.Definitions)
	changes := make([]Change, 0, len(all))
	for _, c := range all {
		owner, _ := compare.OwnerOf(e.Kinds, c.Object().Unstructured)
		changes = append(changes, Change{c.Action(), c.Object().ID(), c.BeforeFile, c.AfterFile, c.InstalledBy,
			c.Unified(), owner})
	}
	return changes
}

// effects returns the effects of the changes of an environment, in the order of a review.
func effects(both *compare.Comparison, now time.Time) []effect.Effect {
	effects := append([]effect.Effect{}, slices.Concat(complete(both, effectsOfRules(both, now)),
		definitions.Verdicts(both.Verdicts), reviewUnread(both.Unread), reviewLost(both))...)
	addSteps(both, effects)
	rank(both, effects)
	slices.SortStableFunc(effects, effect.Compare)
	return effects
}

// effectsOfRules returns the effects that rules and the reviews of kinds find.
func effectsOfRules(both *compare.Comparison, now time.Time) (effects []effect.Effect) {
	hasEffect := map[manifest.ID]bool{}
	add := func(o manifest.ID, more []kind.Effect) {
		effects = append(effects, effect.Of(o, more...)...)
		hasEffect[o] = hasEffect[o] || len(more) > 0
	}
	for _, c := range slices.Concat(both.Changes, both.Definitions) {
		add(c.Object().ID(), review(both, c))
		effects = append(append(effects, reviewValues(both, c)...), pods.Review(both, c)...)
	}
	effects = slices.Concat(effect.Once(effects), reach.Review(both), rights.Review(both), reviewReferences(both),
		reviewMutations(both), reviewUnproven(both), reviewMoved(both))
	families := families(both)
	builds := reviewBuilds(both, families)
	for _, f := range families {
		if hasEffect[f.owner] {
			continue
		}
		for _, e := range effect.Of(f.owner, append(builds[f], reviewFamily(both, f, now)...)...) {
			if f.before != nil && f.after != nil && !e.IsUnknown {
				e.Rank = effect.IsKnown // to its kind
			}
			effects = append(effects, e)
		}
	}
	return effects
}
