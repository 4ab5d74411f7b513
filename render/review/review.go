// Package review says what a change does to clusters, for the people who review it: which
// Pods run and when, which caches lose what they hold, who may do more than before.
package review

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"example.com/gatehouse/render/diff"
	"example.com/gatehouse/render/object"
)

// Review is what a change does.
type Review struct {
	Environments []Environment `json:"environments"`
}

// Environment is what a change does to the cluster of an environment.
type Environment struct {
	Name string `json:"name"`
	// IsNew says whether nothing of it was there before, IsGone whether nothing is left.
	IsNew  bool   `json:"isNew,omitempty"`
	IsGone bool   `json:"isGone,omitempty"`
	Counts Counts `json:"counts"`
	// Effects are the ones with a risk first, then in the order of time.
	Effects []Effect `json:"effects"`
	Changes []Change `json:"changes"`
}

// Counts are how many objects a change adds, changes, replaces and removes.
type Counts struct {
	Added    int `json:"added"`
	Changed  int `json:"changed"`
	Replaced int `json:"replaced"`
	Removed  int `json:"removed"`
	// Stray are the objects of a cluster that git does not have, and that stay.
	Stray int `json:"stray,omitempty"`
}

// Object is an object, or what it was rendered from.
type Object struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

func (o Object) String() string { return object.ID(o).String() }

// Change is what happens to an object in git.
type Change struct {
	Action diff.Action `json:"action"`
	Object Object      `json:"object"`
	// BeforeFile and AfterFile are relative to the root, with slashes; empty where there is
	// none.
	BeforeFile string `json:"beforeFile,omitempty"`
	AfterFile  string `json:"afterFile,omitempty"`
	// Diff is unified. It has no values of Secrets.
	Diff string `json:"diff"`

	owner Object // what it was rendered from
}

// Effect is something that happens in a cluster.
type Effect struct {
	Type   Type     `json:"type"`
	Object Object   `json:"object"`
	What   Sentence `json:"what"`
	// Risk says why someone should look twice; empty where there is no reason to.
	Risk Sentence `json:"risk,omitempty"`
	// Time is when it happens, if not as soon as the change is synced.
	Time *time.Time `json:"time,omitempty"`
}

// Type is what happens, for programs.
type Type string

// The types of effects.
const (
	// UpdateRefused is a change of an object that the API server refuses.
	UpdateRefused Type = "updateRefused"

	RunPlanned   Type = "runPlanned"
	RunAtOnce    Type = "runAtOnce"
	RunAgain     Type = "runAgain"
	RunCanceled  Type = "runCanceled"
	RunMissed    Type = "runMissed"
	RunDone      Type = "runDone"
	RunSuspended Type = "runSuspended"

	DeadlineChanged Type = "deadlineChanged"

	CacheAdded    Type = "cacheAdded"
	CacheRemoved  Type = "cacheRemoved"
	CacheResized  Type = "cacheResized"
	CacheReplaced Type = "cacheReplaced"

	WorkloadAdded   Type = "workloadAdded"
	WorkloadRolled  Type = "workloadRolled"
	WorkloadScaled  Type = "workloadScaled"
	WorkloadRemoved Type = "workloadRemoved"

	AutoscalingChanged Type = "autoscalingChanged"

	RouteOpened  Type = "routeOpened"
	RouteChanged Type = "routeChanged"
	RouteRemoved Type = "routeRemoved"

	ResourcesRequested Type = "resourcesRequested"

	ObjectAdded   Type = "objectAdded"
	ObjectChanged Type = "objectChanged"
	ObjectRemoved Type = "objectRemoved"

	NamespaceRemoved  Type = "namespaceRemoved"
	DefinitionRemoved Type = "definitionRemoved"
	StorageRemoved    Type = "storageRemoved"
	ObjectKept        Type = "objectKept"

	RightsGranted      Type = "rightsGranted"
	GuardRemoved       Type = "guardRemoved"
	GuardChanged       Type = "guardChanged"
	PodSecurityLowered Type = "podSecurityLowered"
	PodPrivileged      Type = "podPrivileged"
)

// New reviews what changes in environments, at a time by which schedules are past or not.
func New(environments []diff.Environment, now time.Time) *Review {
	r := &Review{Environments: []Environment{}}
	for _, e := range environments {
		if len(e.Changes) > 0 {
			r.Environments = append(r.Environments, newEnvironment(e, now))
		}
	}
	return r
}

func newEnvironment(e diff.Environment, now time.Time) Environment {
	reviewed := Environment{Name: e.Name, Effects: append([]Effect{}, effectsOf(e, now)...)} // a list also where there are none
	for _, c := range e.Changes {
		reviewed.Counts.add(c.Action())
		owner, _ := ownerOf(e.Kinds, c.Object().Unstructured)
		reviewed.Changes = append(reviewed.Changes, Change{
			Action:     c.Action(),
			Object:     Object(c.Object().ID()),
			BeforeFile: c.BeforeFile,
			AfterFile:  c.AfterFile,
			Diff:       c.Unified(),
			owner:      owner,
		})
	}
	reviewed.IsNew = len(e.Unchanged) == 0 && reviewed.Counts.Added == len(e.Changes)
	reviewed.IsGone = len(e.Unchanged) == 0 && reviewed.Counts.Removed == len(e.Changes)
	return reviewed
}

func (c *Counts) add(action diff.Action) {
	switch action {
	case diff.Added:
		c.Added++
	case diff.Changed:
		c.Changed++
	case diff.Replaced:
		c.Replaced++
	case diff.Removed:
		c.Removed++
	case diff.Stray:
		c.Stray++
	}
}

// effectsOf are the effects of what changes in an environment, in the order of a review.
func effectsOf(e diff.Environment, now time.Time) []Effect {
	w := newWorld(e)
	effects := slices.Concat(w.refusals(), w.runs(now), w.deadlines(), w.caches(), w.workloads(), w.autoscaling(), w.routes(), w.removals(), w.rights(), w.guards(), w.podSecurity(), w.requests())
	effects = append(effects, w.others(effects)...)
	effects = withoutCovered(w.kept(effects))
	slices.SortStableFunc(effects, compare)
	return effects
}

// compare puts what has a risk first, then what happens earlier.
func compare(a, b Effect) int {
	at := func(e Effect) time.Time {
		if e.Time == nil {
			return time.Time{}
		}
		return *e.Time
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), at(a).Compare(at(b)),
		strings.Compare(a.Object.Namespace, b.Object.Namespace), strings.Compare(a.Object.Name, b.Object.Name), strings.Compare(a.Object.Kind, b.Object.Kind))
}

func rank(e Effect) int {
	switch {
	case e.Type == UpdateRefused:
		return 0
	case e.Risk != "":
		return 1
	case e.Type == ResourcesRequested:
		return 3
	}
	return 2
}
