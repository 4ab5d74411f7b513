// Package health has what Argo CD and Flux are told of the health of objects that they sync.
//
// Health is that of a delivery, and the result of a command is not: an At is healthy once its
// Pod is armed, while the command runs, and whatever came of it. Any other object is healthy
// when its condition Ready is true. What people write speaks for the Pods that it is rendered
// to.
package health

import (
	"embed"
	"slices"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/at"
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

// ArgoCD are the checks for kinds that people write.
func ArgoCD(kinds *registry.Kinds) (checks []Check) {
	c := newContent(kinds)
	if c.HasAt {
		checks = append(checks, Check{at.Kind.GVK.GroupKind(), c.write("at.lua")})
	}
	for _, k := range c.Others {
		checks = append(checks, Check{k.GVK.GroupKind(), c.write("kind.lua")})
	}
	return checks
}

// Pod is the check of Argo CD for Pods, which needs the library for strings; empty where kinds
// that people write are rendered to none.
func Pod(kinds *registry.Kinds) string {
	c := newContent(kinds)
	if len(c.PodKinds) == 0 {
		return ""
	}
	return c.write("pod.lua")
}

// Flux is the list healthCheckExprs of a Kustomization. It reads other kinds than At by
// kstatus; empty where there is nothing to say.
func Flux(kinds *registry.Kinds) string { return newContent(kinds).write("flux.yaml") }

// content is what the templates are about.
type content struct {
	HasAt            bool
	Others, PodKinds []kind.Kind // all but At, and those that are rendered to Pods
}

func newContent(kinds *registry.Kinds) content {
	var c content
	for _, k := range kinds.All {
		switch {
		case k.IsConverted(): // to another of the list
			continue
		case k.GVK == at.Kind.GVK:
			c.HasAt = true
		default:
			c.Others = append(c.Others, k)
		}
		// Pods that others make, as a Deployment does, are immutable for nobody who renders.
		if slices.ContainsFunc(k.Children, func(child kind.Child) bool {
			return child.Immutable && child.GVK.GroupKind() == schema.GroupKind{Kind: "Pod"}
		}) {
			c.PodKinds = append(c.PodKinds, k)
		}
	}
	return c
}

//go:embed at.lua kind.lua pod.lua flux.yaml
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"any": func(list []kind.Kind) string { return (&registry.Kinds{All: list}).String() },
}).ParseFS(files, "*"))

func (c content) write(name string) string {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, name, c); err != nil {
		panic(err) // a mistake in a template
	}
	return b.String()
}
