package pods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"k8s.io/utils/ptr"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/review/effect"
)

// weaker returns the effects of a less protected spec of Pods.
func weaker(was, is *corev1.PodSpec) (effects []kind.Effect) {
	containers := compareContainers(was, is)
	if lost := lostProtections(was, is, containers); len(lost) > 0 {
		effects = append(effects, kind.Effect{Type: effect.PodWeakened,
			What: "Pods are less protected: Pod Security restricted forbids " + effect.List(lost), Risk: doesMore})
	}
	for _, field := range containerFields {
		var names []string
		for _, c := range containers {
			if !c.isNew && !field.isSet(c.Program) && field.isSet(c.was[0]) {
				names = append(names, c.Name)
			}
		}
		if len(names) > 0 {
			effects = append(effects, kind.Effect{Type: field.effect,
				What: kind.Say("%s is removed from container %s", field.name, effect.Quote(names)), Risk: field.risk})
		}
	}
	account := compare.AccountOf(is)
	old := compare.AccountOf(was)
	if account == "default" && old != account {
		effects = append(effects, kind.Effect{Type: effect.AccountDefaulted,
			What: kind.Say("Pods run as the ServiceAccount default instead of %s", old),
			Risk: "they share the rights of all Pods in the namespace without a ServiceAccount"})
	}
	for _, audience := range compare.Without(compare.Audiences(is), compare.Audiences(was)) {
		e := kind.Effect{Type: effect.TokenMounted, What: kind.Say("Pods get the token of the ServiceAccount %s",
			account), Risk: "an attacker in a container can act as it at the API server"}
		if audience != "" {
			e.What = kind.Say("Pods get a token of the ServiceAccount %s for %s", account, audience)
			e.Risk = "an attacker in a container can act as it there"
		}
		effects = append(effects, e)
	}
	if added := addedCapabilities(is, containers); len(added) > 0 {
		effects = append(effects, kind.Effect{Type: effect.PodWeakened,
			What: kind.Say("Pods get the capability %s", effect.List(added)), Risk: doesMore})
	}
	return effects
}

const doesMore = "an attacker in a container can do more than before"

// addedCapabilities returns the new capabilities of containers, unless they are privileges.
func addedCapabilities(is *corev1.PodSpec, containers []compared) (added []kind.Sentence) {
	for _, c := range containers {
		if !judge("capabilities_baseline", is, c.Program).Allowed {
			continue
		}
		left := sets.New(capabilities(c.Program).Add...)
		for _, old := range c.was {
			left.Delete(capabilities(old).Add...)
			if dropped := sets.New(capabilities(old).Drop...); !dropped.Has("ALL") {
				left = left.Intersection(dropped)
			}
		}
		for _, capability := range sets.List(left) {
			added = append(added, kind.Say("%s in container %s", capability, c.Name))
		}
	}
	return added
}

func capabilities(p pod.Program) corev1.Capabilities {
	return ptr.Deref(ptr.Deref(p.SecurityContext, corev1.SecurityContext{}).Capabilities, corev1.Capabilities{})
}

// containerFields are fields of containers that protect, and the risk of removing them.
var containerFields = []struct {
	effect     string
	name, risk kind.Sentence
	isSet      func(pod.Program) bool
}{
	{effect.PodWeakened, "readOnlyRootFilesystem", "an attacker in the container can change its programs",
		func(p pod.Program) bool {
			return p.SecurityContext != nil && ptr.Deref(p.SecurityContext.ReadOnlyRootFilesystem, false)
		}},
	{effect.ProbeRemoved, "livenessProbe", "a hanging container is not restarted", func(p pod.Program) bool {
		return p.LivenessProbe != nil
	}},
	{effect.ProbeRemoved, "readinessProbe",
		"requests reach Pods that are not ready, and rollouts do not wait for readiness", func(p pod.Program) bool {
			return p.ReadinessProbe != nil
		}},
	{effect.ProbeRemoved, "startupProbe", "other probes act on the container while it starts",
		func(p pod.Program) bool { return p.StartupProbe != nil }},
}

// lostProtections returns new violations of the Pod Security level restricted, unless they are privileges.
func lostProtections(was, is *corev1.PodSpec, containers []compared) (lost []kind.Sentence) {
	for _, check := range policy.DefaultChecks() {
		if check.Level != api.LevelRestricted {
			continue
		}
		var names []string
		for _, c := range containers {
			isPrivileged := func(baseline policy.CheckID) bool { return !judge(baseline, is, c.Program).Allowed }
			if judge(check.ID, was, c.was...).Allowed && !judge(check.ID, is, c.Program).Allowed &&
				!slices.ContainsFunc(compare.Checks[check.ID].OverrideCheckIDs, isPrivileged) {
				names = append(names, c.Name)
			}
		}
		reason := kind.Say("%s", compare.Judge(check.ID, is).ForbiddenReason)
		if 0 < len(names) && len(names) < len(containers) {
			reason += " in container " + effect.Quote(names)
		}
		if len(names) > 0 {
			lost = append(lost, reason)
		}
	}
	return lost
}

// judge returns the result of a Pod Security check of Pods with only these containers.
func judge(id policy.CheckID, spec *corev1.PodSpec, containers ...pod.Program) policy.CheckResult {
	pods := *spec
	pods.InitContainers = nil
	pods.EphemeralContainers = nil
	pods.Containers = nil
	for _, c := range containers {
		pods.Containers = append(pods.Containers, c.Container)
	}
	return compare.Judge(id, &pods)
}
