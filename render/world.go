package render

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/render/delivery/applicationset"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
)

// world has the objects of an environment that its deliveries refer to.
type world struct {
	objects  map[manifest.ID]manifest.Object // the first of each ID
	own      manifest.ID                     // the source of the environment itself, or nothing
	clusters []manifest.Object               // Secrets that register clusters of Argo CD
	scopes   map[schema.GroupKind]bool       // of custom kinds: whether they have a namespace
}

func newWorld(objects []manifest.Object, in *input) *world {
	w := &world{objects: map[manifest.ID]manifest.Object{}, scopes: map[schema.GroupKind]bool{}}
	w.add(objects, in)
	return w
}

// add adds objects. The Kustomization that syncs the folder of the environment has its source.
func (w *world) add(objects []manifest.Object, in *input) {
	for _, o := range objects {
		if _, isThere := w.objects[o.ID()]; !isThere {
			w.objects[o.ID()] = o
		}
		if crd.Is(o.Unstructured) {
			scope, _, _ := unstructured.NestedString(o.Object, "spec", "scope")
			w.scopes[crd.Kind(o.Unstructured)] = scope != "Cluster"
		}
		if applicationset.IsCluster(o) {
			w.clusters = append(w.clusters, o)
		}
		if w.own == (manifest.ID{}) && in.syncs(o) {
			w.own = folder.Places(o)[0].Source
		}
	}
}

// values returns the values of a ConfigMap.
func (w *world) values(kind, namespace, name string) (values map[string]string, isKnown bool) {
	o, isKnown := w.objects[manifest.ID{Kind: kind, Namespace: namespace, Name: name}]
	if kind != "ConfigMap" || !isKnown {
		return nil, false
	}
	values = map[string]string{}
	data, _ := o.Object["data"].(map[string]any)
	for key, value := range data {
		values[key], _ = value.(string)
	}
	return values, true
}

// isNamespaced reports whether an object has a namespace, as far as is known before charts are rendered.
func (in *input) isNamespaced(o manifest.Object, w *world) bool {
	gvk := o.GroupVersionKind()
	if kind, isBuiltin := cmp.Or(in.kubernetes, apiserver.Newest).Lookup(gvk); isBuiltin {
		return kind.IsNamespaced()
	}
	isNamespaced, isCustom := w.scopes[gvk.GroupKind()]
	return isNamespaced || !isCustom
}

// substitute sets the values of variables from the object of a place and from the ConfigMaps of the world. If some are
// in the cluster alone, the known ones are substituted here and the others are unknown.
func (d *Delivery) substitute(by folder.Place, w *world) (problems []manifest.Problem) {
	defer fault.Keep(&problems, fault.In(by.Of.Committed()))
	p := by.PostBuild
	outer := d.outer()
	// Variables that are left in the object are in its objects as well.
	isPartial := outer != nil && outer.Values == nil && flux.HasVariables(by.InCluster.Object["spec"])
	if len(p.Substitute)+len(p.SubstituteFrom) == 0 && !isPartial {
		return nil
	}
	d.postBuild = &flux.PostBuild{Values: map[string]string{}, Always: p.SubstituteStrategy == "Always",
		In: "spec.postBuild of " + by.Of.String()}
	for _, from := range p.SubstituteFrom {
		values, isKnown := w.values(from.Kind, by.Of.GetNamespace(), from.Name)
		isPartial = isPartial || !isKnown && !from.Optional
		d.postBuild.Add(values)
	}
	d.postBuild.Add(p.Substitute)
	if !isPartial {
		return nil
	}
	for i := range d.objects {
		o := d.objects[i].inGit
		if d.postBuild.Substitutes(o) {
			known, err := flux.WithKnown(o, d.postBuild.Values)
			if err != nil {
				problems = append(problems, manifest.NewProblem(o, "", manifest.Value{},
					fmt.Sprintf("Flux cannot substitute variables: %v", err)).As(manifest.InvalidVariable))
				continue
			}
			known.InGit = &o
			d.objects[i].known = known
		}
	}
	d.postBuild.Values = nil
	return problems
}

// substituteOwn sets the values of variables by the Kustomization among the objects of an entry that syncs its folder.
func (d *Delivery) substituteOwn() []manifest.Problem {
	objects := d.InGit()
	for _, o := range objects {
		if d.syncs(o) {
			return d.substitute(folder.Places(o)[0], newWorld(objects, d.input))
		}
	}
	return nil
}

// syncs reports whether an object is the Kustomization that syncs the folder of the environment.
func (in *input) syncs(o manifest.Object) bool {
	return folder.IsKustomization(o) &&
		slices.ContainsFunc(folder.Places(o), func(p folder.Place) bool { return in.isOwn(p.Folder) })
}
