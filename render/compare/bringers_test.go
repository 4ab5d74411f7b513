package compare

import (
	"strings"
	"testing"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
)

// A delivery prunes an object that it no longer brings, also if another one does.
func TestObjectsThatADeliveryDropsAreMoved(t *testing.T) {
	objects := read(t, deployment)
	bring := func(text string) bringers { // who brings the object, the last one again
		b := bringers{}
		for _, by := range strings.Fields(text) {
			name, isRepeated := strings.CutPrefix(by, "again:")
			if isRepeated {
				b.addRepeated(objects, manifest.ID{Name: name})
			} else {
				b.add(objects, manifest.ID{Name: name})
			}
		}
		return b
	}
	for name, test := range map[string]struct{ before, after, want string }{
		"stays":               {"a", "a", ""},
		"moves":               {"a", "b", "a to b"},
		"the first drops it":  {"a again:b", "b", "a to b"},
		"the second drops it": {"a again:b", "a", "b to a"},
		"a second brings it":  {"a", "a again:b", ""},
	} {
		d := Differences{was: bring(test.before), is: bring(test.after)}
		var got []string
		for _, m := range d.moves(objects) {
			got = append(got, m.From.Name+" to "+m.To.Name)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestDeliveriesBelowAnUnknownOneAreUnproven(t *testing.T) {
	const delivery = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: NAME, namespace: shop}\n---\n"
	objects := read(t, strings.Replace(delivery, "NAME", "a", 1)+strings.Replace(delivery, "NAME", "b", 1))
	in := Input{Objects: objects[:1], Deliveries: []*render.Delivery{
		deliveryOf(objects[0], objects[1:]), // a brings b
		deliveryOf(objects[1], read(t, deployment)),
	}}
	in.Deliveries[0].Unknown = []string{"a reason"}
	d := Differ(gatehouse.All(), in, in)
	b := objects[1].ID()
	if above := d.Above(b); len(above) != 2 || !d.IsUnproven(b) {
		t.Errorf("above b: %v, unproven %t", above, d.IsUnproven(b))
	}
}
