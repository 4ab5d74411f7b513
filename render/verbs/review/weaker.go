package review

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"k8s.io/utils/ptr"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verdict/podsecurity"
)

// reviewPods returns how the Pods of a change get weaker, and the object to tell that of: where nobody
// can change the object itself, as with a Pod, the one that it was rendered from.
func (w *world) reviewPods(c diff.Change) (told manifest.ID, effects []kind.Effect) {
	o := c.Object().Unstructured
	was, is := w.before.podSpec(c.Before), w.after.podSpec(c.After)
	if was == nil || is == nil {
		return told, nil
	}
	if owner, ok := diff.OwnerOf(w.Kinds, o); ok && w.after.owners[owner] != nil && w.Kinds.IsImmutable(o) {
		return owner, weaker(was, is)
	}
	return idOf(o), weaker(was, is)
}

// podSpec returns the spec of the Pods that an object makes, if any. It says that they do not get the
// token of their ServiceAccount also where only the ServiceAccount says so.
func (s side) podSpec(o *unstructured.Unstructured) *corev1.PodSpec {
	if o == nil {
		return nil
	}
	template, ok := podsecurity.Template(manifest.Object{Unstructured: o})
	if !ok {
		return nil
	}
	account := manifest.ID{Kind: "ServiceAccount", Namespace: namespaceOf(o), Name: accountOf(&template.Spec)}
	if template.Spec.AutomountServiceAccountToken == nil && s.tokenless[account] {
		template.Spec.AutomountServiceAccountToken = ptr.To(false)
	}
	return &template.Spec
}

// accountOf returns the ServiceAccount that Pods run as.
func accountOf(spec *corev1.PodSpec) string {
	return cmp.Or(spec.ServiceAccountName, spec.DeprecatedServiceAccount, "default")
}

const actsAsAccount = "who takes over a container may act as it at the API server"

// reviewAccount returns the rule of ServiceAccounts. Where the ServiceAccount default is removed, the
// cluster makes one that mounts its token.
func reviewAccount(w *world, c diff.Change) []kind.Effect {
	account := c.Object().IDInNamespace()
	if !w.before.tokenless[account] || w.after.tokenless[account] || c.After == nil && account.Name != "default" {
		return nil
	}
	return []kind.Effect{{Type: TokenMounted, What: "mounts its token in all Pods that run as it and do not refuse it", Risk: actsAsAccount}}
}

// weaker returns how Pods of one spec are weaker than those of another before.
func weaker(was, is *corev1.PodSpec) (effects []kind.Effect) {
	if lost := lostProtections(was, is); len(lost) > 0 {
		effects = append(effects, kind.Effect{Type: PodWeakened, What: "Pods are protected less: Pod Security restricted forbids " + list(lost), Risk: doesMore})
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
		effects = append(effects, kind.Effect{Type: AccountDefaulted, What: kind.Say("Pods run as the ServiceAccount default instead of %s", old), Risk: "they share the rights of all Pods of the namespace that name no ServiceAccount"})
	}
	for _, audience := range without(audiences(is), audiences(was)) {
		e := kind.Effect{Type: TokenMounted, What: kind.Say("Pods get the token of the ServiceAccount %s", account), Risk: actsAsAccount}
		if audience != "" {
			e.What, e.Risk = kind.Say("Pods get a token of the ServiceAccount %s for %s", account, audience), "who takes over a container may act as it there"
		}
		effects = append(effects, e)
	}
	if groups := without(rootGroups(is), rootGroups(was)); len(groups) > 0 {
		effects = append(effects, kind.Effect{Type: PodWeakened, What: kind.Say("Pods are in group 0 by %s", quoteAll(groups)), Risk: "they may read and change files of the group root"})
	}
	if added := addedCapabilities(was, is); len(added) > 0 {
		effects = append(effects, kind.Effect{Type: PodWeakened, What: kind.Say("Pods get the capability %s", list(added)), Risk: doesMore})
	}
	return effects
}

const doesMore = "who takes over a container may do more than before"

// audiences returns for whom Pods have a token of their ServiceAccount; empty for the API server.
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

// addedCapabilities returns the capabilities that containers add, and did not have before, but for
// those that podPrivileged says.
func addedCapabilities(was, is *corev1.PodSpec) (added []kind.Sentence) {
	for _, c := range containers(is) {
		if !judge("capabilities_baseline", only(c.Name, is)).Allowed {
			continue
		}
		for _, capability := range capabilities(c).Add {
			had := func(old corev1.Container) bool {
				dropped := func(name corev1.Capability) bool { return name == "ALL" || name == capability }
				return slices.Contains(capabilities(old).Add, capability) || !slices.ContainsFunc(capabilities(old).Drop, dropped)
			}
			if !slices.ContainsFunc(containers(only(c.Name, was)), had) {
				added = append(added, kind.Say("%s in container %s", capability, c.Name))
			}
		}
	}
	return added
}

// capabilities returns the capabilities that a container adds and drops.
func capabilities(c corev1.Container) corev1.Capabilities {
	return ptr.Deref(ptr.Deref(c.SecurityContext, corev1.SecurityContext{}).Capabilities, corev1.Capabilities{})
}

// containerFields are fields of containers, and what is lost with each.
var containerFields = []struct {
	effect     string
	name, risk kind.Sentence
	isSet      func(corev1.Container) bool
}{
	{PodWeakened, "readOnlyRootFilesystem", "who takes over the container may change its programs", func(c corev1.Container) bool {
		return c.SecurityContext != nil && ptr.Deref(c.SecurityContext.ReadOnlyRootFilesystem, false)
	}},
	{ProbeRemoved, "livenessProbe", "nothing restarts the container when it hangs", func(c corev1.Container) bool { return c.LivenessProbe != nil }},
	{ProbeRemoved, "readinessProbe", "requests reach Pods that cannot answer, and a rollout does not wait for Pods that can", func(c corev1.Container) bool { return c.ReadinessProbe != nil }},
	{ProbeRemoved, "startupProbe", "other probes act on the container while it starts", func(c corev1.Container) bool { return c.StartupProbe != nil }},
}

// lostProtections returns what the level restricted of Pod Security forbids of Pods and did not
// forbid before, but for what podPrivileged says. Containers are compared by name; one of a new name
// is weaker if all containers passed before what it does not.
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

// judge returns what a check of Pod Security says of Pods.
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

func containers(spec *corev1.PodSpec) []corev1.Container {
	return slices.Concat(spec.InitContainers, spec.Containers)
}

// only returns Pods with only the container of a name, or the Pods themselves where they have none.
func only(name string, spec *corev1.PodSpec) *corev1.PodSpec {
	pods := *spec
	isOther := func(c corev1.Container) bool { return c.Name != name }
	pods.InitContainers, pods.Containers = nil, slices.DeleteFunc(containers(spec), isOther)
	if len(pods.Containers) == 0 {
		return spec
	}
	return &pods
}
