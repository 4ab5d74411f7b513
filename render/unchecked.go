package render

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render/delivery/definitions"
	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/manifest"
)

// Unchecked counts the objects of a kind without a definition.
type Unchecked struct {
	schema.GroupVersionKind // of the first object, or one that its tool no longer serves
	Objects                 int
	// First is a problem with the position of the first object.
	First manifest.Problem
	// Differing are the positions of definitions in the repository that differ, so that none of them is used.
	Differing []string
}

// unchecked returns the kinds without a definition, in order, except those that an annotation says are elsewhere.
func (e *Environment) unchecked(objects []manifest.Object) (all []Unchecked) {
	byKind := map[schema.GroupKind]*Unchecked{}
	elsewhere := e.elsewhere()
	for _, o := range objects {
		gvk := o.GroupVersionKind()
		_, isKnown := e.checker.IsNamespaced(gvk)
		if isKnown || gvk.Kind == "" || elsewhere.Has(apiServiceOf(gvk)) { // without a kind it is refused
			continue
		}
		of := byKind[gvk.GroupKind()]
		served, _ := definitions.Instead(gvk)
		switch {
		case of == nil:
			of = &Unchecked{GroupVersionKind: gvk, First: e.positionOf(o)}
			_, of.Differing = e.undelivered(gvk)
			byKind[gvk.GroupKind()] = of
		case served != "" && of.GroupVersionKind != gvk: // no object of the kind is checked
			of.GroupVersionKind = gvk
			of.First = e.positionOf(o)
		}
		of.Objects++
	}
	for _, u := range byKind {
		all = append(all, *u)
	}
	slices.SortFunc(all, func(a, b Unchecked) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}

// positionOf returns an empty problem at an object, or at the release that installs it.
func (e *Environment) positionOf(o manifest.Object) manifest.Problem {
	if _, isOfChart := o.Delivery.(*release.Installed); isOfChart {
		o = o.Delivery.Object()
	}
	return e.locate(manifest.NewProblem(o, "", manifest.Value{}, ""))
}

// apiServiceOf returns the ID of the object that lets a cluster serve a version of a group.
func apiServiceOf(gvk schema.GroupVersionKind) manifest.ID {
	return manifest.ID{Group: "apiregistration.k8s.io", Kind: "APIService", Name: gvk.Version + "." + gvk.Group}
}

// programs read the files of groups that no cluster serves.
var programs = map[string]string{
	"kind.x-k8s.io": "kind", "kustomize.config.k8s.io": "kustomize", "builtin": "kustomize",
	"kubeadm.k8s.io": "kubeadm", "kubelet.config.k8s.io": "the kubelet", "kubeproxy.config.k8s.io": "kube-proxy",
	"kubescheduler.config.k8s.io": "kube-scheduler", "audit.k8s.io": "kube-apiserver",
	"apiserver.config.k8s.io": "kube-apiserver", "scorecard.operatorframework.io": "operator-sdk",
	"skaffold": "Skaffold", "k3d.io": "k3d", "eksctl.io": "eksctl", "kuttl.dev": "kuttl", "cli.kyverno.io": "Kyverno",
	"chainsaw.kyverno.io": "Chainsaw", "backstage.io": "Backstage", "ctlptl.dev": "ctlptl",
}

// unserved warns of kinds among objects that no cluster serves.
func (e *Environment) unserved(objects []manifest.Object) (warnings []manifest.Problem) {
	for _, u := range e.unchecked(objects) {
		served, release := definitions.Instead(u.GroupVersionKind)
		program := programs[u.Group]
		switch {
		case served != "":
			u.First.Message = fmt.Sprintf("%s: %s no longer serves %s: write %s, so that the objects are checked",
				u.GroupKind(), release, u.Version, schema.GroupVersion{Group: u.Group, Version: served})
		case program != "":
			u.First.Message = fmt.Sprintf("%s is in a file for %s: no cluster serves it, and the sync would fail: "+
				"take it out of resources, or annotate it with config.kubernetes.io/local-config: \"true\"",
				u.GroupKind(), program)
		default:
			continue
		}
		u.First.Code = manifest.MissingDefinition
		u.First.Warning = true
		u.First.Object = ""
		warnings = append(warnings, u.First)
	}
	return warnings
}
