package observe

import (
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind/condition"
)

// Synced is a condition beside those of kstatus: True when what the spec is rendered to, and
// no more, is in the cluster, as it is rendered from this spec; Unknown while that is
// awaited.
const Synced = "Synced"

// Available is True when it is in the status of each object that has it; absent where none
// has.
const Available = "Available"

// conditionTypes are the condition types that Gatehouse owns in a status, beside those of the kind.
var conditionTypes = []string{condition.Ready, condition.Reconciling, condition.Stalled, Synced, Available}

// The reasons of the conditions.
const (
	// ReasonReady: all that the spec is rendered to is there and ready.
	ReasonReady = "Ready"
	// ReasonObjectsNotReady: some of it is not ready yet, or on its way out.
	ReasonObjectsNotReady = "ObjectsNotReady"
	// ReasonObjectsFailed: some of it has failed and does not recover by itself.
	ReasonObjectsFailed = "ObjectsFailed"
	// ReasonObjectsMissing: some of it is not in the cluster. Render, commit, sync.
	ReasonObjectsMissing = "ObjectsMissing"
	// ReasonRenderingStale: some of it was rendered from another spec of the object. Render,
	// commit, sync.
	ReasonRenderingStale = "RenderingStale"
	// ReasonControllerDiffers: another build of the kind rendered it than the controller's. The
	// message says which is older.
	ReasonControllerDiffers = "ControllerDiffers"
	// ReasonObjectsLeftOver: objects carry the label, but the spec is not rendered to them.
	// Prune them.
	ReasonObjectsLeftOver = "ObjectsLeftOver"
	// ReasonStatusFailed: the kind cannot decide the status. The rest of the status is the last.
	ReasonStatusFailed = "StatusFailed"
	// ReasonExpandFailed: the kind cannot render the object. Change its spec.
	ReasonExpandFailed = "ExpandFailed"

	// ReasonSynced: what the spec is rendered to, as far as it is observed, is in the cluster.
	ReasonSynced = "Synced"
	// ReasonObjectsAvailable: every object that says so is available.
	ReasonObjectsAvailable = "ObjectsAvailable"
	// ReasonObjectsNotAvailable: some are not.
	ReasonObjectsNotAvailable = "ObjectsNotAvailable"
)

// The reasons of single objects in NotReady, beside those of kstatus.
const (
	// ObjectMissing: the object is not in the cluster.
	ObjectMissing = "Missing"
	// ObjectStale: the object was rendered from another spec.
	ObjectStale = "RenderingStale"
	// ObjectTerminating: the object is being deleted.
	ObjectTerminating = "Terminating"
	// ReplicasNotReady: a Deployment, StatefulSet or DaemonSet does not have all its Pods
	// as it should. Which of its counts says so changes with every Pod.
	ReplicasNotReady = "ReplicasNotReady"
	// JobRunning: the Job is not complete.
	JobRunning = "JobRunning"
	// PodFailed: the Pod ended, and not well.
	PodFailed = "PodFailed"
	// PodNotScheduled: no node takes the Pod, for some seconds.
	PodNotScheduled = "PodNotScheduled"
	// PodUnschedulable: no node takes the Pod.
	PodUnschedulable = "PodUnschedulable"
	// ImageNotPulled: an image of the Pod cannot be pulled.
	ImageNotPulled = status.ImageNotPulled
	// ContainerRestarted: a container of the Pod was restarted some seconds ago.
	ContainerRestarted = "ContainerRestarted"
	// ContainerNotCreated: a container of the Pod cannot be created.
	ContainerNotCreated = status.ContainerNotCreated
)
