package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/test/changes"
	"example.com/gatehouse/test/testkind"
)

// fleet returns a Fleet, and objects rendered objects.
func fleet(children ...string) string {
	return strings.Join(append([]string{`{apiVersion: testing.example.com/v1, kind: Fleet, metadata: {name: f, namespace: ns}}`}, children...), "\n---\n")
}

// ofFleet returns an object that a Fleet was rendered to.
func ofFleet(version, kind, name, rest string) string {
	return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s, namespace: ns, labels: {testing.example.com/fleet: f}}, %s}", version, kind, name, rest)
}

func fleetPod(name string) string {
	return ofFleet("v1", "Pod", name, "spec: {containers: [{name: c, image: i}]}")
}

func fleetFront(image string) string {
	return ofFleet("apps/v1", "Deployment", "f-front", "spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: "+image+"}]}}}")
}

// Rendered objects that are lost are a risk, and nothing is said twice.
func TestKindWithoutReviewTellsItsObjects(t *testing.T) {
	withJobs := testkind.Definition()
	withJobs.Children = append(withJobs.Children, kind.Child{GVK: batchv1.SchemeGroupVersion.WithKind("Job"), Immutable: true})
	kinds, err := registry.New(slices.Concat(gatehouse.Kinds, []kind.Kind{kind.Define(withJobs)})...)
	if err != nil {
		t.Fatal(err)
	}
	job := func(hash string) string {
		return ofFleet("batch/v1", "Job", "f-"+hash, "spec: {template: {spec: {containers: [{name: c, image: i}]}}}")
	}
	open := ofFleet("v1", "Service", "f", "spec: {type: LoadBalancer, ports: [{port: 80}]}")
	config := func(value string) string { return ofFleet("v1", "ConfigMap", "f", "data: {a: "+value+"}") }
	const stops = " | its running Pods are stopped"
	builtBy := func(spec, objects string) func(...string) string {
		return func(children ...string) string {
			return strings.Replace(fleet(children...), "namespace: ns}}", "namespace: ns, annotations: {"+registry.RenderingAnnotation+`: "`+registry.Rendering{Spec: spec, Objects: objects}.String()+`"}}}`, 1)
		}
	}
	for name, test := range map[string]struct {
		before, after string
		want          []string
	}{
		"added":                  {"", fleet(fleetPod("f-0-0"), fleetPod("f-1-0"), fleetFront("i")), []string{"Fleet ns/f: is added", "Pod ns/f-0-0: is added with metadata.labels[testing.example.com/fleet]: f; spec.containers[c].image: i; spec.containers[c].name: c", "Pod ns/f-1-0: is added with metadata.labels[testing.example.com/fleet]: f; spec.containers[c].image: i; spec.containers[c].name: c", "Deployment ns/f-front: is added with metadata.labels[testing.example.com/fleet]: f; spec.replicas: 2; spec.selector.matchLabels.a: b; spec.template.metadata.labels.a: b; spec.template.spec.containers[c].image: i; spec.template.spec.containers[c].name: c"}},
		"added bare":             {"", fleet(), []string{"Fleet ns/f: is added"}},
		"added and open":         {"", fleet(open), []string{"Service ns/f: is added with metadata.labels[testing.example.com/fleet]: f; spec.ports[0].port: 80; spec.type: LoadBalancer | its Pods are reachable from outside of the cluster: spec.type", "Fleet ns/f: is added"}},
		"removed":                {fleet(fleetPod("f-0-0"), fleetFront("i"), open), "", []string{"Pod ns/f-0-0: is removed" + stops, "Deployment ns/f-front: is removed" + stops, "Fleet ns/f: is removed", "Service ns/f: is removed"}},
		"removed, no Pods":       {fleet(config("b")), "", []string{"ConfigMap ns/f: is removed", "Fleet ns/f: is removed"}},
		"message":                {fleet(fleetPod("f-0-0"), fleetPod("f-1-0"), fleetPod("f-2-0")), fleet(fleetPod("f-0-1"), fleetPod("f-1-1"), fleetPod("f-2-1")), []string{"Fleet ns/f: its rendered objects follow: Pod ns/f-0-1 (replaced), Pod ns/f-1-1 (replaced), Pod ns/f-2-1 (replaced)" + stops}},
		"a Job":                  {fleet(job("0123456789")), fleet(job("0123456780")), []string{"Fleet ns/f: its rendered objects follow: Job ns/f-0123456780 (replaced) | it runs again, and its running Pods are stopped"}},
		"fewer":                  {fleet(fleetPod("f-0-0"), fleetPod("f-1-0")), fleet(fleetPod("f-0-0")), []string{"Pod ns/f-1-0: is removed" + stops}},
		"more":                   {fleet(fleetPod("f-0-0")), fleet(fleetPod("f-0-0"), fleetPod("f-1-0")), []string{"Pod ns/f-1-0: is added with metadata.labels[testing.example.com/fleet]: f; spec.containers[c].image: i; spec.containers[c].name: c"}},
		"image":                  {fleet(fleetFront("i")), fleet(fleetFront("i:latest")), []string{"Deployment ns/f-front: Pods are replaced: image i → i:latest"}},
		"both":                   {fleet(fleetFront("i"), fleetPod("f-0-0"), config("b")), fleet(fleetFront("i:latest"), fleetPod("f-0-1"), config("c")), []string{"Fleet ns/f: its rendered objects follow: Pod ns/f-0-1 (replaced)" + stops, "ConfigMap ns/f: changes data.a: b → c", "Deployment ns/f-front: Pods are replaced: image i → i:latest"}},
		"front removed":          {fleet(fleetFront("i"), fleetPod("f-0-0")), fleet(fleetPod("f-0-0")), []string{"Deployment ns/f-front: is removed with its Pods | its service stops"}},
		"spec alone":             {fleet(fleetPod("f-0-0")), strings.Replace(fleet(fleetPod("f-0-0")), "namespace: ns}}", "namespace: ns}, spec: {loud: true}}", 1), []string{"Fleet ns/f: changes spec.loud: unset → true"}},
		"another build":          {builtBy("a", "b")(fleetPod("f-0-0")), builtBy("a", "c")(fleetPod("f-0-1")), []string{"Fleet ns/f: its rendered objects follow: Pod ns/f-0-1 (replaced)" + stops, "Fleet ns/f: is rendered by another build of its kind: this changes 1 Fleet | a controller of the previous build reports ControllerDiffers: roll out the controller of the same build"}},
		"another spec and build": {builtBy("a", "b")(fleetPod("f-0-0")), builtBy("b", "c")(fleetPod("f-0-1")), []string{"Fleet ns/f: its rendered objects follow: Pod ns/f-0-1 (replaced)" + stops}},
		"label alone":            {"", fleetFront("i"), []string{"Deployment ns/f-front: starts with 2 Pods: container c runs image i", "Deployment ns/f-front: is added with metadata.labels[testing.example.com/fleet]: f; spec.selector.matchLabels.a: b; spec.template.metadata.labels.a: b"}},
		"kept":                   {strings.Replace(fleet(fleetPod("f-0-0")), "namespace: ns}}", `namespace: ns, annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}}}`, 1), fleetPod("f-0-0"), []string{"Fleet ns/f: stays in the cluster: kustomize.toolkit.fluxcd.io/prune prevents pruning"}},
	} {
		got := changes.Lines(effects(compare.New(kinds, "prod", compare.Input{Objects: changes.Objects(t, test.before)}, compare.Input{Objects: changes.Objects(t, test.after)}), time.Time{}))
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, test.want)
		}
	}
}

