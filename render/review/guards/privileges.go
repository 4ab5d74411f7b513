package guards

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/policy"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
)

const reachesNode kind.Sentence = "its Pods can reach beyond their containers (Pod Security baseline forbids it)"

// privileges guard the fields of Pod templates of any kind that let Pods do more.
var privileges = []guard{
	{fields: regexp.MustCompile(`\.shareProcessNamespace$`), isRisk: except("false"),
		risk: "each container can read and signal the processes of the others"},
	{fields: regexp.MustCompile(`\.(fsGroup|runAsGroup|supplementalGroups\[\d+\])$`), isRisk: oneOf("0"),
		risk: "its Pods can read and change files of the group root"},
	{fields: regexp.MustCompile(`\.(hostNetwork|hostPID|hostIPC|hostProcess|securityContext\.privileged)$`),
		isRisk: except("false"), risk: reachesNode, severity: grave},
	{fields: regexp.MustCompile(`\.hostPort$`), isRisk: except("0"), risk: reachesNode, severity: grave},
	{fields: regexp.MustCompile(`\.hostPath(\.path|\.type)?$`), isRisk: except(), risk: reachesNode, severity: grave},
	{fields: regexp.MustCompile(`\.procMount$`), isRisk: except("Default"), risk: reachesNode, severity: grave},
	{fields: regexp.MustCompile(`\.(seccompProfile|appArmorProfile)\.type$`),
		isRisk: except("RuntimeDefault", "Localhost"), risk: reachesNode, severity: grave},
	{fields: regexp.MustCompile(`container\.apparmor\.security\.beta\.kubernetes\.io/`), isRisk: oneOf("unconfined"),
		risk: reachesNode, severity: grave},
	{fields: regexp.MustCompile(`\.seLinuxOptions\.(user|role)$`), isRisk: except(""), risk: reachesNode,
		severity: grave},
	{fields: regexp.MustCompile(`\.(httpGet|tcpSocket)\.host$`), isRisk: except(""), risk: reachesNode,
		severity: grave},
	{fields: regexp.MustCompile(`\.seLinuxOptions\.type$`), isRisk: func(_ []string, value string) bool {
		return isForbidden("seLinuxOptions",
			&corev1.PodSecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Type: value}}, nil)
	}, risk: reachesNode, severity: grave},
	{fields: regexp.MustCompile(`\.capabilities\.add(\[\d+\])?$`), isRisk: func(_ []string, value string) bool {
		return value != "[]" &&
			isForbidden("capabilities_baseline", nil,
				&corev1.SecurityContext{
					Capabilities: &corev1.Capabilities{Add: []corev1.Capability{corev1.Capability(value)}},
				})
	}, risk: reachesNode, severity: grave},
	{fields: regexp.MustCompile(`\.sysctls\[(.*)\]\.(?:name|value)$`), isRisk: func(match []string, _ string) bool {
		return isForbidden("sysctls", &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: match[1]}}}, nil)
	}, risk: reachesNode, severity: grave},
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
