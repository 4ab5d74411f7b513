package condition

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestViolationsNameMisreadParts(t *testing.T) {
	for status, want := range map[string]string{
		`{observedGeneration: 2, conditions: [{type: Ready, status: "True"}]}`:                                       "",
		`{observedGeneration: 2, conditions: [{type: Ready, status: "False"}, {type: Reconciling, status: "True"}]}`: "",
		`{observedGeneration: 2, conditions: [{type: Ready, status: "False"}, {type: Stalled, status: "True"}]}`:     "",
		`{observedGeneration: 2, conditions: [{type: Ready, status: "True", observedGeneration: 2}]}`:                "",
		`{observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}`:                                       "", // kstatus knows that it is old
		`{observedGeneration: -1}`: "",

		`{}`: "not exactly one of Ready, Reconciling and Stalled is True",
		`{observedGeneration: 2, conditions: [{type: Ready, status: "False"}]}`:                                       "not exactly one of Ready, Reconciling and Stalled is True",
		`{observedGeneration: 2, conditions: [{type: Reconciling, status: "True"}, {type: Stalled, status: "True"}]}`: "Stalled is True, and kstatus computes InProgress; not exactly one of Ready, Reconciling and Stalled is True",
		`{observedGeneration: 2, conditions: [{type: Ready, status: "True", observedGeneration: 1}]}`:                 "Ready has the observedGeneration 1, and the status 2",
		`{observedGeneration: -1, conditions: [{type: Ready, status: "False"}, {type: Stalled, status: "True"}]}`:     "kstatus computes InProgress before the controller looked",
		`{observedGeneration: two}`: "unrecognized type: int64",
	} {
		content, err := yaml.YAMLToJSON([]byte("{apiVersion: a.example/v1, kind: A, metadata: {name: a, generation: 2}, status: " + status + "}"))
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(content); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Violations(object), "; "); got != want {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
	}
}
