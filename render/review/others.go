package review

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	kindat "example.com/gatehouse/kind/at"
	kindmemcached "example.com/gatehouse/kind/memcached"
	"example.com/gatehouse/render/diff"
)

// hasOwnRules says whether there are effects for a kind alone: runs and caches.
func hasOwnRules(k *kind.Kind) bool {
	return k.GVK == kindat.Kind.GVK || k.GVK == kindmemcached.Kind.GVK
}

// isCovered says whether the effect of what an object was rendered from says what becomes of
// the object.
func (w *world) isCovered(o *unstructured.Unstructured) bool {
	kind := w.Kinds.RenderedFrom(o)
	if kind == nil || hasOwnRules(kind) {
		return kind != nil
	}
	owner, _ := ownerOf(w.Kinds, o)
	was, is := w.before.others[owner] != nil, w.after.others[owner] != nil
	switch {
	case was && is:
		return w.Kinds.IsImmutable(o)
	case is:
		return hasPods(o)
	}
	return was
}

// others are the objects of all other kinds that people write which come, go, or are rendered
// to something else. Of what is rendered they count what no other effect is of.
func (w *world) others(effects []Effect) (others []Effect) {
	isSaid := map[Object]bool{}
	for _, e := range effects {
		isSaid[e.Object] = true
	}
	counts := map[Object]tally{}
	for _, c := range w.Changes {
		o := c.Object().Unstructured
		owner, ok := ownerOf(w.Kinds, o)
		if !ok || owner == idOf(o) || isSaid[idOf(o)] && !w.isCovered(o) {
			continue
		}
		if counts[owner] == nil {
			counts[owner] = tally{}
		}
		counts[owner].add(c)
	}
	owners := maps.Clone(w.before.others)
	maps.Copy(owners, w.after.others)
	for _, owner := range slices.SortedFunc(maps.Keys(owners), compareObjects) {
		if e := otherEffect(w.before.others[owner], w.after.others[owner], counts[owner]); e.Type != "" && !isSaid[owner] {
			e.Object = owner
			others = append(others, e)
		}
	}
	return others
}

// otherEffect is what becomes of an object, by what becomes of what is rendered from it.
func otherEffect(before, after *unstructured.Unstructured, t tally) Effect {
	stops := Sentence("what runs in them is stopped")
	if t[diff.Replaced].kinds["Job"] > 0 {
		stops = "it runs again, and what still runs of it is stopped"
	}
	switch {
	case before == nil && len(t[diff.Added].kinds) > 0:
		return Effect{Type: ObjectAdded, What: say("is added, with %s", t[diff.Added].list())}
	case before == nil:
		return Effect{Type: ObjectAdded, What: "is added"}
	case after == nil:
		e := Effect{Type: ObjectRemoved, What: "is removed"}
		if removed := t[diff.Removed]; len(removed.kinds) > 0 {
			e.What = say("is removed, with %s", removed.list())
			e.Risk = removed.risk("what runs of it is stopped")
		}
		return e
	}
	var said []string
	for _, action := range []struct {
		is   diff.Action
		verb string
	}{{diff.Replaced, "replaces"}, {diff.Removed, "removes"}, {diff.Added, "adds"}, {diff.Changed, "changes"}} {
		if changed := t[action.is]; len(changed.kinds) > 0 {
			said = append(said, action.verb+" "+string(changed.list()))
		}
	}
	if len(said) == 0 {
		return Effect{}
	}
	e := Effect{Type: ObjectChanged, What: Sentence(strings.Join(said, ", "))}
	if e.Risk = t[diff.Replaced].risk(stops); e.Risk == "" {
		e.Risk = t[diff.Removed].risk(stops)
	}
	return e
}

// tally is how many objects are added, changed, replaced and removed.
type tally map[diff.Action]counted

// counted are objects by kind.
type counted struct {
	kinds map[string]int64
	runs  bool // whether Pods are of them
}

func (t tally) add(c diff.Change) {
	o := c.Object().Unstructured
	n := t[c.Action()]
	if n.kinds == nil {
		n.kinds = map[string]int64{}
	}
	n.kinds[o.GetKind()]++
	n.runs = n.runs || hasPods(o) && o.GetKind() != "CronJob"
	t[c.Action()] = n
}

// list says how many there are: "3 Pods and 1 Service".
func (c counted) list() Sentence {
	parts := slices.Sorted(maps.Keys(c.kinds))
	for i, kind := range parts {
		parts[i] = string(count(c.kinds[kind], visible(kind)))
	}
	last := len(parts) - 1
	if last == 0 {
		return Sentence(parts[0])
	}
	return Sentence(strings.Join(parts[:last], ", ") + " and " + parts[last])
}

// risk is what is lost where Pods are stopped.
func (c counted) risk(loss Sentence) Sentence {
	if c.runs {
		return loss
	}
	return ""
}
