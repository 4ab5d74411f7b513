// Package compare has a comparison: an environment before and after a change, object by object and field by field.
// It ignores order and formatting. A review, the diffs of a verb, a list of images and the verdicts of two versions of
// Kubernetes are made of it.
package compare

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/references"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/fetched"
	"example.com/gatehouse/render/verdict"
)

// Diff has the comparisons of environments, or the errors that prevent them.
type Diff struct {
	// Base is the commit of the comparison, or empty for the work tree.
	Base string
	// Against is the other environment of the comparison, if any.
	Against      string
	Environments []*Comparison
	// Frame has the changed files since Base that the changes of Environments do not explain.
	Frame []FrameChange
	// LeftOut are the entries that the settings of the repository exclude.
	LeftOut []string
}

// WithImages returns the comparison with new images as their registries have them.
func (d *Diff) WithImages(images map[string]Image) *Diff {
	with := *d
	with.Environments = make([]*Comparison, len(d.Environments))
	for i, e := range d.Environments {
		of := *e
		of.Images = images
		with.Environments[i] = &of
	}
	return &with
}

// Differs reports whether anything changes.
func (d *Diff) Differs() bool {
	return slices.ContainsFunc(d.Frame, func(c FrameChange) bool { return !c.IsOrdinary }) ||
		slices.ContainsFunc(d.Environments, (*Comparison).Differs)
}

// Changes returns the changes of all environments, after the changes of other manifests.
func (d *Diff) Changes() (changes []Change) {
	for _, c := range d.Frame {
		changes = append(changes, c.Changes()...)
	}
	for _, e := range d.Environments {
		changes = append(changes, e.Changes...)
	}
	return changes
}

// Failed reports whether an environment has errors.
func (d *Diff) Failed() bool {
	return slices.ContainsFunc(d.Environments, func(c *Comparison) bool { return manifest.HasErrors(c.Problems) })
}

// Input is an environment before a change, or after it, as its tools apply it.
type Input struct {
	Objects []manifest.Object
	// Deliveries have the objects that tools make of these.
	Deliveries []*render.Delivery
	// Charts are the entries of helmCharts.
	Charts []source.Chart
	// Kubernetes is the declared version; empty for the newest.
	Kubernetes string
	// Untold are the deliveries without known objects.
	Untold []render.Untold
	// Consumers are the parts with known objects; nil if they are not asked for.
	Consumers []render.Consumer
}

// Differences are the objects of an environment before and after a change, compared one by one.
type Differences struct {
	// Kinds are the kinds of source objects.
	Kinds *registry.Kinds
	// Changes is in the order of namespaces, kinds and names.
	Changes []Change
	// Unchanged has the objects that are equal before and after.
	Unchanged []*unstructured.Unstructured
	// Kubernetes is a change of the declared version, if any.
	Kubernetes *KubernetesChange
	// OldCharts and Charts are the entries of helmCharts before and after.
	OldCharts, Charts []source.Chart
	// Unread are values of charts that nothing reads any more.
	Unread []Unread
	// Unproven has the files of charts whose change no row shows as a whole, by the object that delivers.
	Unproven map[manifest.ID][]string
	// IsUnbuilt reports whether the environment does not build, before the change and after it.
	IsUnbuilt bool
	// Moved are the objects that another delivery brings than before.
	Moved []Move

	untold    []render.Untold      // before and after
	consumers [2][]render.Consumer // before, and after
	unknown   sets.Set[manifest.ID]
	was, is   bringers
}

// Facts are what else is known of an environment.
type Facts struct {
	Name string
	// IsLost reports whether the environment is one of the base alone, although its files stay.
	IsLost bool
	// Definitions are changed CustomResourceDefinitions that are not among the changes: other tools install them,
	// or the environment has errors.
	Definitions []Change
	// Verdicts compares the verdicts before and after a change of definitions or of Kubernetes, if any.
	Verdicts *Verdicts
	// Problems has warnings, and errors. NotCompared reports whether the errors prevent a comparison.
	Problems    []manifest.Problem
	NotCompared bool
	// Environment finds the places of objects after the change.
	Environment *render.Environment
	// Checker judges the objects after the change. It is nil for an environment that is gone.
	Checker *verdict.Checker
	// PostBuild has the values of variables in the objects after the change, if Flux substitutes any.
	PostBuild *flux.PostBuild
	// Images are new images as their registries have them, without images that got no answer.
	Images map[string]Image
	// NameReferences are the fields that configurations of kustomize know to name objects after the change.
	NameReferences []references.Configured
}

// Image is an image as its registry has it.
type Image = fetched.Image

