// Package pod helps kinds to make and read Pods.
package pod

import (
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
