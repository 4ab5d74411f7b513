package pod

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func specOf(t *testing.T, text string) *corev1.PodSpec {
	t.Helper()
	spec := &corev1.PodSpec{}
	if err := yaml.UnmarshalStrict([]byte(text), spec); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return spec
}

func TestReviewersReadWhatRuns(t *testing.T) {
	for text, want := range map[string]string{
		`{containers: [{name: web, image: "web:1"}]}`:                                                      "container web runs image web:1",
		`{containers: [{name: web, image: "web:1", command: [serve], args: [--fast, a b]}]}`:               "container web runs image web:1: serve --fast a b",
		`{containers: [{name: web, image: "web:1", args: [--fast]}]}`:                                      "container web runs image web:1 with arguments --fast",
		`{containers: [{name: web, image: "web:1", livenessProbe: {exec: {command: [cat, /tmp/ready]}}}]}`: "container web runs image web:1; runs cat /tmp/ready in its livenessProbe",
		`{containers: [{name: web, image: "web:1", livenessProbe: {httpGet: {port: 80}}}]}`:                "container web runs image web:1",
		`{containers: [{name: a, image: a}, {name: b, image: b}]}`:                                         "container a runs image a; container b runs image b",

		// A sidecar starts before the containers, and so do init containers: they come first.
		`{containers: [{name: c, image: c}], initContainers: [{name: i, image: i}, {name: s, image: s, restartPolicy: Always}], ephemeralContainers: [{name: e, image: e}]}`: "init container i runs image i; sidecar s runs image s; container c runs image c; ephemeral container e runs image e",
	} {
		if got := SayAll(specOf(t, text)).Plain(); got != want {
			t.Errorf("%s:\n%s, want\n%s", text, got, want)
		}
	}
}

func TestProgramsNameTheirList(t *testing.T) {
	spec := specOf(t, `{containers: [{name: c}], initContainers: [{name: i}, {name: s, restartPolicy: Always}], ephemeralContainers: [{name: e}]}`)
	want := map[string]string{"i": "initContainers", "s": "initContainers", "c": "containers", "e": "ephemeralContainers"}
	got := map[string]string{}
	for _, p := range Programs(spec) {
		got[p.Name] = p.List
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("lists %v, want %v", got, want)
	}
}

func TestHooksAreAllCommandsBesideTheProgram(t *testing.T) {
	spec := specOf(t, `{containers: [{name: web, command: [serve],
  lifecycle: {postStart: {exec: {command: [a]}}, preStop: {exec: {command: [b]}}},
  livenessProbe: {exec: {command: [c]}}, readinessProbe: {exec: {command: [d]}}, startupProbe: {exec: {command: [e, f]}}}]}`)
	want := []Hook{{"postStart", []string{"a"}}, {"preStop", []string{"b"}}, {"livenessProbe", []string{"c"}}, {"readinessProbe", []string{"d"}}, {"startupProbe", []string{"e", "f"}}}
	if got := Programs(spec)[0].Hooks(); !reflect.DeepEqual(got, want) {
		t.Errorf("hooks %v, want %v", got, want)
	}
}