// Comparison is an environment before and after a change. It never changes.
type Comparison struct {
	Differences
	Facts
	index
}

// New compares an environment without further facts.
func New(kinds *registry.Kinds, name string, before, after Input) *Comparison {
	return Differ(kinds, before, after).With(Facts{Name: name})
}

// Differ compares the objects of an environment before and after a change.
func Differ(kinds *registry.Kinds, before, after Input) Differences {
	d := Differences{Kinds: kinds, OldCharts: before.Charts, Charts: after.Charts,
		Unproven: map[manifest.ID][]string{}, untold: slices.Concat(before.Untold, after.Untold),
		consumers: [2][]render.Consumer{before.Consumers, after.Consumers},
		unknown:   sets.Set[manifest.ID]{}, was: bringers{}, is: bringers{}}
	for _, part := range d.untold { // such as one of several sources of an Application
		if part.Of.Unstructured != nil && (part.Reason == "" || part.IsUnaffected) {
			d.unknown.Insert(part.By)
		}
	}
	was, is := d.joinDelivered(before, after)
	d.Moved = d.moves(is)
	d.Unread = append(d.Unread, unread(before.Charts, after.Charts)...)
	d.Changes, d.Unchanged = changes(kinds, was, is)
	by := map[manifest.ID]manifest.ID{}
	for _, all := range []bringers{d.was, d.is} {
		for id := range all {
			by[id] = all.last(id)
		}
	}
	apps := newApplications(was, is, by)
	for i, c := range d.Changes {
		by := by[c.Object().IDInNamespace()]
		d.Changes[i].InstalledBy = by
		d.Changes[i].keptBy = apps.keeping(by)
		d.Changes[i].isReplaced = apps.replaces(by)
		d.Changes[i].leftBy = cmp.Or(apps.ignore(&d.Changes[i]), ignoreDrift(&d.Changes[i], apps.is[by]))
	}
	d.heedPolicies(slices.Concat(was, is))
	if len(before.Objects) > 0 && len(after.Objects) > 0 && before.Kubernetes != after.Kubernetes {
		d.Kubernetes = &KubernetesChange{before.Kubernetes, after.Kubernetes}
	}
	return d
}

// Knows reports whether the objects that an object delivers are all known.
func (d *Differences) Knows(id manifest.ID) bool { return !d.unknown.Has(id) }

// Differs reports whether anything changes.
func (both *Comparison) Differs() bool {
	return len(both.Changes)+len(both.Definitions)+len(both.Unproven)+len(both.Moved) > 0 ||
		both.Kubernetes != nil || both.IsLost || !both.Verdicts.IsEqual()
}

// Untold returns a part of the environment that looks at a file, and has no known objects, or nil. One that a change of
// the file does not affect comes last. With isAll, other environments are compared, too, and tell of their own parts.
func (both *Comparison) Untold(file string, isAll bool) (untold *render.Untold) {
	if manifest.HasErrors(both.Problems) {
		return nil
	}
	for i, part := range both.untold {
		isOthers := isAll && part.IsForEntry
		if !isOthers && part.Has(file) && (untold == nil || untold.IsUnaffected) {
			untold = &both.untold[i]
		}
	}
	return untold
}

// Consumes reports whether a known part of the environment consumes a file, before or after the change, and its objects
// are all known, or have rows. It reports true for an environment with errors, and without consumers.
func (both *Comparison) Consumes(file string, isAfter bool) bool {
	consumers := both.consumersOf(isAfter)
	hasRows := func(of manifest.ID) bool {
		return slices.ContainsFunc(both.Changes, func(c Change) bool { return c.InstalledBy == of })
	}
	return consumers == nil || manifest.HasErrors(both.Problems) ||
		slices.ContainsFunc(consumers, func(c render.Consumer) bool {
			return c.Looks.Consumes(file) && (c.IsKnown || hasRows(c.Of))
		})
}

// Reads reports whether a part of the environment consumes a file, before or after the change.
func (both *Comparison) Reads(file string, isAfter bool) bool {
	reads := func(c render.Consumer) bool { return c.Looks.Consumes(file) }
	return slices.ContainsFunc(both.consumersOf(isAfter), reads)
}

func (both *Comparison) consumersOf(isAfter bool) []render.Consumer {
	if isAfter {
		return both.consumers[1]
	}
	return both.consumers[0]
}

// ConsumesUnknown reports whether a part of the environment consumes a file, and not all objects of the part are known.
func (both *Comparison) ConsumesUnknown(file string) bool {
	return slices.ContainsFunc(slices.Concat(both.consumers[0], both.consumers[1]), func(c render.Consumer) bool {
		return !c.IsKnown && c.Looks.Consumes(file)
	})
}

