package pods

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/policy"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/world"
)

// privileges are the fields of Pod templates of any kind that let Pods do more, with tests for harmless values and the
// risk; without one it is access to their node, as in the level baseline of Pod Security.
var privileges = []struct {
	field      *regexp.Regexp
	isHarmless func(match []string, value string) bool
	risk       kind.Sentence
}{
	{regexp.MustCompile(`\.shareProcessNamespace$`), oneOf("false"), "each container can read and signal the processes of the others"},
	{regexp.MustCompile(`\.(fsGroup|runAsGroup|supplementalGroups\[\d+\])$`), func(_ []string, value string) bool { return value != "0" }, "its Pods can read and change files of the group root"},
	{regexp.MustCompile(`\.(hostNetwork|hostPID|hostIPC|hostProcess|securityContext\.privileged)$`), oneOf("false"), ""},
	{regexp.MustCompile(`\.hostPort$`), oneOf("0"), ""},
	{regexp.MustCompile(`\.hostPath(\.path|\.type)?$`), oneOf(), ""},
	{regexp.MustCompile(`\.procMount$`), oneOf("Default"), ""},
	{regexp.MustCompile(`\.(seccompProfile|appArmorProfile)\.type$`), oneOf("RuntimeDefault", "Localhost"), ""},
	{regexp.MustCompile(`container\.apparmor\.security\.beta\.kubernetes\.io/`), func(_ []string, value string) bool { return value != "unconfined" }, ""},
	{regexp.MustCompile(`\.seLinuxOptions\.(user|role)$`), oneOf(""), ""},
	{regexp.MustCompile(`\.(httpGet|tcpSocket)\.host$`), oneOf(""), ""},
	{regexp.MustCompile(`\.seLinuxOptions\.type$`), func(_ []string, value string) bool {
		return allows("seLinuxOptions", &corev1.PodSecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Type: value}}, nil)
	}, ""},
	{regexp.MustCompile(`\.capabilities\.add(\[\d+\])?$`), func(_ []string, value string) bool {
		return allows("capabilities_baseline", nil, &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{corev1.Capability(value)}}})
	}, ""},
	{regexp.MustCompile(`\.sysctls\[(.*)\]\.(?:name|value)$`), func(match []string, _ string) bool {
		return allows("sysctls", &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: match[1]}}}, nil)
	}, ""},
}

func oneOf(values ...string) func([]string, string) bool {
	return func(_ []string, value string) bool { return slices.Contains(values, value) }
}

// allows reports whether a check of Pod Security allows settings of a Pod and its container.
func allows(id policy.CheckID, ofPod *corev1.PodSecurityContext, ofContainer *corev1.SecurityContext) bool {
	return judge(id, &corev1.PodSpec{SecurityContext: ofPod, Containers: []corev1.Container{{SecurityContext: ofContainer}}}).Allowed
}

// privilegeOf returns the risk of a field, if it is a privilege.
func privilegeOf(f diff.FieldChange) (risk kind.Sentence, ok bool) {
	if f.After == nil || *f.After == "[]" {
		return "", false
	}
	for _, p := range privileges {
		if match := p.field.FindStringSubmatch(f.Path); match != nil && !p.isHarmless(match, *f.After) {
			return cmp.Or(p.risk, "its Pods can reach beyond their containers (Pod Security baseline forbids it)"), true
		}
	}
	return "", false
}

// isBranch reports whether a change is of a whole branch, which may have privileges.
func isBranch(f diff.FieldChange) bool {
	return f.After != nil && len(*f.After) > len("{}") && (strings.HasPrefix(*f.After, "{") || strings.HasPrefix(*f.After, "["))
}

// reviewPrivileges returns the effects of new privileges, by risk. If a whole branch changes, such as a variable in
// place of a list, it compares the fields of both objects.
func reviewPrivileges(w *world.World, c diff.Change) (effects []kind.Effect) {
	set, was := w.FieldsOf(c), map[string]string{}
	if slices.ContainsFunc(set, isBranch) {
		for _, f := range (diff.Change{After: c.Before}).Fields() {
			was[f.Path] = *f.After
		}
		set = diff.Change{After: c.After}.Fields()
	}
	byRisk := map[kind.Sentence][]diff.FieldChange{}
	for _, f := range set {
		if risk, ok := privilegeOf(f); ok && was[f.Path] != *f.After {
			byRisk[risk] = append(byRisk[risk], f)
		}
	}
	for _, risk := range slices.Sorted(maps.Keys(byRisk)) {
		effects = append(effects, kind.Effect{Type: effect.PodPrivileged, What: "sets " + effect.SayFields(byRisk[risk], effect.MostChanged, effect.SayValue), Risk: risk})
	}
	return effects
}
