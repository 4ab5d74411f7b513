package podsecurity

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
)

// objectsOf parses YAML documents.
func objectsOf(t *testing.T, documents string) (objects []manifest.Object) {
	t.Helper()
	for _, document := range strings.Split(documents, "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, manifest.Object{Unstructured: u, Written: u})
	}
	return objects
}

func TestCheckNamesFieldsOfErrorsAndWarnings(t *testing.T) {
	const obedient = "securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}"
	tests := []struct {
		name, labels, spec string
		errors, warnings   []string
	}{
		{name: "no labels", labels: "a: b", spec: "hostPID: true"},
		{
			name: "enforce", labels: "pod-security.kubernetes.io/enforce: baseline", spec: "hostPID: true",
			errors: []string{"spec.hostPID"},
		},
		{
			name: "warn", labels: "pod-security.kubernetes.io/warn: baseline", spec: "hostPID: true",
			warnings: []string{"spec.hostPID"},
		},
		{
			name: "audit", labels: "pod-security.kubernetes.io/audit: baseline", spec: "hostPID: true",
			warnings: []string{"spec.hostPID"},
		},
		{
			name: "each check once, by the most severe label",
			labels: "pod-security.kubernetes.io/enforce: baseline, pod-security.kubernetes.io/warn: restricted, " +
				"pod-security.kubernetes.io/audit: restricted, pod-security.kubernetes.io/audit-version: v1.20",
			spec:   "hostPID: true, " + obedient,
			errors: []string{"spec.hostPID"},
			warnings: []string{
				"spec.containers[0].securityContext.allowPrivilegeEscalation",
				"spec.containers[0].securityContext.capabilities.drop",
			},
		},
		{
			name: "a version with fewer checks", spec: obedient,
			labels: "pod-security.kubernetes.io/enforce: restricted, pod-security.kubernetes.io/enforce-version: v1.21",
			errors: []string{"spec.containers[0].securityContext.allowPrivilegeEscalation"},
		},
		{
			name: "a future version", spec: obedient,
			labels: "pod-security.kubernetes.io/enforce: restricted, pod-security.kubernetes.io/enforce-version: v1.99",
			errors: []string{
				"spec.containers[0].securityContext.allowPrivilegeEscalation",
				"spec.containers[0].securityContext.capabilities.drop",
			},
		},
		{
			name: "user namespaces", labels: "pod-security.kubernetes.io/enforce: baseline",
			spec: "hostUsers: false, initContainers: [{name: i, image: i, securityContext: {procMount: Unmasked}}]",
		},
		{
			name: "user namespaces in a version without an exemption", spec: "hostUsers: false, initContainers: [{name: i, image: i, securityContext: {procMount: Unmasked}}]",
			labels: "pod-security.kubernetes.io/enforce: baseline, pod-security.kubernetes.io/enforce-version: v1.34",
			errors: []string{"spec.initContainers[0].securityContext.procMount"},
		},
		{
			name: "a port that is a port of the host by default", labels: "pod-security.kubernetes.io/enforce: baseline",
			spec:   "hostNetwork: true, initContainers: [{name: i, image: i, ports: [{containerPort: 80}]}]",
			errors: []string{"spec.hostNetwork", "spec.initContainers[0]"},
		},
		{
			name: "a quantity of endless size", labels: "pod-security.kubernetes.io/enforce: baseline",
			spec: `hostPID: true, overhead: {cpu: "1e-999999999"}`,
		},
		{
			name: "annotations", labels: "pod-security.kubernetes.io/enforce: restricted, pod-security.kubernetes.io/enforce-version: v1.7",
			spec:   "securityContext: {runAsNonRoot: false}",
			errors: []string{"spec", "spec.securityContext.runAsNonRoot"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			problems := Check(objectsOf(t, "{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {"+test.labels+"}}}\n---\n"+
				"{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: a, annotations: {container.seccomp.security.alpha.kubernetes.io/c: unconfined}},"+
				" spec: {containers: [{name: c, image: c}], "+test.spec+"}}"), apiserver.Newest, manifest.Problem.Position)
			var errors, warnings []string
			for _, p := range problems {
				if p.Warning {
					warnings = append(warnings, p.Field)
				} else {
					errors = append(errors, p.Field)
				}
			}
			if !slices.Equal(errors, test.errors) || !slices.Equal(warnings, test.warnings) {
				t.Errorf("errors %v, warnings %v, want %v and %v", errors, warnings, test.errors, test.warnings)
			}
		})
	}
}
