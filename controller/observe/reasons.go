package observe

import (
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind/condition"
)

// Synced is a condition beside the conditions of kstatus. It is True if the cluster has exactly the
// rendered objects of this spec. It is Unknown while these are awaited.
const Synced = "Synced"

// Available is True if it is True in every rendered object that has it. It is absent if no object
// has it.
const Available = "Available"

// conditionTypes are the condition types that Gatehouse owns, beside the kind's own.
var conditionTypes = []string{condition.Ready, condition.Reconciling, condition.Stalled, Synced, Available}

// The reasons of the conditions.
const (
	// ReasonReady: all rendered objects are there and ready.
	ReasonReady = "Ready"
	// ReasonObjectsNotReady: some rendered objects are not ready yet, or are being deleted.
	ReasonObjectsNotReady = "ObjectsNotReady"
	// ReasonObjectsFailed: some rendered objects failed and do not recover by themselves.
	ReasonObjectsFailed = "ObjectsFailed"
	// ReasonObjectsMissing: some rendered objects are not in the cluster. Render, commit, sync.
	ReasonObjectsMissing = "ObjectsMissing"
	// ReasonRenderingStale: some live objects were rendered from another spec. Render, commit,
	// sync.
	ReasonRenderingStale = "RenderingStale"
	// ReasonControllerDiffers: another build of the kind than the controller's rendered the object.
	// The message names the older build.
	ReasonControllerDiffers = "ControllerDiffers"
	// ReasonObjectsLeftOver: live objects carry the label, but are not rendered from the spec.
	// Prune them.
	ReasonObjectsLeftOver = "ObjectsLeftOver"
	// ReasonStatusFailed: the kind cannot decide the status. All other fields keep their last
	// values.
	ReasonStatusFailed = "StatusFailed"
	// ReasonExpandFailed: the kind cannot render the object. Change its spec.
	ReasonExpandFailed = "ExpandFailed"

	// ReasonSynced: all observed rendered objects are in the cluster.
	ReasonSynced = "Synced"
	// ReasonObjectsAvailable: every object with the condition Available is available.
	ReasonObjectsAvailable = "ObjectsAvailable"
	// ReasonObjectsNotAvailable: some objects are not available.
	ReasonObjectsNotAvailable = "ObjectsNotAvailable"
)

// The reasons of single objects in NotReady, beside the reasons of kstatus.
const (
	// ObjectMissing: the object is not in the cluster.
	ObjectMissing = "Missing"
	// ObjectStale: the object was rendered from another spec.
	ObjectStale = "RenderingStale"
	// ObjectTerminating: the object is being deleted.
	ObjectTerminating = "Terminating"
	// ReplicasNotReady: Pods of a Deployment, StatefulSet or DaemonSet are missing, outdated or not
	// ready. There is one reason for all of its counts, since these change with every Pod.
	ReplicasNotReady = "ReplicasNotReady"
	// JobRunning: the Job is not complete.
	JobRunning = "JobRunning"
	// PodFailed: the Pod failed.
	PodFailed = "PodFailed"
	// PodNotScheduled: no node has taken the Pod for some seconds.
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
