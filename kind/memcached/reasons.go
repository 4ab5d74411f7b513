package memcached

// The conditions of a Memcached beside those of kstatus.
const (
	// Available is True when at least one Pod is ready.
	Available = "Available"
	// Progressing is True while the Deployment rolls out, False when it does not;
	// Unknown while the Deployment of this spec is awaited.
	Progressing = "Progressing"
	// Degraded is True when fewer Pods are ready than spec.size asks for.
	Degraded = "Degraded"
)

// The reasons of a Memcached's conditions. That of Ready is its Status in kubectl.
const (
	// ReasonReady: the Deployment was rendered from this spec, and all its Pods are ready.
	ReasonReady = "Ready"
	// ReasonRollingOut: the Deployment replaces or starts Pods.
	ReasonRollingOut = "RollingOut"
	// ReasonPaused: spec.paused of the Deployment holds its rollout.
	ReasonPaused = "Paused"
	// ReasonRolledOut: every Pod of the Deployment is of its current template.
	ReasonRolledOut = "RolledOut"
	// ReasonRolloutFailed: the Deployment made no progress for its
	// progressDeadlineSeconds. The events of its Pods say why.
	ReasonRolloutFailed = "RolloutFailed"
	// ReasonDeploymentMissing: no Deployment of this Memcached is in the cluster.
	// Render, commit, sync.
	ReasonDeploymentMissing = "DeploymentMissing"
	// ReasonRenderingStale: the Deployment in the cluster was rendered from another
	// spec of this Memcached. Render, commit, sync.
	ReasonRenderingStale = "RenderingStale"
	// ReasonScaled: the Deployment asks for another number of Pods than spec.size.
	ReasonScaled = "Scaled"

	// ReasonPodsReady: the Pods that the condition is about are ready.
	ReasonPodsReady = "PodsReady"
	// ReasonPodsNotReady: they are not.
	ReasonPodsNotReady = "PodsNotReady"
)
