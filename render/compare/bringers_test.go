package compare

import (
	"strings"
	"testing"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/manifest"
)

// deliveries returns an environment with Kustomizations a and b, which bring objects; no objects if unknown.
func deliveries(t *testing.T, a, b string) Input {
	t.Helper()
	const delivery = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: NAME, namespace: shop}\n---\n"
	in := Input{Objects: read(t, strings.Replace(delivery, "NAME", "a", 1)+strings.Replace(delivery, "NAME", "b", 1))}
	for i, text := range []string{a, b} {
		of := &release.Installed{Release: release.Release{Source: in.Objects[i]}}
		switch known, isRepeated := strings.CutPrefix(text, "repeated:"); {
		case isRepeated:
			of.Objects = []manifest.Object{}
			of.Repeated = read(t, known)
		case text != "unknown":
			of.Objects = append([]manifest.Object{}, read(t, text)...)
		}
		in.Installed = append(in.Installed, of)
	}
	return in
}

// A delivery prunes what it no longer brings, whoever else brings it.
func TestObjectsThatADeliveryDropsAreMoved(t *testing.T) {
	for name, test := range map[string]struct {
		before, after [2]string
		want          string // the moves, and then the actions
	}{
		"stays":                    {[2]string{deployment, ""}, [2]string{deployment, ""}, ""},
		"moves":                    {[2]string{deployment, ""}, [2]string{"", deployment}, "a to b"},
		"the first drops it":       {[2]string{deployment, "repeated:" + deployment}, [2]string{"", deployment}, "a to b"},
		"the second drops it":      {[2]string{deployment, "repeated:" + deployment}, [2]string{deployment, ""}, "b to a"},
		"a second brings it":       {[2]string{deployment, ""}, [2]string{deployment, "repeated:" + deployment}, ""},
		"new in an empty delivery": {[2]string{"", ""}, [2]string{"", deployment}, "added"},
		"of an unknown delivery":   {[2]string{"unknown", ""}, [2]string{deployment, ""}, ""},
	} {
		d := Differ(gatehouse.All(), deliveries(t, test.before[0], test.before[1]), deliveries(t, test.after[0], test.after[1]))
		var got []string
		for _, m := range d.Moved {
			got = append(got, m.From.Name+" to "+m.To.Name)
		}
		for _, c := range d.Changes {
			got = append(got, string(c.Action()))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestDeliveriesBelowAnUnknownOneAreUnproven(t *testing.T) {
	in := deliveries(t, "", deployment)
	in.Installed[0].Objects = in.Objects[1:] // a brings b
	in.Objects = in.Objects[:1]
	in.Installed[0].Reasons = []string{"a reason"}
	d := Differ(gatehouse.All(), in, in)
	b := in.Installed[1].Source.ID()
	if above := d.Above(b); len(above) != 2 || !d.IsUnproven(b) {
		t.Errorf("above b: %v, unproven %t", above, d.IsUnproven(b))
	}
}
