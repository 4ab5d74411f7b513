package guards

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/policy"

	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
)

// privileges guard the fields of Pod templates of any kind that let Pods do more.
var privileges = []guard{
	{fields: regexp.MustCompile(`\.shareProcessNamespace$`), isRisk: except("false"),
		risk: "each container can read and signal the processes of the others"},
	{fields: regexp.MustCompile(`\.(fsGroup|runAsGroup|supplementalGroups\[\d+\])$`), isRisk: oneOf("0"),
		risk: "its Pods can read and change files of the group root"},
	{fields: regexp.MustCompile(`\.(initC|c)ontainers\[[^\]]*\]\.image$`), risk: "it is no image, so no Pod starts",
		isRisk: func(_ []string, value string) bool { return manifest.CheckImage(value) != nil }},
	ofNode(`\.(hostNetwork|hostPID|hostIPC|hostProcess|securityContext\.privileged)$`, except("false")),
	ofNode(`\.hostPort$`, except("0")),
	ofNode(`\.hostPath(\.path|\.type)?$`, except()),
	ofNode(`\.procMount$`, except("Default")),
	ofNode(`\.(seccompProfile|appArmorProfile)\.type$`, except("RuntimeDefault", "Localhost")),
	ofNode(`container\.apparmor\.security\.beta\.kubernetes\.io/`, oneOf("unconfined")),
	ofNode(`\.seLinuxOptions\.(user|role)$`, except("")),
	ofNode(`\.(httpGet|tcpSocket)\.host$`, except("")),
	ofNode(`\.seLinuxOptions\.type$`, func(_ []string, value string) bool {
		options := &corev1.SELinuxOptions{Type: value}
		return isForbidden("seLinuxOptions", &corev1.PodSecurityContext{SELinuxOptions: options}, nil)
	}),
	ofNode(`\.capabilities\.add(\[\d+\])?$`, func(_ []string, value string) bool {
		added := &corev1.Capabilities{Add: []corev1.Capability{corev1.Capability(value)}}
		return value != "[]" && isForbidden("capabilities_baseline", nil, &corev1.SecurityContext{Capabilities: added})
	}),
	ofNode(`\.sysctls\[(.*)\]\.(?:name|value)$`, func(match []string, _ string) bool {
		return isForbidden("sysctls", &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: match[1]}}}, nil)
	}),
}

// ofNode guards fields whose values let Pods reach their node.
func ofNode(fields string, isRisk func(match []string, value string) bool) guard {
	return guard{fields: regexp.MustCompile(fields), isRisk: isRisk, severity: grave,
		risk: "its Pods can reach beyond their containers (Pod Security baseline forbids it)"}
}

// except tells all values but those that are harmless.
func except(harmless ...string) func([]string, string) bool {
	isHarmless := oneOf(harmless...)
	return func(match []string, value string) bool { return !isHarmless(match, value) }
}

// isForbidden reports whether a check of Pod Security forbids settings of a Pod and its container.
func isForbidden(id policy.CheckID, ofPod *corev1.PodSecurityContext, ofContainer *corev1.SecurityContext) bool {
	return !compare.Judge(id,
		&corev1.PodSpec{SecurityContext: ofPod, Containers: []corev1.Container{{SecurityContext: ofContainer}}}).Allowed
}
