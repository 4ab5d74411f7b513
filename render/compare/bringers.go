package compare

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/gatehouse/render/manifest"
)

// bringers are the objects that deliver others, by the others. The ID is empty for the entry of the environment.
type bringers map[manifest.ID][]manifest.ID

// Move is an object that a delivery no longer brings, and that another one brings.
type Move struct {
	Object   manifest.Object // after the change
	From, To manifest.ID
}

func (b bringers) add(objects []manifest.Object, by manifest.ID) {
	for _, o := range objects {
		id := o.IDInNamespace()
		if !slices.Contains(b[id], by) {
			b[id] = append(b[id], by)
		}
	}
}

// addRepeated adds objects that another delivery brings as well.
func (b bringers) addRepeated(objects []manifest.Object, by manifest.ID) {
	for _, o := range objects {
		id := o.IDInNamespace()
		b[id] = append([]manifest.ID{by}, b[id]...)
	}
}

func (b bringers) last(object manifest.ID) manifest.ID {
	if by := b[object]; len(by) > 0 {
		return by[len(by)-1]
	}
	return manifest.ID{}
}

// moves returns the objects that are there before and after, and that a delivery no longer brings.
func (d *Differences) moves(is []manifest.Object) (moved []Move) {
	isDone := map[manifest.ID]bool{}
	for _, o := range is {
		id := o.IDInNamespace()
		for _, from := range d.was[id] {
			if !isDone[id] && !slices.Contains(d.is[id], from) {
				moved = append(moved, Move{o, from, d.is.last(id)})
			}
		}
		isDone[id] = true
	}
	return moved
}

// IsUnproven reports whether not all objects of a delivery, or of one above it, are known.
func (d *Differences) IsUnproven(delivery manifest.ID) bool {
	return slices.ContainsFunc(d.Above(delivery), func(by manifest.ID) bool {
		return d.unknown.Has(by) || len(d.Unproven[by]) > 0
	})
}

// Above returns an object that delivers, and its own deliveries, before the change and after it.
func (d *Differences) Above(by manifest.ID) (all []manifest.ID) {
	rest := []manifest.ID{by}
	for len(rest) > 0 {
		next := rest[0]
		rest = rest[1:]
		if next == (manifest.ID{}) || slices.Contains(all, next) {
			continue
		}
		all = append(all, next)
		next.Namespace = cmp.Or(next.Namespace, metav1.NamespaceDefault) // as IDInNamespace
		rest = slices.Concat(rest, d.was[next], d.is[next])
	}
	return all
}
