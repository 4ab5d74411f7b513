package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/diff"
	"example.com/gatehouse/render/testkind"
)

// fleet is a Fleet, and objects that it was rendered to.
func fleet(children ...string) string {
	return strings.Join(append([]string{`{apiVersion: testing.example.com/v1, kind: Fleet, metadata: {name: f, namespace: ns}}`}, children...), "\n---\n")
}

// ofFleet is an object that a Fleet was rendered to.
func ofFleet(version, kind, name, rest string) string {
	return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s, namespace: ns, labels: {testing.example.com/fleet: f}}, %s}", version, kind, name, rest)
}

func fleetPod(name string) string {
	return ofFleet("v1", "Pod", name, "spec: {containers: [{name: c, image: i}]}")
}

func fleetFront(image string) string {
	return ofFleet("apps/v1", "Deployment", "f-front", "spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: "+image+"}]}}}")
}

// What becomes of a kind of somebody else is said by what it is rendered to, and of that
// nothing is said twice.
func TestOtherKinds(t *testing.T) {
	withJobs := testkind.Kind
	withJobs.Children = append(slices.Clone(withJobs.Children), kind.Child{GVK: batchv1.SchemeGroupVersion.WithKind("Job"), Immutable: true})
	kinds, err := registry.New(slices.Concat(gatehouse.Kinds, []kind.Kind{withJobs})...)
	if err != nil {
		t.Fatal(err)
	}
	job := func(hash string) string {
		return ofFleet("batch/v1", "Job", "f-"+hash, "spec: {template: {spec: {containers: [{name: c, image: i}]}}}")
	}
	open := ofFleet("v1", "Service", "f", "spec: {type: LoadBalancer, ports: [{port: 80}]}")
	config := func(value string) string { return ofFleet("v1", "ConfigMap", "f", "data: {a: "+value+"}") }
	const stops = " | what runs in them is stopped"
	for name, test := range map[string]struct {
		before, after string
		want          []string
	}{
		"added":            {"", fleet(fleetPod("f-0-0"), fleetPod("f-1-0"), fleetFront("i")), []string{"Fleet ns/f: is added, with 1 Deployment and 2 Pods"}},
		"added bare":       {"", fleet(), []string{"Fleet ns/f: is added"}},
		"added and open":   {"", fleet(open), []string{"Service ns/f: gets the type LoadBalancer | its Pods can be reached from outside of the cluster", "Fleet ns/f: is added"}},
		"removed":          {fleet(fleetPod("f-0-0"), fleetFront("i"), open), "", []string{"Fleet ns/f: is removed, with 1 Deployment, 1 Pod and 1 Service | what runs of it is stopped"}},
		"removed, no Pods": {fleet(config("b")), "", []string{"Fleet ns/f: is removed, with 1 ConfigMap"}},
		"message":          {fleet(fleetPod("f-0-0"), fleetPod("f-1-0"), fleetPod("f-2-0")), fleet(fleetPod("f-0-1"), fleetPod("f-1-1"), fleetPod("f-2-1")), []string{"Fleet ns/f: replaces 3 Pods" + stops}},
		"a Job":            {fleet(job("0123456789")), fleet(job("0123456780")), []string{"Fleet ns/f: replaces 1 Job | it runs again, and what still runs of it is stopped"}},
		"fewer":            {fleet(fleetPod("f-0-0"), fleetPod("f-1-0")), fleet(fleetPod("f-0-0")), []string{"Fleet ns/f: removes 1 Pod" + stops}},
		"more":             {fleet(fleetPod("f-0-0")), fleet(fleetPod("f-0-0"), fleetPod("f-1-0")), []string{"Fleet ns/f: adds 1 Pod"}},
		"image":            {fleet(fleetFront("i")), fleet(fleetFront("j")), []string{"Deployment ns/f-front: Pods are replaced: image i → j"}},
		"both":             {fleet(fleetFront("i"), fleetPod("f-0-0"), config("b")), fleet(fleetFront("j"), fleetPod("f-0-1"), config("c")), []string{"Fleet ns/f: replaces 1 Pod, changes 1 ConfigMap" + stops, "Deployment ns/f-front: Pods are replaced: image i → j"}},
		"front removed":    {fleet(fleetFront("i"), fleetPod("f-0-0")), fleet(fleetPod("f-0-0")), []string{"Deployment ns/f-front: is removed with its Pods | what it serves is gone"}},
		"spec alone":       {fleet(fleetPod("f-0-0")), strings.Replace(fleet(fleetPod("f-0-0")), "namespace: ns}}", "namespace: ns}, spec: {loud: true}}", 1), nil},
		"label alone":      {"", fleetFront("i"), []string{"Deployment ns/f-front: starts with 2 Pods"}},
		"kept":             {strings.Replace(fleet(fleetPod("f-0-0")), "namespace: ns}}", `namespace: ns, annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}}}`, 1), fleetPod("f-0-0"), []string{"Fleet ns/f: stays in the cluster: kustomize.toolkit.fluxcd.io/prune keeps it from being pruned"}},
	} {
		var got []string
		for _, e := range effectsOf(diff.Objects(kinds, "prod", manifests(t, test.before), manifests(t, test.after)), time.Time{}) {
			line := e.Object.String() + ": " + e.What.Plain()
			if e.Risk != "" {
				line += " | " + e.Risk.Plain()
			}
			got = append(got, line)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, test.want)
		}
	}
}
