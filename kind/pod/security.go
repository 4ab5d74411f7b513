// Package pod helps kinds to make and read Pods.
package pod

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Security returns a security context that runs every container of a Pod as one user and group. With
// ContainerSecurity it meets the Pod Security Standard "restricted":
// https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
func Security(id int64) *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{
		RunAsNonRoot:   ptr.To(true),
		RunAsUser:      ptr.To(id),
		RunAsGroup:     ptr.To(id),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// ContainerSecurity returns a security context without privileges.
func ContainerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// Literal escapes a text for a container's command, args or env, so that the program gets it byte for
// byte. Kubernetes would expand $(NAME) and replace $$ by $, so that a variable could become part of a
// command.
func Literal(text string) string {
	return strings.ReplaceAll(text, "$", "$$")
}
