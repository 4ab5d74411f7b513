package review

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"k8s.io/utils/ptr"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verdict/podsecurity"
)

// reviewPods returns the effects of changed Pod templates, and the object to report them for: the source
// object of an immutable object such as a Pod, and otherwise the object itself.
func (w *world) reviewPods(c diff.Change) (told manifest.ID, effects []kind.Effect) {
	o, is := c.Object().Unstructured, w.templatesWithTokens(w.after, c.After)
	if len(is) == 0 {
		return told, nil
	}
	was := map[string]podsecurity.Template{}
	for _, t := range w.templatesWithTokens(w.before, c.Before) {
		was[t.Field] = t
	}
	for _, t := range is {
		if len(t.Misfits) > 0 {
			effects = append(effects, kind.Effect{Type: PodUnreadable, What: kind.Say("its Pod template cannot be read because of %s", quoteAll(t.Misfits)), Risk: "this review may miss risks: check every field"})
		}
		if c.Before != nil {
			effects = slices.Concat(effects, reviewPrograms(was[t.Field], t), weaker(renamed(ptr.To(was[t.Field].Spec), &t.Spec), &t.Spec))
		}
	}
	effects = append(effects, w.reviewPrivileges(c)...)
	if w.isCovered(o) {
		effects = slices.DeleteFunc(effects, func(e kind.Effect) bool { return e.Risk == "" })
	}
	if owner, ok := diff.OwnerOf(w.Kinds, o); ok && w.after.owners[owner] != nil && w.Kinds.IsImmutable(o) {
		for i := range effects {
			effects[i].Fields = nil // the source object has other fields
		}
		return owner, effects
	}
	return idOf(o), effects
}

// accountOf returns the ServiceAccount of Pods.
func accountOf(spec *corev1.PodSpec) string {
	return cmp.Or(spec.ServiceAccountName, spec.DeprecatedServiceAccount, "default")
}

const actsAsAccount = "an attacker in a container can act as it at the API server"

// reviewAccount reviews ServiceAccounts. If the ServiceAccount default is removed, the cluster recreates it,
// and mounts its token.
func reviewAccount(w *world, c diff.Change) []kind.Effect {
	account := c.Object().IDInNamespace()
	if !w.before.tokenless[account] || w.after.tokenless[account] || c.After == nil && account.Name != "default" {
		return nil
	}
	return []kind.Effect{{Type: TokenMounted, What: "mounts its token in all its Pods, unless a Pod opts out", Risk: actsAsAccount}}
}

// weaker returns the effects of a less protected spec of Pods.
func weaker(was, is *corev1.PodSpec) (effects []kind.Effect) {
	if lost := lostProtections(was, is); len(lost) > 0 {
		effects = append(effects, kind.Effect{Type: PodWeakened, What: "Pods are less protected: Pod Security restricted forbids " + list(lost), Risk: doesMore})
	}
	for _, field := range containerFields {
		var names []string
		for _, c := range containers(is) {
			wasSet := func(old corev1.Container) bool { return old.Name == c.Name && field.isSet(old) }
			if !field.isSet(c) && slices.ContainsFunc(containers(was), wasSet) {
				names = append(names, c.Name)
			}
		}
		if len(names) > 0 {
			effects = append(effects, kind.Effect{Type: field.effect, What: kind.Say("%s is removed from container %s", field.name, quoteAll(names)), Risk: field.risk})
		}
	}
	account, old := accountOf(is), accountOf(was)
	if account == "default" && old != account {
		effects = append(effects, kind.Effect{Type: AccountDefaulted, What: kind.Say("Pods run as the ServiceAccount default instead of %s", old), Risk: "they share the rights of all Pods in the namespace without a ServiceAccount"})
	}
	for _, audience := range diff.Without(audiences(is), audiences(was)) {
		e := kind.Effect{Type: TokenMounted, What: kind.Say("Pods get the token of the ServiceAccount %s", account), Risk: actsAsAccount}
		if audience != "" {
			e.What, e.Risk = kind.Say("Pods get a token of the ServiceAccount %s for %s", account, audience), "an attacker in a container can act as it there"
		}
		effects = append(effects, e)
	}
	if groups := diff.Without(rootGroups(is), rootGroups(was)); len(groups) > 0 {
		effects = append(effects, kind.Effect{Type: PodWeakened, What: kind.Say("Pods are in group 0 by %s", quoteAll(groups)), Risk: "they can read and change files of the group root"})
	}
	if ptr.Deref(is.ShareProcessNamespace, false) && !ptr.Deref(was.ShareProcessNamespace, false) {
		effects = append(effects, kind.Effect{Type: PodWeakened, What: "Pods set shareProcessNamespace", Risk: "each container can read and signal the processes of the others"})
	}
	if added := addedCapabilities(was, is); len(added) > 0 {
		effects = append(effects, kind.Effect{Type: PodWeakened, What: kind.Say("Pods get the capability %s", list(added)), Risk: doesMore})
	}
	return effects
}

const doesMore = "an attacker in a container can do more than before"

