package at

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind"
)

// The Pod runs, and not the spec: an override may change one without the other.
func TestReviewTellsOverrides(t *testing.T) {
	const plain = "containers: [{name: command, image: busybox, command: [sh, -c, ./backup.sh]}]"
	at := func(schedule string) *cnatv1alpha1.At {
		return &cnatv1alpha1.At{Spec: cnatv1alpha1.AtSpec{Schedule: schedule, Command: "./backup.sh", Image: "busybox"}}
	}
	rendered := func(name, spec string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		text := "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", annotations: {gatehouse.example.com/digest: d}}, spec: {" + spec + "}}"
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		return o
	}
	replace := func(old, now string) string { return strings.Replace(plain, old, now, 1) }
	const future = "2027-01-01T00:00:00Z"
	const replaced = "its waiting Pod is replaced; runs at 2027-01-01T00:00:00Z"
	for name, test := range map[string]struct{ before, after, want string }{
		"nothing":     {plain, plain + ", nodeSelector: {a: b}", replaced},
		"command":     {plain, replace("./backup.sh", "curl evil"), replaced + "; an override changes its command to sh -c curl evil | its Pod differs from the spec"},
		"arguments":   {plain, replace("]}", "], args: [x]}"), replaced + "; an override changes its command to sh -c ./backup.sh x | its Pod differs from the spec"},
		"image":       {plain, replace("busybox", "evil"), "runs at 2027-01-01T00:00:00Z in evil instead of busybox; an override changes its image to evil | its Pod differs from the spec"},
		"container":   {plain, replace("]}]", "]}, {name: x, image: evil, command: [u]}]"), replaced + "; an override adds: container x runs image evil: u | its Pod differs from the spec"},
		"init":        {plain, plain + ", initContainers: [{name: x, image: evil}]", replaced + "; an override adds: init container x runs image evil | its Pod differs from the spec"},
		"hook":        {plain, replace("]}]", "], lifecycle: {postStart: {exec: {command: [u]}}}}]"), replaced + "; an override adds a hook: it runs u in its postStart | its Pod differs from the spec"},
		"account":     {plain, plain + ", serviceAccountName: root", replaced + "; an override changes its ServiceAccount to root | its Pod differs from the spec"},
		"old account": {plain, plain + ", serviceAccount: root", replaced + "; an override changes its ServiceAccount to root | its Pod differs from the spec"},
		"as before":   {replace("./backup.sh", "a"), replace("./backup.sh", "a") + ", nodeSelector: {a: b}", replaced + "; an override changes its command to sh -c a"},
		"moved":       {plain, strings.Replace(plain, "containers", "initContainers", 1), replaced + "; an override adds: init container command runs image busybox: sh -c ./backup.sh; an override removes its command | its Pod differs from the spec"},
	} {
		got := review(kind.Change[cnatv1alpha1.At]{
			Before: at(future), After: at(future), Now: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC),
			Children: []kind.ChildChange{{Before: rendered("a-1", test.before), After: rendered("a-2", test.after)}},
		})
		said := ""
		for _, e := range got {
			said += e.What.Plain()
			if e.Risk != "" {
				said += " | " + e.Risk.Plain()
			}
		}
		if said != test.want {
			t.Errorf("%s: %q\nwant %q", name, said, test.want)
		}
	}
}

func TestReviewClaimsOnlyFieldsThatItTells(t *testing.T) {
	at := func(schedule, command string) *cnatv1alpha1.At {
		return &cnatv1alpha1.At{Spec: cnatv1alpha1.AtSpec{Schedule: schedule, Command: command}}
	}
	pods := []kind.ChildChange{{
		Before: &unstructured.Unstructured{Object: map[string]any{"kind": "Pod", "metadata": map[string]any{"name": "a-1", "annotations": map[string]any{kind.DigestAnnotation: "1"}}}},
		After:  &unstructured.Unstructured{Object: map[string]any{"kind": "Pod", "metadata": map[string]any{"name": "a-2", "annotations": map[string]any{kind.DigestAnnotation: "2"}}}},
	}}
	long := strings.Repeat("a", 1000)
	for _, test := range []struct {
		before, after *cnatv1alpha1.At
		want          []string
	}{
		{nil, at("2027-01-01T00:00:00Z", "a"), []string{"spec.schedule", "spec.command"}},
		{nil, at("2027-01-01T00:00:00Z", long), []string{"spec.schedule"}},
		{at("2027-01-01T00:00:00Z", "a"), at("2027-01-02T00:00:00Z", "b"), []string{"spec.schedule"}},
		{at("2027-01-01T00:00:00Z", "a"), at("2027-01-01T00:00:00Z", "b"), []string{"spec.command"}},
		{at("2027-01-01T00:00:00Z", long), at("2027-01-01T00:00:00Z", long+"b"), nil},
	} {
		got := review(kind.Change[cnatv1alpha1.At]{Before: test.before, After: test.after, Children: pods})
		if len(got) != 1 || !slices.Equal(got[0].Fields, test.want) {
			t.Errorf("%+v, want %q", got, test.want)
		}
	}
}
