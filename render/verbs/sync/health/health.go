// Package health has health checks for Argo CD and Flux.
//
// A source object is healthy when its condition Ready is true, or in one of the HealthyPhases of its kind.
// Its rendered Pods are always healthy.
package health

import (
	"embed"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
)

// Check is a health check of Argo CD, in Lua. A sync waits until applied objects are Healthy: any other
// answer, such as Suspended, holds up later waves and hooks.
type Check struct {
	Kind   schema.GroupKind
	Script string
}

// ArgoCD returns the checks for the kinds of source objects.
func ArgoCD(kinds *registry.Kinds) (checks []Check) {
	for _, k := range kinds.All {
		if !k.IsConverted() { // each kind once
			checks = append(checks, Check{k.GVK().GroupKind(), execute("kind.lua", k.HealthyPhases())})
		}
	}
	return checks
}

// Pod returns Argo CD's check for Pods, which needs Lua's string library. It is empty if no kind is rendered
// to Pods.
func Pod(kinds *registry.Kinds) string {
	if podKinds := renderedToPods(kinds); len(podKinds) > 0 {
		return execute("pod.lua", podKinds)
	}
	return ""
}

// Flux returns the healthCheckExprs of a Kustomization. They are empty if kstatus suffices.
func Flux(kinds *registry.Kinds) string {
	return execute("flux.yaml", struct{ Kinds, PodKinds, Gated []kind.Kind }{kinds.All, renderedToPods(kinds),
		kinds.Gated().All})
}

// renderedToPods returns the kinds that are rendered to Pods, but not to Deployments or other workloads.
func renderedToPods(kinds *registry.Kinds) (podKinds []kind.Kind) {
	for _, k := range kinds.All {
		if pod := k.Child(schema.GroupKind{Kind: "Pod"}); !k.IsConverted() && pod != nil && pod.Immutable {
			podKinds = append(podKinds, k)
		}
	}
	return podKinds
}

//go:embed kind.lua pod.lua flux.yaml
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"any":  func(list []kind.Kind) string { return (&registry.Kinds{All: list}).String() },
	"join": strings.Join,
}).ParseFS(files, "*"))

func execute(name string, data any) string {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // a bug in a template
	}
	return b.String()
}
