package at

import (
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind/condition"
)

// The conditions of an At, in addition to kstatus'.
const (
	// Armed is True while one Pod is chosen to run the command, and waits behind its gate. It is
	// Unknown while such a Pod is awaited, and False when none came or spec.suspend holds the Pod.
	Armed = "Armed"
	// Suspended is True while spec.suspend holds the gate.
	Suspended = "Suspended"
	// Complete is True when the command succeeded.
	Complete = "Complete"
	// Failed is True when the command failed, or will not run.
	Failed = "Failed"
)

// conditionTypes are the condition types that Gatehouse owns in the status of an At.
var conditionTypes = []string{condition.Ready, condition.Reconciling, condition.Stalled, Armed, Suspended,
	Complete, Failed}

// The reasons of an At's conditions. kubectl shows the reason of Ready as STATUS.
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
	// ReasonInvalidSchedule: spec.schedule is not a time, or a status cannot hold it.
	ReasonInvalidSchedule = "InvalidSchedule"
	// ReasonPodAmbiguous: several Pods in the cluster were rendered from this spec, for one after a
	// changed override, before the old Pod is pruned. No Pod is opened.
	ReasonPodAmbiguous = "PodAmbiguous"
	// ReasonOpenRefused: the API server refuses a write that opens or holds the gate, ignores it, or
	// does not answer. Look at the controller's RBAC, at admission policies and webhooks. The
	// controller tries again.
	ReasonOpenRefused = "OpenRefused"

	// ReasonRunning: the start is recorded, and nothing holds the Pod up.
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
	// ReasonPodLost: the Pod went away while it ran, or may have run.
	ReasonPodLost = "PodLost"
	// ReasonDeadlineMissed: spec.startingDeadlineSeconds passed before the command
	// could start. It does not run.
	ReasonDeadlineMissed = "DeadlineMissed"
	// ReasonMayHaveRun: the spec is due no later than a spec that ran and that the status no longer
	// names. It does not run.
	ReasonMayHaveRun = "MayHaveRun"
	// ReasonStatusOverwritten: another client wrote into the status that the command ran. That may be
	// true, so it does not run.
	ReasonStatusOverwritten = "StatusOverwritten"
	// ReasonAlreadyRan: this At had the spec before, and it ran or may have run. It does not run
	// again.
	ReasonAlreadyRan = "AlreadyRan"
)