// ruled returns the effects that rules find, in the order of a review.
func ruled(e *compare.Comparison, now time.Time) []effect.Effect {
	return slices.DeleteFunc(effects(e, now), func(e effect.Effect) bool {
		isPlain := slices.Contains([]string{effect.FieldsChanged, effect.ObjectAdded, effect.ObjectRemoved, effect.RenderedFollow}, e.Type)
		return isPlain && e.Risk == ""
	})
}

// The review of a kind replaces other effects on its objects, except changes that the API server
// refuses, and gets all that it needs to.
func TestReviewOfAKindReplacesOtherEffects(t *testing.T) {
	reviewed := testkind.Definition()
	reviewed.Review = func(c kind.Change[testkind.Fleet]) []kind.Effect {
		was, is := c.Before, c.After
		if was == nil || is == nil {
			return []kind.Effect{{Type: "other", What: kind.Say("is there %s, then %s", fmt.Sprint(was != nil), fmt.Sprint(is != nil))}}
		}
		said := []string{was.Spec.Message + " " + is.Spec.Message}
		for _, c := range c.Children {
			line := ""
			if c.Before != nil {
				line += c.Before.GetName()
			}
			line += "→"
			if c.After != nil {
				line += c.After.GetName()
			}
			said = append(said, fmt.Sprintf("%s %d→%d %t %s", line, c.Pods.Before, c.Pods.After, c.Pods.Replaced, c.Pods.Difference.Plain()))
		}
		if is.Spec.Message == "panic" {
			panic("of the kind")
		}
		return []kind.Effect{{Type: "other", What: kind.Say("%s", strings.Join(said, "; "))}}
	}
	reviewed.ReviewCRD = func(c kind.Change[unstructured.Unstructured]) []kind.Effect {
		return []kind.Effect{{Type: "other", What: kind.Say("%s → %s", c.Before.GetLabels()["a"], c.After.GetLabels()["a"])}}
	}
	kinds, err := registry.New(kind.Define(reviewed))
	if err != nil {
		t.Fatal(err)
	}
	says := func(message string, children ...string) string {
		return strings.Replace(fleet(children...), "namespace: ns}}", "namespace: ns}, spec: {message: "+message+"}}", 1)
	}
	crd := func(label string) string {
		return "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: fleets.testing.example.com, labels: {a: " + label + "}}, spec: {group: testing.example.com, names: {kind: Fleet}}}"
	}
	for name, test := range map[string]struct {
		before, after string
		want          []string
	}{
		"added":      {"", says("a", fleetPod("f-0-0")), []string{"Fleet ns/f: is there false, then true"}},
		"removed":    {says("a", fleetPod("f-0-0")), "", []string{"Fleet ns/f: is there true, then false"}},
		"children":   {says("a", fleetPod("f-0-0"), fleetFront("i")), says("b", fleetPod("f-0-1"), fleetFront("i:latest")), []string{"Fleet ns/f: a b; f-front→f-front 2→2 true image i → i:latest; f-0-0→f-0-1 1→1 true other labels or annotations"}},
		"unchanged":  {says("a", fleetFront("i")), says("b", fleetFront("i")), []string{"Fleet ns/f: a b; f-front→f-front 2→2 false"}},
		"refused":    {says("a", fleetFront("i")), says("b", strings.ReplaceAll(fleetFront("i:latest"), "{a: b}", "{a: c}")), []string{"Deployment ns/f-front: the API server refuses this change: spec.selector: field is immutable | Flux and Argo CD fail to apply it: rename it to create a new one", "Fleet ns/f: a b; f-front→f-front 2→2 false"}},
		"unreadable": {says("[a]"), says("b"), []string{`Fleet ns/f: the API server refuses this change: spec.message: server-side apply cannot read the existing value | Flux and Argo CD fail to apply it`}},
		"panic":      {says("a"), says("panic"), []string{"Fleet ns/f: changes | the effect is unknown: its Review panics: of the kind"}},
		"CRD":        {crd("b"), crd("c"), []string{"CustomResourceDefinition fleets.testing.example.com: b → c"}},
	} {
		got := changes.Lines(ruled(compare.New(kinds, "prod", compare.Input{Objects: changes.Objects(t, test.before)}, compare.Input{Objects: changes.Objects(t, test.after)}), time.Time{}))
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, test.want)
		}
	}
}
