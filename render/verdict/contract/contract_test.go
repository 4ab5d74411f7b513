package contract

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
)

const gated = `
apiVersion: v1
kind: Pod
metadata: {name: job-1, namespace: shop, labels: {cnat.programming-kubernetes.info/at: job, app: shop}}
spec:
  containers: [{name: job, image: busybox}]
  schedulingGates: [{name: cnat.programming-kubernetes.info/schedule}]
`

func parse(t *testing.T, text string) manifest.Object {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return manifest.Object{Unstructured: u}
}

// Overrides may change anything of a gated Pod but its name and marks for the controller and the tools of a cluster.
func TestOverridesKeepWhatTheControllerNeeds(t *testing.T) {
	replace := func(old, by string) string { return strings.Replace(gated, old, by, 1) }
	for name, test := range map[string]struct{ overridden, want string }{
		"same":             {gated, ""},
		"image":            {replace("busybox", "alpine"), ""},
		"label":            {replace("app: shop", "app: other"), ""},
		"second gate":      {replace("schedule}]", "schedule}, {name: example.com/other}]"), ""},
		"no gate":          {replace("  schedulingGates: [{name: cnat.programming-kubernetes.info/schedule}]\n", ""), "spec.schedulingGates"},
		"option of a sync": {replace("labels: {", "labels: {kustomize.toolkit.fluxcd.io/ssa: Merge, "), "metadata.labels[kustomize.toolkit.fluxcd.io/ssa]"},
		"owner":            {replace("labels:", "ownerReferences: [{kind: Job}], labels:"), "metadata.ownerReferences"},
		"other name":       {replace("job-1", "job-2"), "an override removes or renames Pod shop/job-1"},
	} {
		problems := Overridden(gatehouse.All(), []manifest.Object{parse(t, gated)},
			[]manifest.Object{parse(t, test.overridden)})
		var got strings.Builder
		for _, p := range problems {
			got.WriteString(p.Field + " " + p.Message + "\n")
		}
		if test.want == "" && got.Len() > 0 || !strings.Contains(got.String(), test.want) {
			t.Errorf("%s: %q, want %q", name, got.String(), test.want)
		}
	}
}

// A template is looked for at any depth, and a source object that an override adds is never rendered.
func TestOtherObjectsHaveNothingOfTheContract(t *testing.T) {
	kinds := gatehouse.All()
	nested := parse(t, `
apiVersion: example.com/v1
kind: Stage
metadata: {name: build}
spec: {workers: [{podTemplate: {spec: {schedulingGates: [{name: cnat.programming-kubernetes.info/schedule}]}}}]}
`)
	reserved := ReservedFields(kinds, nested)
	if len(reserved) != 1 || !strings.HasSuffix(reserved[0].Field, "podTemplate.spec.schedulingGates") {
		t.Errorf("problems %v", reserved)
	}
	added := Overridden(kinds, nil, []manifest.Object{parse(t, `
apiVersion: cnat.programming-kubernetes.info/v1alpha1
kind: At
metadata: {name: late, namespace: shop}
`)})
	if len(added) != 1 || !strings.Contains(added[0].Message, "too late to be rendered") {
		t.Errorf("problems %v", added)
	}
}
