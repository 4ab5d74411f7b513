package at

import (
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind/condition"
)

// The conditions of an At beside those of kstatus.
const (
	// Armed is True when one Pod, behind its gate, was chosen to run the command
	// when it is due; Unknown while such a Pod is awaited; False when none came, or
	// spec.suspend holds it.
	Armed = "Armed"
	// Suspended is True while spec.suspend holds the gate.
	Suspended = "Suspended"
	// Complete is True when the command succeeded.
	Complete = "Complete"
	// Failed is True when the command failed, or will not run.
	Failed = "Failed"
)

// conditionTypes are the condition types that Gatehouse owns in the status of an At.
var conditionTypes = []string{condition.Ready, condition.Reconciling, condition.Stalled, Armed, Suspended, Complete, Failed}

// The reasons of an At's conditions. That of Ready is the At's Status in kubectl.
const (
	// ReasonArmed: the Pod is there and waits for the schedule.
	ReasonArmed = "Armed"
	// ReasonSuspended: the Pod is there; spec.suspend holds its gate.
	ReasonSuspended = "Suspended"
	// ReasonPodMissing: no Pod of this At is in the cluster. Render, commit, sync.
	ReasonPodMissing = "PodMissing"
	// ReasonRenderingStale: the Pods in the cluster were rendered from another spec
	// of this At. Render, commit, sync.
	ReasonRenderingStale = "RenderingStale"
	// ReasonInvalidSchedule: spec.schedule is not a time, or none that a status can hold.
	ReasonInvalidSchedule = "InvalidSchedule"
	// ReasonPodAmbiguous: several Pods in the cluster were rendered from this spec, as
	// when an override changed and the old Pod is not pruned yet. None is opened.
	ReasonPodAmbiguous = "PodAmbiguous"
	// ReasonOpenRefused: the API server refuses to let the controller open the
	// gate. Look at the controller's RBAC, at admission policies and webhooks; it tries
	// again.
	ReasonOpenRefused = "OpenRefused"

	// ReasonRunning: the gate is open and nothing holds the Pod up.
	ReasonRunning = "Running"
	// ReasonUnschedulable: no node takes the Pod. Its events say why.
	ReasonUnschedulable = "Unschedulable"
	// ReasonGated: another scheduling gate, not the controller's, holds the Pod.
	ReasonGated = "Gated"
	// ReasonImageNotPulled: the node cannot pull the image. The Pod's events say why.
	ReasonImageNotPulled = status.ImageNotPulled
	// ReasonContainerNotCreated: the node cannot create the container, for one when
	// a ConfigMap or Secret is missing. The Pod's events say why.
	ReasonContainerNotCreated = status.ContainerNotCreated

	// ReasonComplete: the command exited with 0.
	ReasonComplete = "Complete"
	// ReasonCommandFailed: the command exited with another code.
	ReasonCommandFailed = "CommandFailed"
	// ReasonActiveDeadlineExceeded: the command ran for longer than
	// spec.activeDeadlineSeconds and was killed.
	ReasonActiveDeadlineExceeded = "ActiveDeadlineExceeded"
	// ReasonOpenedEarly: a Pod of this spec started before its time, and the controller
	// did not open it. The command does not run again.
	ReasonOpenedEarly = "OpenedEarly"
	// ReasonPodFailed: the Pod failed without an exit code, as when it is evicted.
	ReasonPodFailed = "PodFailed"
	// ReasonPodLost: the Pod went away when it was running, or may have been.
	ReasonPodLost = "PodLost"
	// ReasonDeadlineMissed: spec.startingDeadlineSeconds passed before the command
	// could start. It does not run.
	ReasonDeadlineMissed = "DeadlineMissed"
	// ReasonMayHaveRun: the spec is due by the schedule of one that ran and that the
	// status no longer names. It does not run.
	ReasonMayHaveRun = "MayHaveRun"
	// ReasonAlreadyRan: the spec is one that this At had before, and that ran, or
	// may have. It does not run again.
	ReasonAlreadyRan = "AlreadyRan"
)
