package render

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/delivery/resourceset"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/manifest"
)

// brought are the objects that the deliveries of an environment have brought so far.
type brought struct {
	objects map[manifest.ID]manifest.Object
	ofArgo  map[manifest.ID][]manifest.Object // that were followed, by kind and name
}

func newBrought(objects []manifest.Object) *brought {
	b := &brought{objects: map[manifest.ID]manifest.Object{}, ofArgo: map[manifest.ID][]manifest.Object{}}
	for _, o := range objects {
		b.objects[o.IDInNamespace()] = o
	}
	return b
}

// isAgain reports whether an object of Argo CD was followed before, with a namespace or without: Argo CD brings an
// ApplicationSet of its own that a person applied first.
func (b *brought) isAgain(o manifest.Object) bool {
	if !delivery.IsApplication(o) && (!folder.IsSet(o) || resourceset.Is(o)) {
		return false
	}
	id := manifest.ID{Kind: o.GetKind(), Name: o.GetName()}
	isSame := func(other manifest.Object) bool {
		return other.GetNamespace() != o.GetNamespace() && (other.GetNamespace() == "" || o.GetNamespace() == "") &&
			reflect.DeepEqual(other.Object["spec"], o.Object["spec"])
	}
	if slices.ContainsFunc(b.ofArgo[id], isSame) {
		return true
	}
	b.ofArgo[id] = append(b.ofArgo[id], o)
	return false
}

// dropRepeated marks the objects of a delivery that the environment has already, and warns of them.
func (f *following) dropRepeated(d *Delivery) (warnings []manifest.Problem) {
	defer fault.Keep(&warnings, fault.In(d.Of.Committed()))
	applied := d.postBuild.Applied(d.known())
	shared := map[string][]string{} // equal objects, by the other delivery
	for i, o := range applied {
		d.objects[i].applied = o
		id := o.IDInNamespace()
		if o.GetNamespace() == "" && f.isNamespaced(o, f.world) {
			id.Namespace = cmp.Or(d.DefaultNamespace, id.Namespace)
		}
		other, isRepeated := f.brought.objects[id]
		if !isRepeated || flux.HasVariables(id.Name+id.Namespace) { // unknown values may make another name
			f.brought.objects[id] = o
			continue
		}
		d.objects[i].isRepeated = true
		by, prunes := f.deliverer(other)
		isKept := delivery.Keeping(delivery.Settings(o.Unstructured, delivery.Flux, delivery.Argo)) != nil
		d.objects[i].differs = !reflect.DeepEqual(o.Object, other.Object)
		_, isDelivered := other.Delivery.(*Delivery)
		switch {
		case f.from.IsByHand() && !isDelivered: // people apply it once, and leave it to the delivery
		case d.objects[i].differs:
			where := f.locate(manifest.NewProblem(other, "", manifest.Value{}, "")).Position()
			p := d.Blame(manifest.NewProblem(o, "", manifest.Value{}, fmt.Sprintf("is in %s as well, with other "+
				"content: %s and %s apply one over the other, again and again; remove or rename one", where, d.Of,
				by)).As(manifest.DuplicateObject).Because("content of " + d.Of.String() + " and " + by))
			p.Warning = true
			warnings = append(warnings, p)
		case !isKept && (prunes || d.Prunes()):
			shared[by] = append(shared[by], o.String())
		}
	}
	for _, by := range slices.Sorted(maps.Keys(shared)) {
		p := warning(d.Of, fmt.Sprintf("delivers %s, as does %s: either may prune what the other still delivers; "+
			"leave it to one", manifest.FirstOf(3, shared[by]), by))[0]
		warnings = append(warnings, p.As(manifest.DuplicateObject).Because("pruned objects of "+by))
	}
	return blameDeliveries(warnings)
}

// deliverer names the delivery of an object of the environment, and reports whether it prunes objects.
func (f *following) deliverer(o manifest.Object) (name string, prunes bool) {
	if of, isDelivered := o.Delivery.(*Delivery); isDelivered {
		return of.Of.String(), of.Prunes()
	}
	if f.world.sync != nil {
		return f.world.sync.Of.String(), f.world.sync.Prunes()
	}
	return "the environment " + f.name, true
}
