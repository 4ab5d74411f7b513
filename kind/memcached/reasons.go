package memcached

// The conditions of a Memcached beside the conditions of kstatus.
const (
	// Available is True if at least one Pod is ready.
	Available = "Available"
	// Progressing is True while the Deployment rolls out, and Unknown before the
	// Deployment of this spec is there.
	Progressing = "Progressing"
	// Degraded is True if fewer Pods are ready than spec.size asks for.
	Degraded = "Degraded"
)

// The reasons of a Memcached's conditions. kubectl shows the reason of Ready as its Status.
const (
	// ReasonReady: the Deployment was rendered from this spec, and all its Pods are ready.
	ReasonReady = "Ready"
	// ReasonRollingOut: the Deployment replaces or starts Pods.
	ReasonRollingOut = "RollingOut"
	// ReasonPaused: spec.paused of the Deployment holds its rollout.
	ReasonPaused = "Paused"
	// ReasonRolledOut: every Pod of the Deployment has its current template.
	ReasonRolledOut = "RolledOut"
	// ReasonRolloutFailed: the Deployment made no progress for its
	// progressDeadlineSeconds. The events of its Pods have the cause.
	ReasonRolloutFailed = "RolloutFailed"
	// ReasonDeploymentMissing: no Deployment of this Memcached is in the cluster.
	// Render, commit, sync.
	ReasonDeploymentMissing = "DeploymentMissing"
	// ReasonRenderingStale: the Deployment in the cluster was rendered from another
	// spec of this Memcached. Render, commit, sync.
	ReasonRenderingStale = "RenderingStale"
	// ReasonScaled: the Deployment asks for another number of Pods than spec.size.
	ReasonScaled = "Scaled"

	// ReasonPodsReady: at least one Pod, or all Pods, are ready.
	ReasonPodsReady = "PodsReady"
	// ReasonPodsNotReady: no Pod is ready, or too few.
	ReasonPodsNotReady = "PodsNotReady"
)
