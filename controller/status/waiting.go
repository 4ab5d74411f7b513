package status

import corev1 "k8s.io/api/core/v1"

// The reasons of waiting containers that need help from outside.
const (
	ImageNotPulled      = "ImageNotPulled"
	ContainerNotCreated = "ContainerNotCreated"
)

// WaitingReason returns the reason of a container that needs help from outside, or nothing. It has
// one reason for all that alternate during retries.
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
