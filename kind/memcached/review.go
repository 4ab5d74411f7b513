package memcached

import (
	"slices"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	"example.com/gatehouse/kind"
)

// Types of effects of Memcacheds.
const (
	CacheAdded    = "cacheAdded"
	CacheRemoved  = "cacheRemoved"
	CacheResized  = "cacheResized"
	CacheReplaced = "cacheReplaced"
)

// review returns the effect of a change on the content of a cache. It compares Deployments, as an
// override may differ from the spec.
func review(c kind.Change[cachev1alpha1.Memcached]) []kind.Effect {
	i := slices.IndexFunc(c.Children, func(child kind.ChildChange) bool {
		return child.Before != nil && child.Before.GetKind() == "Deployment" ||
			child.After != nil && child.After.GetKind() == "Deployment"
	})
	if i < 0 {
		return nil
	}
	deployment := c.Children[i]
	var told []string
	if c.After != nil && isSize(c.After, deployment.Pods.After) &&
		(c.Before == nil || isSize(c.Before, deployment.Pods.Before)) {
		told = []string{"spec.size"}
	}
	switch {
	case deployment.After == nil:
		return []kind.Effect{{Type: CacheRemoved, What: "is removed", Risk: isLost}}
	case deployment.Before == nil:
		return []kind.Effect{{Type: CacheAdded,
			What: kind.Say("starts with %s", kind.Count(deployment.Pods.After, "Pod")), Fields: told}}
	}
	effects := reviewRollout(deployment.Pods)
	if len(effects) > 0 && deployment.Pods.Before != deployment.Pods.After {
		effects[0].Fields = told
	}
	return effects
}

// isSize reports whether a cache asks for a number of Pods, and no override changes that.
func isSize(m *cachev1alpha1.Memcached, pods int64) bool { return int64(m.Spec.Size) == pods }

const (
	isLost     = "its content is lost, and clients find no cache"
	isReplaced = "every Pod is replaced, and starts empty: the cache loses its content"
)

// reviewRollout returns the effect of a rollout. Clients choose the Pod of a key by the number of Pods,
// and a new Pod starts empty.
func reviewRollout(r kind.Rollout) []kind.Effect {
	size := kind.Say("%d → %s", r.Before, kind.Count(r.After, "Pod"))
	switch {
	case r.After == 0 && r.Before > 0:
		return []kind.Effect{{Type: CacheResized, What: size, Risk: isLost}}
	case r.Replaced && r.After != r.Before:
		return []kind.Effect{{Type: CacheReplaced, What: kind.Say("%s, %s", size, r.Difference), Risk: isReplaced}}
	case r.Replaced:
		return []kind.Effect{{Type: CacheReplaced, What: r.Difference, Risk: isReplaced}}
	case r.After < r.Before:
		return []kind.Effect{{Type: CacheResized, What: size,
			Risk: kind.Say("keys move to other Pods, and the content of %s is lost",
				kind.Count(r.Before-r.After, "Pod"))}}
	case r.After > r.Before:
		return []kind.Effect{{Type: CacheResized, What: size}}
	}
	return nil
}
