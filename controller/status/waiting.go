package status

import corev1 "k8s.io/api/core/v1"

// The reasons for which a container waits that needs help from outside.
const (
	ImageNotPulled      = "ImageNotPulled"
	ContainerNotCreated = "ContainerNotCreated"
)

// WaitingReason returns why a container needs help from outside; empty where it needs none. What
// comes and goes while that is tried again has one name.
func WaitingReason(container corev1.ContainerStatus) string {
	if container.State.Waiting == nil {
		return ""
	}
	switch container.State.Waiting.Reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName":
		return ImageNotPulled
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return ContainerNotCreated
	}
	return ""
}
