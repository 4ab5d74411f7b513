// Package pod is what the Pods of several kinds have in common.
package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// What the Pod Security Standard "restricted" asks for:
// https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted

// Security runs every container of a Pod as the user and group of one ID.
func Security(id int64) *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{
		RunAsNonRoot:   ptr.To(true),
		RunAsUser:      ptr.To(id),
		RunAsGroup:     ptr.To(id),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// ContainerSecurity lets a container have no more rights than its Pod.
func ContainerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
