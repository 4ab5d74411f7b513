package apiserver

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// examples are objects with the messages of the table, in its order.
var examples = []string{
	`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {initContainers: [{name: i, image: a, resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]}], containers: [{name: a, image: a}]}}`,
	`{apiVersion: v1, kind: PodTemplate, metadata: {name: a}, template: {metadata: {labels: {a: b}}, spec: {volumes: [{name: v, image: {}}], containers: [{name: a, image: a}]}}}`,
	`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}], trafficDistribution: PreferClose}}`,
	`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}], externalIPs: [10.0.0.1]}}`,
	`{apiVersion: v1, kind: ResourceQuota, metadata: {name: a}, spec: {hard: {requests.cpu: 3, limits.cpu: 2}}}`,
	`{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: a}, spec: {driver: A.example.com, pool: {name: p, generation: 1, resourceSliceCount: 1}, nodeName: node, devices: [{name: d}]}}`,
	`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: a.static.k8s.io}, spec: {policyName: a, validationActions: [Deny]}}`,
	`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: as.example.com}, spec: {group: example.com, scope: Cluster, names: {kind: A, plural: as}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {a: {type: array, x-kubernetes-list-type: set, items: {type: object, x-kubernetes-map-type: atomic, properties: {b: {type: string}}}}}}}}]}}`,
}

// Without a server: the first version of a row has its message, and the version before does not. A row for
// versions that are gone is dead.
func TestLaterMessagesExist(t *testing.T) {
	if len(examples) != len(later) {
		t.Fatalf("%d examples for %d rows", len(examples), len(later))
	}
	for i, row := range later {
		if row.since <= Oldest {
			t.Errorf("%s: delete the row, it is of every version", row.text)
			continue
		}
		if has, before := messages(t, row.since, examples[i]), messages(t, row.since-1, examples[i]); !slices.ContainsFunc(has, row.text.MatchString) || slices.ContainsFunc(before, row.text.MatchString) {
			t.Errorf("%s: %s says %q, %s says %q", row.text, row.since, has, row.since-1, before)
		}
	}
	for name, v := range former {
		if v < Oldest {
			t.Errorf("%s: delete the row, %s is gone", name, v)
		}
	}
}

// messages returns the errors and warnings of a version for an object.
func messages(t *testing.T, v Version, text string) (said []string) {
	t.Helper()
	defer v.Enter()()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	kind, ok := v.Lookup(u.GroupVersionKind())
	decoded, err := kind.Decode(u.Object)
	if !ok || err != nil {
		t.Fatal(strings.TrimSpace(text), err)
	}
	errs, warnings := kind.Create(decoded)
	for _, err := range errs {
		said = append(said, err.Error())
	}
	return append(said, warnings...)
}
