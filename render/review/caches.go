package review

import (
	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
)

// caches are the Memcacheds that come, go, or lose what they hold.
func (w *world) caches() (effects []Effect) {
	for _, cache := range w.changedOwners(cachev1alpha1.KindMemcached) {
		before, after := w.before.caches[cache], w.after.caches[cache]
		var e Effect
		switch {
		case before == nil && after == nil:
			continue
		case after == nil:
			e = Effect{Type: CacheRemoved, What: "is removed", Risk: "its content is lost, and clients find no cache"}
		case before == nil:
			e = Effect{Type: CacheAdded, What: say("starts with %s", w.after.pods(after))}
		case w.refused[idOf(after)]:
			continue
		default:
			e = cacheEffect(w.newRollout(before, after))
		}
		if e.Type != "" {
			e.Object = cache
			effects = append(effects, e)
		}
	}
	return effects
}

// cacheEffect is what a cache loses when its Deployment changes: clients find a key by how
// many Pods there are, and a Pod that is replaced starts with nothing.
func cacheEffect(r rollout) Effect {
	const isReplaced = "every Pod is replaced, and starts empty: the cache loses its content"
	size := say("%d → %s", r.from, count(r.to, "Pod"))
	switch {
	case r.to == 0 && r.from > 0:
		return Effect{Type: CacheResized, What: size, Risk: "its content is lost, and clients find no cache"}
	case r.to < r.from && r.isReplaced:
		return Effect{Type: CacheReplaced, What: say("%s, %s", size, r.what), Risk: isReplaced}
	case r.to < r.from:
		return Effect{Type: CacheResized, What: size, Risk: say("keys move to other Pods, and the content of %s is lost", count(r.from-r.to, "Pod"))}
	case r.isReplaced && r.to != r.from:
		return Effect{Type: CacheReplaced, What: say("%s, %s", size, r.what), Risk: isReplaced}
	case r.isReplaced:
		return Effect{Type: CacheReplaced, What: r.what, Risk: isReplaced}
	case r.to > r.from:
		return Effect{Type: CacheResized, What: size}
	}
	return Effect{}
}
