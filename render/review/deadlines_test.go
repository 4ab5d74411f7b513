package review_test

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// A default deadline of an environment applies to each At, and its change is an effect.
func TestReviewReportsDefaultDeadlines(t *testing.T) {
	definition, err := os.ReadFile("../../apis/crds/cnat.programming-kubernetes.info_ats.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const before = "-- before/environments/prod/kustomization.yaml --\nresources: [definition.yaml, ats.yaml]\n"
	const after = "-- after/environments/prod/kustomization.yaml --\nresources: [definition.yaml, ats.yaml]\n"
	patch := func(seconds string) string {
		return "patches:\n- target: {kind: CustomResourceDefinition}\n  patch: |\n    - {op: add, path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/startingDeadlineSeconds/default, value: " + seconds + "}\n"
	}
	const at = "---\n{apiVersion: cnat.programming-kubernetes.info/v1alpha1, kind: At, metadata: {name: %, namespace: shop}, spec: {schedule: \"2026-05-31T12:00:00Z\", command: echo}}\n"
	for name, test := range map[string]struct {
		before, after, ats string
		want, not          []string
	}{
		"new past At": {before + patch("3600"), after + patch("3600"), strings.Replace(at, "%", "a", 1) + strings.Replace(at, "%", "b", 1),
			[]string{"does not run", "to start within 3600 seconds of"}, []string{"at once", "instead of"}},
		"said": {before, after + patch("3600"), "", []string{"starts at most 3600 seconds late instead of however late"}, []string{"⚠️"}},
		"changed": {before + patch("60"), after + patch("1"), "",
			[]string{"starts at most 1 second late instead of at most 60 seconds late"}, []string{"⚠️"}},
		"default removed": {before + patch("60"), after, "",
			[]string{"| ⚠️ | `CustomResourceDefinition ats.cnat.programming-kubernetes.info` | an At without a starting deadline of its own starts however late instead of at most 60 seconds late<br>**a new cluster, or one restored from a backup, would run again all that is past**<br>changes"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			archive := txtar.Parse([]byte(test.before + "-- before/environments/prod/ats.yaml --\n" + strings.Replace(at, "%", "a", 1) + test.after))
			archive.Files = append(archive.Files, txtar.File{Name: "before/environments/prod/definition.yaml", Data: definition})
			if test.ats != "" {
				archive.Files = append(archive.Files, txtar.File{Name: "after/environments/prod/ats.yaml", Data: []byte(test.ats)})
			}
			comment := reviewOf(t, archive).Markdown(gitHub, "")
			effects, _, _ := strings.Cut(comment, "<details>")
			for _, want := range test.want {
				if !strings.Contains(effects, want) {
					t.Errorf("has no %q:\n%s", want, effects)
				}
			}
			for _, not := range test.not {
				if strings.Contains(effects, not) {
					t.Errorf("has %q:\n%s", not, effects)
				}
			}
		})
	}
}
