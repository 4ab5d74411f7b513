package warn

import (
	"cmp"
	"fmt"
	"slices"

	"example.com/gatehouse/render/manifest"
)

// knot is a group of steps that wait for each other, and for nothing else.
type knot []*step

// knots returns the groups of blocked steps that wait for each other alone, by Tarjan's algorithm: a group is found
// once all that it waits for is.
func knots(all []*step) (found []knot) {
	var stack knot
	count := 0
	groups := 0
	var visit func(s *step)
	visit = func(s *step) {
		at := len(stack)
		count++
		s.order = count
		s.lowest = count
		s.waits = knot{s}.links()
		stack = append(stack, s)
		for _, l := range s.waits {
			if l.to != nil && l.to.order == 0 {
				visit(l.to)
			}
			if l.to != nil && l.to.group == 0 {
				s.lowest = min(s.lowest, l.to.lowest)
			}
		}
		if s.lowest < s.order {
			return
		}
		group := slices.Clone(stack[at:])
		stack = stack[:at]
		groups++
		for _, member := range group {
			member.group = groups
		}
		if !slices.ContainsFunc(group, (*step).waitsForOthers) {
			found = append(found, group)
		}
	}
	for _, s := range all {
		if !s.isDone && s.order == 0 {
			visit(s)
		}
	}
	return found
}

func (s *step) waitsForOthers() bool {
	return slices.ContainsFunc(s.waits, func(l link) bool { return l.to != nil && l.to.group != s.group })
}

// waitsFor returns a step and all steps that it waits for, the nearest first, with the first link to each.
func (s *step) waitsFor() (all knot, by map[*step]*link) {
	all = knot{s}
	by = map[*step]*link{nil: {}, s: {}}
	for i := 0; i < len(all); i++ {
		for j, l := range all[i].waits {
			if by[l.to] == nil {
				by[l.to] = &all[i].waits[j]
				all = append(all, l.to)
			}
		}
	}
	return all, by
}

// link is a need of a step, and a step that may meet it.
type link struct {
	need
	of, to *step
}

// links returns the needs of blocked steps, the plainest first.
func (k knot) links() (links []link) {
	for _, s := range k {
		for _, n := range s.needs {
			if n.how == missing {
				links = append(links, link{n, s, nil})
			}
			for i := 0; n.isUnmet() && i < len(n.by); i++ {
				links = append(links, link{n, s, n.by[i]})
			}
		}
	}
	slices.SortStableFunc(links, func(a, b link) int { return int(a.how) - int(b.how) })
	return links
}

// warning returns the warning of a knot: of the plainest need.
func (k knot) warning(in Input) manifest.Problem {
	links := k.links()
	first := links[0]
	if first.how == missing {
		return warning(first.object, "spec.dependsOn", "there is no %s, so Flux never applies it: name one that "+
			"is there, or %s", first.what, in.annotate(first.what))
	}
	circle := first.circle()
	o := first.object
	also := ""
	because := first.of.of.name() + first.reason()
	for _, l := range circle {
		if l.how != inOrder {
			because += ", which" + l.reason()
		}
	}
	var more []string
	for _, l := range links {
		if name := l.object.String(); l.how <= inNamespace && name != o.String() && !slices.Contains(more, name) {
			more = append(more, name)
		}
	}
	if len(more) > 0 {
		also = ", and nor do " + manifest.FirstOf(3, more)
	}
	if first.of.of.isOf("HelmRelease") {
		o = first.of.of.Object
	}
	return warning(o, "", "never comes up in an empty cluster%s: %s: %s", also, because, first.remedy(circle))
}

func (d *Delivery) name() string { return cmp.Or(d.String(), "the sync of this environment") }

// reason names the objects that the delivery of a link waits for.
func (l link) reason() string {
	by := l.to.of.name()
	switch l.how {
	case ofKind, inNamespace:
		return fmt.Sprintf(" applies nothing before there is %s, which %s brings", l.what, by)
	case dependsOn:
		return " depends on " + l.what
	case forHealth:
		return " waits for " + l.what
	default:
		return " " + by + " applies"
	}
}

// circle returns the fewest links from the target of a link back to the link's own step.
func (l link) circle() (links []link) {
	_, by := l.to.waitsFor()
	for at := l.of; at != l.to; at = by[at].of {
		links = append(links, *by[at])
	}
	slices.Reverse(links)
	return links
}

// remedy returns the remedy for the knot of a link and its circle.
func (l link) remedy(circle []link) string {
	first := map[how]*progress{}
	for _, other := range slices.Backward(circle) {
		first[other.how] = other.of.of
		if other.how == asApplied {
			first[asApplied] = other.to.of
		}
	}
	depending := first[dependsOn]
	waiting := first[forHealth]
	applying := first[asApplied]
	by := l.to.of
	wait := ""
	if by.isOf("HelmRelease") && applying != nil && !l.of.of.isOf("HelmRelease") {
		if by = applying; !by.Wait && by.Unstructured != nil {
			wait = ", and set wait: true in " + by.GetName()
		}
	}
	switch {
	case l.how == dependsOn && waiting != nil:
		return "remove this dependsOn, or spec.wait of " + waiting.name()
	case l.how == dependsOn:
		return "remove one dependsOn"
	case l.of.of.isOf("Application"):
		return "annotate it with argocd.argoproj.io/sync-options: SkipDryRunOnMissingResource=true"
	case depending != nil:
		return fmt.Sprintf("let %s depend on %s, and remove that dependsOn of %s", l.of.of.name(), by.name(),
			depending.name())
	case by.Unstructured == nil:
		return fmt.Sprintf("move %s to a Kustomization of its own, and %s to one with dependsOn on that",
			l.to.of.name(), l.object)
	}
	return fmt.Sprintf("move it to a Kustomization of its own with dependsOn: [{name: %s}]%s", by.GetName(), wait)
}
