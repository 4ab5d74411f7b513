package compare

import (
	"slices"

	"example.com/gatehouse/render/manifest"
)

// bringers are the objects that deliver others, by the others. The entry of an environment has none.
type bringers map[manifest.ID]manifest.ID

// Move is an object that another delivery brings than before. The ID is empty for the entry of the environment.
type Move struct {
	Object   manifest.Object // after the change
	From, To manifest.ID
}

// bringers returns the objects that deliver, on the side of the object of a change.
func (d *Differences) bringers(c Change) bringers {
	if c.After == nil {
		return d.was
	}
	return d.is
}

// moves returns the objects that are there before and after, and that another delivery brings.
func (d *Differences) moves(entry, is []manifest.Object) (moved []Move) {
	wasThere := map[manifest.ID]bool{}
	for _, o := range entry {
		wasThere[o.IDInNamespace()] = true
	}
	for _, o := range is {
		id := o.IDInNamespace()
		from, wasDelivered := d.was[id]
		if to := d.is[id]; from != to && (wasDelivered || wasThere[id]) {
			moved = append(moved, Move{o, from, to})
		}
	}
	return moved
}

// IsUnproven reports whether not all objects of a delivery, or of one above it, are known.
func (d *Differences) IsUnproven(delivery manifest.ID) bool {
	return slices.ContainsFunc(d.Above(delivery), func(by manifest.ID) bool {
		return d.unknown.Has(by) || len(d.Unproven[by]) > 0
	})
}

// Above returns an object that delivers, and those that deliver it, before the change and after it.
func (d *Differences) Above(by manifest.ID) (all []manifest.ID) {
	rest := []manifest.ID{by}
	for len(rest) > 0 {
		next := rest[0]
		rest = rest[1:]
		if next == (manifest.ID{}) || slices.Contains(all, next) {
			continue
		}
		all = append(all, next)
		rest = append(rest, d.was[next], d.is[next])
	}
	return all
}
