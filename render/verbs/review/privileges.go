package review

import (
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/pod-security-admission/policy"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/diff"
)

// privileges are the fields of Pods that give access to their node, and tests for harmless values. They
// match the level baseline of Pod Security, in Pod templates of any kind.
var privileges = []struct {
	field      *regexp.Regexp
	isHarmless func(match []string, value string) bool
}{
	{regexp.MustCompile(`\.(hostNetwork|hostPID|hostIPC|hostProcess|securityContext\.privileged)$`), oneOf("false")},
	{regexp.MustCompile(`\.hostPort$`), oneOf("0")},
	{regexp.MustCompile(`\.hostPath(\.path|\.type)?$`), oneOf()},
	{regexp.MustCompile(`\.procMount$`), oneOf("Default")},
	{regexp.MustCompile(`\.(seccompProfile|appArmorProfile)\.type$`), oneOf("RuntimeDefault", "Localhost")},
	{regexp.MustCompile(`container\.apparmor\.security\.beta\.kubernetes\.io/`), func(_ []string, value string) bool { return value != "unconfined" }},
	{regexp.MustCompile(`\.seLinuxOptions\.(user|role)$`), oneOf("")},
	{regexp.MustCompile(`\.(httpGet|tcpSocket)\.host$`), oneOf("")},
	{regexp.MustCompile(`\.seLinuxOptions\.type$`), func(_ []string, value string) bool {
		return allows("seLinuxOptions", &corev1.PodSecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Type: value}}, nil)
	}},
	{regexp.MustCompile(`\.capabilities\.add(\[\d+\])?$`), func(_ []string, value string) bool {
		return allows("capabilities_baseline", nil, &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{corev1.Capability(value)}}})
	}},
	{regexp.MustCompile(`\.sysctls\[(.*)\]\.(?:name|value)$`), func(match []string, _ string) bool {
		return allows("sysctls", &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: match[1]}}}, nil)
	}},
}

func oneOf(values ...string) func([]string, string) bool {
	return func(_ []string, value string) bool { return slices.Contains(values, value) }
}

// allows reports whether a check of Pod Security allows settings of a Pod and its container.
func allows(id policy.CheckID, ofPod *corev1.PodSecurityContext, ofContainer *corev1.SecurityContext) bool {
	return judge(id, &corev1.PodSpec{SecurityContext: ofPod, Containers: []corev1.Container{{SecurityContext: ofContainer}}}).Allowed
}

func isPrivilege(f diff.FieldChange) bool {
	for _, p := range privileges {
		if match := p.field.FindStringSubmatch(f.Path); match != nil && *f.After != "[]" && !p.isHarmless(match, *f.After) {
			return true
		}
	}
	return false
}

// reviewPrivileges returns the effect of new privileges. It compares all fields of the object, as a value
// may be new in an old place.
func reviewPrivileges(before, after *unstructured.Unstructured) []kind.Effect {
	was := map[string]string{}
	if before != nil {
		for _, f := range (diff.Change{After: before}).Fields() {
			was[f.Path] = *f.After
		}
	}
	e := kind.Effect{Type: PodPrivileged, Risk: "its Pods can reach beyond their containers (Pod Security baseline forbids it)"}
	set := slices.DeleteFunc(diff.Change{After: after}.Fields(), func(f diff.FieldChange) bool {
		old, wasSet := was[f.Path]
		return wasSet && old == *f.After || !isPrivilege(f)
	})
	if len(set) == 0 {
		return nil
	}
	e.What = "sets " + sayFields(set, mostChanged, sayValue)
	for _, f := range set {
		if _, wasSet := was[f.Path]; !wasSet && len(set) <= mostChanged {
			e.Fields = append(e.Fields, f.Path)
		}
	}
	return []kind.Effect{e}
}
