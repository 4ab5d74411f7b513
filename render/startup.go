package render

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/charts"
	"example.com/gatehouse/render/warn"
)

// deliveries returns the objects that tools apply to an empty cluster, by the environment and by each delivery.
// It returns nothing without a delivery, or if Flux is told to apply some kinds before others.
func (e *Environment) deliveries(objects []manifest.Object) []warn.Delivery {
	if !slices.ContainsFunc(objects, isDelivery) {
		return nil
	}
	folders := map[manifest.ID][]*Delivery{}
	isOfFlux := func(o manifest.Object) bool { return folder.IsKustomization(o) || o.GetKind() == "HelmRelease" }
	installed := map[manifest.ID][]*Delivery{}
	applied := slices.Clone(objects)
	for _, f := range e.root.followed() {
		id := f.InCluster.IDInNamespace()
		folders[id] = append(folders[id], f)
		applied = append(applied, f.whole()...)
	}
	for _, r := range e.startingCharts() {
		installed[r.Chart.ID] = append(installed[r.Chart.ID], r)
	}
	all := []warn.Delivery{{IsApart: !slices.ContainsFunc(objects, isOfFlux)}}
	addTo(&all[0], objects, true)
	known := map[manifest.ID]bool{}
	for _, o := range applied {
		id := o.IDInNamespace()
		if hasCustomStage(o) {
			return nil
		}
		if known[id] || !isDelivery(o) {
			continue
		}
		known[id] = true
		if all[0].Unstructured == nil && e.syncs(o) {
			all[0].Object = o
			continue
		}
		all = append(all, startingBy(o, folders[id], installed[id]))
	}
	return all
}

// startingBy returns the objects of a delivery, by its folders and charts.
func startingBy(o manifest.Object, folders, installed []*Delivery) warn.Delivery {
	isUnknown := delivery.IsApplication(o) && len(folders)+len(installed) == 0
	d := warn.Delivery{Object: o, IsOpen: !release.Is(o) || isUnknown}
	for _, f := range folders {
		addTo(&d, f.whole(), f.IsFlux)
		d.IsOpen = f.isSet() && len(f.Unknown) > 0
	}
	for _, r := range installed {
		addTo(&d, r.Applied(), false)
		d.IsOpen = d.IsOpen || r.Chart.Archive == "" && len(folders) == 0 && mayDefineKinds(r.Chart)
	}
	return d
}

// isDelivery reports whether a tool makes other objects by an object, followed or not.
func isDelivery(o manifest.Object) bool {
	return Delivers(o) || slices.Contains(otherDeliveries, o.GroupVersionKind().GroupKind())
}

// mayDefineKinds reports whether a release whose chart is not here may bring definitions that others bring as well. A
// HelmRelease of a known chart does so only by a chart of definitions, as Helm takes over no object of another release.
func mayDefineKinds(r *release.Installed) bool {
	return r.ID.Kind != "HelmRelease" || r.Chart == "" || strings.Contains(r.String(), "crd")
}

// otherDeliveries are kinds whose objects bring others that are not followed.
var otherDeliveries = []schema.GroupKind{
	{Group: "helm.cattle.io", Kind: "HelmChart"}, {Group: "operators.coreos.com", Kind: "Subscription"},
	{Group: "gitops.kluctl.io", Kind: "KluctlDeployment"}, {Group: "fleet.cattle.io", Kind: "Bundle"},
}

// hasCustomStage reports whether an object sets the kinds that kustomize-controller applies before others.
func hasCustomStage(o manifest.Object) bool {
	mayHave := o.GetKind() == "FluxInstance" || o.GetKind() == "HelmRelease" || o.GetName() == "kustomize-controller"
	return mayHave && manifest.Contains(o.Object, func(_ string, value any) bool {
		text, _ := value.(string)
		return strings.Contains(text, "--custom-apply-stage-kinds")
	})
}

// addTo adds the objects that a tool applies to a delivery: by Flux definitions and Namespaces come first, and by Helm
// files of definitions and Namespaces. Hooks have their own time.
func addTo(d *warn.Delivery, objects []manifest.Object, isFlux bool) {
	for _, o := range objects {
		isChart := d.Unstructured != nil && d.GetKind() == "HelmRelease"
		settings := delivery.Settings(o.Unstructured, delivery.Flux)
		isFirst := (isFlux || isChart) && o.GetKind() == "Namespace" || isFlux && crd.Is(o.Unstructured) ||
			isChart && release.IsCRDFile(o)
		switch {
		case isFlux && delivery.Find(settings, delivery.Ignored) != nil:
		case isChart && o.GetAnnotations()["helm.sh/hook"] != "":
		case isFirst:
			d.First = append(d.First, o)
		default:
			d.Then = append(d.Then, o)
		}
	}
}

// startingCharts returns the charts with the objects that they have in an empty cluster: they may leave objects out
// whose kinds are not there.
func (e *Environment) startingCharts() []*Delivery {
	defined := map[schema.GroupKind]bool{}
	for _, o := range slices.Concat(e.root.known(), e.local, e.root.delivered()) {
		if crd.Is(o.Unstructured) {
			defined[crd.Kind(o.Unstructured)] = true
		}
	}
	isDefined := func(o manifest.Object) bool { return defined[o.GroupVersionKind().GroupKind()] }
	empty := func() charts.Cluster { return e.clusterOf(e.root.sources.Kustomizations[e.root.folder], nil) }
	all := e.root.charts()
	for i, d := range all {
		if !d.Chart.AsksForDefinitions() || !slices.ContainsFunc(d.Applied(), isDefined) {
			continue
		}
		isThere := map[string]bool{}
		only := []release.Release{d.Chart.Release}
		starting, _ := e.root.installer(e.root.sources.FS, empty, application.Origin{}).Install(only)
		for _, o := range starting[0].Objects {
			isThere[o.Origin] = true
		}
		started := *d
		started.setBuilt(slices.DeleteFunc(d.Applied(), func(o manifest.Object) bool { return !isThere[o.Origin] }))
		all[i] = &started
	}
	return all
}
