package review

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/compare"
)

// The cluster knows past runs: a recreated Pod does not run again.
func TestPastRunsDoNotRunAgain(t *testing.T) {
	added := objectOf(t, `{apiVersion: v1, kind: Pod, metadata: {name: a-1, namespace: ns, labels: {cnat.programming-kubernetes.info/at: a}, annotations: {gatehouse.example.com/digest: "sha256:1"}}}`)
	const at = `{apiVersion: cnat.programming-kubernetes.info/v1alpha1, kind: At, metadata: {name: a, namespace: ns}, spec: {schedule: "2020-01-01T00:00:00Z", command: c}`
	for status, want := range map[string]string{
		`}`: "runs again, at once",
		`, status: {phase: DONE, run: {digest: "sha256:1"}}}`:                       "",
		`, status: {phase: PENDING, run: {digest: "sha256:2"}, ran: ["sha256:1"]}}`: "",
		`, status: {phase: PENDING, run: {digest: "sha256:1"}}}`:                    "runs again, at once",
	} {
		e := compare.Differences{Kinds: gatehouse.All(), Changes: []compare.Change{{After: added}},
			Unchanged: []*unstructured.Unstructured{objectOf(t, at+status)}}.With(compare.Facts{Name: "prod"})
		reviewed := New(&compare.Diff{Environments: []*compare.Comparison{e}}, time.Now()).Environments[0]
		got := ""
		for _, effect := range reviewed.Effects {
			got += string(effect.What)
		}
		if !strings.HasPrefix(got, want) || want == "" && strings.Contains(got, "runs") {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
		if reviewed.Counts[compare.Added] != 1 || reviewed.Counts.String() != "1 added" {
			t.Errorf("%+v", reviewed.Counts)
		}
	}
}

func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}
