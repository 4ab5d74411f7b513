// Package health has what Argo CD and Flux are told of the health of objects that they sync.
//
// An object of a kind that people write is healthy when its condition Ready is true, or when it
// is in one of the HealthyPhases of its kind. It speaks for the Pods that it is rendered to.
package health

import (
	"embed"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
)

// Check is a health check of Argo CD, in Lua. A sync waits until what it applied is Healthy:
// to answer Suspended, or nothing, would hold later waves and hooks.
type Check struct {
	// Kind is the kind that it is for.
	Kind schema.GroupKind
	// Script is the check.
	Script string
}

// ArgoCD returns the checks for the kinds that people write.
func ArgoCD(kinds *registry.Kinds) (checks []Check) {
	for _, k := range kinds.All {
		if !k.IsConverted() { // to another of the list
			checks = append(checks, Check{k.GVK().GroupKind(), write("kind.lua", k.HealthyPhases())})
		}
	}
	return checks
}

// Pod returns the check of Argo CD for Pods, which needs the library for strings; empty where no
// kind that people write is rendered to Pods.
func Pod(kinds *registry.Kinds) string {
	if podKinds := renderedToPods(kinds); len(podKinds) > 0 {
		return write("pod.lua", podKinds)
	}
	return ""
}

// Flux returns the list healthCheckExprs of a Kustomization, empty where kstatus says all.
func Flux(kinds *registry.Kinds) string {
	return write("flux.yaml", struct{ Kinds, PodKinds, Gated []kind.Kind }{kinds.All, renderedToPods(kinds), kinds.Gated().All})
}

// renderedToPods returns the kinds that are rendered to Pods. Pods that a Deployment or the like
// makes are not Immutable.
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

func write(name string, data any) string {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // a mistake in a template
	}
	return b.String()
}
