package pod

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// The two security contexts together are all that the standard restricted asks for.
func TestSecurityContextsAreRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		pod       *corev1.PodSecurityContext
		container *corev1.SecurityContext
		want      bool
	}{
		"both":             {Security(65534), ContainerSecurity(), true},
		"as root":          {Security(0), ContainerSecurity(), false},
		"of the Pod":       {Security(65534), nil, false},
		"of the container": {nil, ContainerSecurity(), false},
	} {
		spec := &corev1.PodSpec{SecurityContext: test.pod, Containers: []corev1.Container{{Name: "a", SecurityContext: test.container}}}
		results := evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &metav1.ObjectMeta{}, spec)
		if result := policy.AggregateCheckResults(results); result.Allowed != test.want {
			t.Errorf("%s: allowed %t: %s", name, result.Allowed, result.ForbiddenDetail())
		}
	}
	if got := Security(7); *got.RunAsUser != 7 || *got.RunAsGroup != 7 {
		t.Errorf("runs as user %d of group %d", *got.RunAsUser, *got.RunAsGroup)
	}
}

func TestLiteralEscapesVariables(t *testing.T) {
	for text, want := range map[string]string{
		"echo hi":              "echo hi",
		"echo $(CURRENCY)":     "echo $$(CURRENCY)",
		"kill -TERM $$":        "kill -TERM $$$$",
		"$":                    "$$",
		"the price is 5 $":     "the price is 5 $$",
		"echo ${HOME} '$HOME'": "echo $${HOME} '$$HOME'",
	} {
		if got := Literal(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
