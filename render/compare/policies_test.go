package compare

import (
	"strings"
	"testing"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/manifest"
)

// An ApplicationSet updates and deletes its Applications as its applicationsSync allows, and the objects of an
// Application that stays do so, too. Their IDs tell the Applications of one ApplicationSet apart.
func TestApplicationSetLeavesApplications(t *testing.T) {
	const application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: NAME, namespace: argocd, finalizers: [FINALIZER]}\nspec: {project: VALUE}\n---\n"
	side := func(policy, finalizer string, projects map[string]string) (in Input) {
		in.Objects = read(t, "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: set, namespace: argocd}\nspec: {syncPolicy: {applicationsSync: "+policy+"}}\n")
		var applications []manifest.Object
		for _, name := range []string{"a", "b"} {
			if projects[name] == "" {
				continue
			}
			made := read(t, strings.NewReplacer("NAME", name, "VALUE", projects[name], "FINALIZER", finalizer).Replace(application))[0]
			applications = append(applications, made)
			// a chart of the Application has its ApplicationSet as the object in git
			chart := deliveryOf(in.Objects[0], nil)
			chart.Chart = &release.Installed{Release: release.Release{Source: in.Objects[0], ID: made.IDInNamespace()}}
			in.Deliveries = append(in.Deliveries, chart,
				deliveryOf(made, read(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+name+", namespace: shop}\n")))
		}
		in.Deliveries = append(in.Deliveries, deliveryOf(in.Objects[0], applications))
		return in
	}
	const cascading = "resources-finalizer.argocd.argoproj.io/background"
	for _, test := range []struct {
		policy, finalizer string
		want              [3]bool // whether the removed and its object stay, and the changed as it is
	}{
		{"sync", cascading, [3]bool{}},
		{"create-only", cascading, [3]bool{true, true, true}},
		{"create-update", cascading, [3]bool{true, true, false}},
		{"create-delete", cascading, [3]bool{false, false, true}},
		{"sync", "example.com/other", [3]bool{false, true, false}},
		{"sync}, ignoreApplicationDifferences: [{name: b, jqPathExpressions: [.spec.project]}], x: {a: b", cascading, [3]bool{false, false, true}},
		{"sync}, ignoreApplicationDifferences: [{name: a, jsonPointers: [/spec/project]}], x: {a: b", cascading, [3]bool{}},
	} {
		policy, want := test.policy, test.want
		both := New(gatehouse.All(), "prod", side(policy, test.finalizer, map[string]string{"a": "x", "b": "x"}), side(policy, test.finalizer, map[string]string{"b": "z"}))
		got := map[string]bool{}
		for _, c := range both.Changes {
			got[c.Object().String()] = KeptBy(c) != nil || c.Action() == Changed && LeftBy(c) != nil
		}
		wanted := map[string]bool{"Application argocd/a": want[0], "ConfigMap shop/a": want[1], "Application argocd/b": want[2]}
		for name, is := range wanted {
			if stays, isThere := got[name]; !isThere || stays != is || len(got) != 3 {
				t.Errorf("%s: %s stays: %t of %v", policy, name, is, got)
			}
		}
	}
}
