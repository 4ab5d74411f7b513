package verdict_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/diff"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"example.com/gatehouse/test/apiserver"
)

// TestCompareAPIServers prints the differences between two API servers, the programs in OLD and NEW, on the objects
// of the tables. `make compare-apiservers` runs it.
func TestCompareAPIServers(t *testing.T) {
	programs := []string{os.Getenv("OLD"), os.Getenv("NEW")}
	if slices.Contains(programs, "") {
		t.Skip("OLD and NEW name no programs")
	}
	var objects []*unstructured.Unstructured
	var titles []string
	for _, file := range tables(t) {
		for _, c := range readCases(t, file, len(objects)) {
			objects, titles = append(objects, c.Unstructured), append(titles, c.String())
		}
	}
	said := make([][]description, len(programs))
	for i, program := range programs {
		compared, stop, err := apiserver.Start(t.TempDir(), func(s *envtest.APIServer) { s.Path = program })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := envtest.InstallCRDs(compared.Admin, envtest.CRDInstallOptions{Paths: []string{"../../apis/crds"}}); err != nil {
			t.Fatal(err)
		}
		said[i] = newJudgeOf(t, compared.Admin).describe(t, objects)
		if err := stop(); err != nil {
			t.Error(err)
		}
		programs[i] = compared.Kubernetes
	}
	differences := 0
	for i, title := range titles {
		before, after := said[0][i], said[1][i]
		if text := diff.Diff(before.facts, after.facts); text != "" {
			differences++
			fmt.Printf("%s %q %q\n%s\n", title, before.messages, after.messages, text)
		}
	}
	fmt.Printf("%s (-) and %s (+) differ on %d of %d objects\n", programs[0], programs[1], differences, len(objects))
}

// description is the answer of an API server on an object. Its messages may differ, its facts should not.
type description struct {
	facts    map[string]any
	messages []string
}

// describe returns the answers of an API server on objects: the verdicts, the warnings, and the stored objects.
func (j *judge) describe(t *testing.T, objects []*unstructured.Unstructured) []description {
	t.Helper()
	all := make([]description, len(objects))
	for i, answer := range j.ask(t.Context(), objects) {
		all[i] = description{map[string]any{"refused": answer.merged().refused, "warnings": answer.merged().warnings}, answer.merged().messages}
		if resource, err := j.resource(objects[i]); err == nil && !answer.create.refused && !answer.apply.isUnknown {
			stored, err := resource.Create(t.Context(), objects[i].DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err != nil {
				t.Fatal(err)
			}
			if stored.GetGenerateName() != "" {
				stored.SetName("") // it is random
			}
			all[i].facts["stored"] = withoutCluster(t, stored)
		}
	}
	return all
}