// joinDelivered returns all objects before and after, also of deliveries. A delivery that is there before and
// after is compared if its objects are known in both.
func (d *Differences) joinDelivered(before, after Input) (was, is []manifest.Object) {
	was = slices.Clip(before.Objects)
	is = slices.Clip(after.Objects)
	d.was.add(was, manifest.ID{})
	d.is.add(is, manifest.ID{})
	add := func(to *[]manifest.Object, by bringers, of *render.Delivery, objects []manifest.Object) {
		if len(of.Unknown) > 0 {
			d.unknown.Insert(of.By())
		}
		by.add(objects, of.By())
		by.addRepeated(of.Repeated(), of.By())
		*to = append(*to, objects...)
	}
	old := map[deliveryKey]*render.Delivery{}
	for i, key := range keysOf(before.Deliveries) {
		old[key] = before.Deliveries[i]
	}
	for i, key := range keysOf(after.Deliveries) {
		now := after.Deliveries[i]
		then := old[key]
		delete(old, key)
		objects := now.Brought()
		switch {
		case now.IsMissing():
			d.unknown.Insert(now.By())
		case then == nil:
			add(&is, d.is, now, objects)
			d.Unread = append(d.Unread, unreadOfDelivery(nil, now)...)
		case then.IsMissing() && (now.Chart == nil || now.Chart.Folder == ""):
			add(&was, d.was, now, objects) // unchanged, as far as anybody knows
			add(&is, d.is, now, objects)
			d.unknown.Insert(now.By())
		default:
			installed := then.Upgraded()
			add(&was, d.was, then, installed)
			add(&is, d.is, now, upgraded(now, installed, now.Upgraded()))
			if files := unproven(then, now); len(files) > 0 {
				d.Unproven[now.By()] = append(d.Unproven[now.By()], files...)
			}
			d.Unread = append(d.Unread, unreadOfDelivery(then, now)...)
		}
	}
	for _, then := range old {
		add(&was, d.was, then, then.Brought())
		add(&is, d.is, then, upgraded(then, then.Brought(), nil))
	}
	return was, is
}

// deliveryKey tells the deliveries of an environment apart.
type deliveryKey struct {
	manifest.ID
	nth int // of the Application
}

func keysOf(all []*render.Delivery) []deliveryKey {
	count := map[manifest.ID]int{}
	keys := make([]deliveryKey, len(all))
	for i, d := range all {
		id := d.InCluster.IDInNamespace() // of the Application, and not of the set that makes it
		if d.Chart != nil {
			id = cmp.Or(d.Chart.ID, id)
		}
		keys[i] = deliveryKey{id, count[id]}
		count[id]++
	}
	return keys
}

// upgraded returns the objects of a delivery after an upgrade. Flux treats files of CustomResourceDefinitions of a
// chart by a policy, and deletes none of these objects.
func upgraded(by *render.Delivery, was, is []manifest.Object) []manifest.Object {
	if by.Chart == nil || by.Chart.UpgradeCRDs == "" {
		return is
	}
	policy := by.Chart.UpgradeCRDs
	kept := slices.DeleteFunc(slices.Clone(was), func(o manifest.Object) bool {
		return !release.IsCRDFile(o) || policy == "CreateReplace" && hasObject(is, o.ID())
	})
	return append(kept, slices.DeleteFunc(slices.Clone(is), func(o manifest.Object) bool {
		return release.IsCRDFile(o) && (policy == "Skip" || hasObject(kept, o.ID()))
	})...)
}

// unproven returns the changed files of a chart whose change no row shows as a whole. Among these are definitions that
// Flux applies in an installation only.
func unproven(was, is *render.Delivery) (files []string) {
	if was.Chart == nil || is.Chart == nil {
		return nil
	}
	files = is.Chart.Settings.Unproven(was.Chart.Settings)
	if is.Chart.UpgradeCRDs != "Skip" && is.Chart.UpgradeCRDs != "Create" {
		return files
	}
	for _, o := range is.Brought() {
		isThere := slices.ContainsFunc(was.Brought(), func(other manifest.Object) bool {
			return other.ID() == o.ID() && Equal(other.Unstructured, o.Unstructured)
		})
		if release.IsCRDFile(o) && !isThere {
			files = append(files, o.Origin)
		}
	}
	return files
}

func hasObject(objects []manifest.Object, id manifest.ID) bool {
	return slices.ContainsFunc(objects, func(o manifest.Object) bool { return o.ID() == id })
}
