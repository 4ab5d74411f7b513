// Package health has what Argo CD and Flux are told of the health of objects that they sync.
//
// Health is that of a delivery, and the result of a command is not: an At is healthy once its
// Pod is armed, while the command runs, and whatever came of it. An At speaks for its Pod.
package health

import _ "embed"

// The health checks of Argo CD for a kind, in Lua. A sync waits until what it applied is
// Healthy: to answer Suspended, or nothing, would hold later waves and hooks.
var (
	//go:embed at.lua
	At string
	//go:embed memcached.lua
	Memcached string
	//go:embed pod.lua
	Pod string
)

// Flux is the list healthCheckExprs of a Kustomization. Memcacheds need none: Flux reads them
// by kstatus.
//
//go:embed flux.yaml
var Flux string
