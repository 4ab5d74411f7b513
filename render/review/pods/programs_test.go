package pods

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/pod"
)

// A protection is lost with another name of its container, too.
func TestRenamedContainersAreCompared(t *testing.T) {
	const strong = "securityContext: {readOnlyRootFilesystem: true}, readinessProbe: {tcpSocket: {port: 1}}"
	for name, test := range map[string]struct{ before, after string }{
		"the same image":   {"containers: [{name: a, image: x}, {name: b, image: web:1, " + strong + "}]", "containers: [{name: c, image: web:2}, {name: a, image: x}]"},
		"only one is left": {"containers: [{name: a, image: x}, {name: b, image: web:1, " + strong + "}]", "containers: [{name: a, image: x}, {name: c, image: other}]"},
		"another list":     {"containers: [{name: a, image: x}, {name: c, image: web:1, " + strong + "}]", "containers: [{name: a, image: x}], initContainers: [{name: c, image: web:1}]"},
	} {
		was, is := podSpec(t, test.before), podSpec(t, test.after)
		var got []string
		for _, e := range weaker(was, is) {
			got = append(got, e.What.Plain())
		}
		if want := []string{"readOnlyRootFilesystem is removed from container c", "readinessProbe is removed from container c"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// The time for a hostile list is linear in its length.
func TestManyContainersAndValuesAreReviewedQuickly(t *testing.T) {
	spec := func(capability string) *corev1.PodSpec {
		s := &corev1.PodSpec{}
		for i := range 100 {
			c := corev1.Container{Name: fmt.Sprint(capability, i), SecurityContext: &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}}
			for j := range 500 {
				c.SecurityContext.Capabilities.Add = append(c.SecurityContext.Capabilities.Add, corev1.Capability(fmt.Sprint(capability, j)))
			}
			s.Containers = append(s.Containers, c)
		}
		return s
	}
	start := time.Now()
	was, is := spec("a"), spec("b")
	_ = weaker(was, is)
	if took := time.Since(start); took > time.Minute {
		t.Error(took)
	}
	if said := pod.SayAll(is); strings.Count(string(said), ";") != 99 || said == "" {
		t.Error(said)
	}
}

func podSpec(t *testing.T, fields string) *corev1.PodSpec {
	t.Helper()
	spec := &corev1.PodSpec{}
	if err := yaml.UnmarshalStrict([]byte("{"+fields+"}"), spec); err != nil {
		t.Fatal(err, fields)
	}
	return spec
}