// audiences returns the audiences of the ServiceAccount's tokens in Pods. Empty stands for the API server.
func audiences(spec *corev1.PodSpec) (all []string) {
	if ptr.Deref(spec.AutomountServiceAccountToken, true) {
		all = append(all, "")
	}
	for _, volume := range spec.Volumes {
		for _, source := range ptr.Deref(volume.Projected, corev1.ProjectedVolumeSource{}).Sources {
			if source.ServiceAccountToken != nil {
				all = append(all, source.ServiceAccountToken.Audience)
			}
		}
	}
	return all
}

// rootGroups returns the fields that put Pods in group 0.
func rootGroups(spec *corev1.PodSpec) (fields []string) {
	ofPod := ptr.Deref(spec.SecurityContext, corev1.PodSecurityContext{})
	if ptr.Equal(ofPod.FSGroup, new(int64)) {
		fields = append(fields, "fsGroup")
	}
	if slices.Contains(ofPod.SupplementalGroups, 0) {
		fields = append(fields, "supplementalGroups")
	}
	for _, c := range containers(spec) {
		own := ptr.Deref(c.SecurityContext, corev1.SecurityContext{}).RunAsGroup
		if ptr.Equal(cmp.Or(own, ofPod.RunAsGroup), new(int64)) {
			fields = append(fields, "runAsGroup of "+c.Name)
		}
	}
	return fields
}

// addedCapabilities returns the new capabilities of containers, unless the effect podPrivileged covers them.
func addedCapabilities(was, is *corev1.PodSpec) (added []kind.Sentence) {
	for _, c := range containers(is) {
		if !judge("capabilities_baseline", only(c.Name, is)).Allowed {
			continue
		}
		left := sets.New(capabilities(c).Add...)
		for _, old := range containers(only(c.Name, was)) {
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

// capabilities returns the capabilities that a container adds and drops.
func capabilities(c corev1.Container) corev1.Capabilities {
	return ptr.Deref(ptr.Deref(c.SecurityContext, corev1.SecurityContext{}).Capabilities, corev1.Capabilities{})
}

// containerFields are fields of containers that protect, and the risk of removing them.
var containerFields = []struct {
	effect     string
	name, risk kind.Sentence
	isSet      func(corev1.Container) bool
}{
	{PodWeakened, "readOnlyRootFilesystem", "an attacker in the container can change its programs", func(c corev1.Container) bool {
		return c.SecurityContext != nil && ptr.Deref(c.SecurityContext.ReadOnlyRootFilesystem, false)
	}},
	{ProbeRemoved, "livenessProbe", "a hanging container is not restarted", func(c corev1.Container) bool { return c.LivenessProbe != nil }},
	{ProbeRemoved, "readinessProbe", "requests reach Pods that are not ready, and rollouts do not wait for readiness", func(c corev1.Container) bool { return c.ReadinessProbe != nil }},
	{ProbeRemoved, "startupProbe", "other probes act on the container while it starts", func(c corev1.Container) bool { return c.StartupProbe != nil }},
}

// lostProtections returns new violations of the Pod Security level restricted, unless the effect
// podPrivileged covers them. A new container is weaker if it fails a check that all
// containers passed before.
func lostProtections(was, is *corev1.PodSpec) (lost []kind.Sentence) {
	for _, check := range policy.DefaultChecks() {
		if check.Level != api.LevelRestricted {
			continue
		}
		var names []string
		for _, c := range containers(is) {
			before, after := only(c.Name, was), only(c.Name, is)
			isPrivileged := func(baseline policy.CheckID) bool { return !judge(baseline, after).Allowed }
			if judge(check.ID, before).Allowed && !judge(check.ID, after).Allowed && !slices.ContainsFunc(latestChecks[check.ID].OverrideCheckIDs, isPrivileged) {
				names = append(names, c.Name)
			}
		}
		reason := kind.Say("%s", judge(check.ID, is).ForbiddenReason)
		if len(names) > 0 && len(names) < len(containers(is)) {
			reason += " in container " + quoteAll(names)
		}
		if len(names) > 0 {
			lost = append(lost, reason)
		}
	}
	return lost
}

// judge returns the result of a Pod Security check.
func judge(id policy.CheckID, spec *corev1.PodSpec) policy.CheckResult {
	return latestChecks[id].CheckPod(&metav1.ObjectMeta{}, spec)
}

var latestChecks = func() map[policy.CheckID]policy.VersionedCheck {
	latest := map[policy.CheckID]policy.VersionedCheck{}
	for _, check := range policy.DefaultChecks() {
		latest[check.ID] = check.Versions[len(check.Versions)-1]
	}
	return latest
}()

func containers(spec *corev1.PodSpec) (all []corev1.Container) {
	for _, p := range pod.Programs(spec) {
		all = append(all, p.Container)
	}
	return all
}

// only returns the spec with one container, or the spec itself if it has no such container.
func only(name string, spec *corev1.PodSpec) *corev1.PodSpec {
	pods := *spec
	isOther := func(c corev1.Container) bool { return c.Name != name }
	pods.InitContainers, pods.EphemeralContainers, pods.Containers = nil, nil, slices.DeleteFunc(containers(spec), isOther)
	if len(pods.Containers) == 0 {
		return spec
	}
	return &pods
}
