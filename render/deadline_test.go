package render

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/kind/gatehouse"
)

// deadlineAt is an At with a name and further fields in its spec, due in a year.
const deadlineAt = "---\n{apiVersion: cnat.programming-kubernetes.info/v1alpha1, kind: At, metadata: {name: %s, namespace: shop}, spec: {command: echo%s, schedule: \"%d-01-01T00:00:00Z\"}}\n"

// writeWithDefinitions writes an environment with Ats and the CustomResourceDefinitions. Its
// kustomization begins with text.
func writeWithDefinitions(t *testing.T, kustomization, ats string) (root string) {
	t.Helper()
	root = write(t, "-- environments/prod/kustomization.yaml --\n"+kustomization+
		"\nmetadata: {annotations: {gatehouse.example.com/elsewhere: Deployment gatehouse-system/gatehouse-controller}}\n"+
		"-- environments/prod/ats.yaml --\n"+ats)
	if err := os.CopyFS(filepath.Join(root, "crds"), os.DirFS("../apis/crds")); err != nil {
		t.Fatal(err)
	}
	return root
}

// patched returns a kustomization with the patch from a warning, for a deadline.
func patched(patch string) string {
	return "resources: [../../crds, ats.yaml]\npatches:\n- target: {kind: CustomResourceDefinition, name: ats.cnat.programming-kubernetes.info}\n  patch: |\n    - " + patch
}

// If no At has a deadline, the first At that could start late is warned of with a patch, and an At in
// the past with a warning of its own.
func TestWarningsSuggestDeadline(t *testing.T) {
	const patch = "{op: add, path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/startingDeadlineSeconds/default, value: 3600}"
	const all = "resources: [../../crds, ats.yaml]"
	local := patched(`{op: add, path: /metadata/annotations/config.kubernetes.io~1local-config, value: "true"}`)
	at := func(name, more string, year int) string { return fmt.Sprintf(deadlineAt, name, more, year) }
	const isLate, isPast = "may start however late", "is past"
	for name, test := range map[string]struct{ kustomization, ats, want string }{
		"each Ats":              {all, at("a", "", 2027) + at("b", "", 2027), "a " + isLate},
		"one of its own":        {all, at("a", ", startingDeadlineSeconds: 5", 2027) + at("b", "", 2027), "b " + isLate},
		"all of their own":      {all, at("a", ", startingDeadlineSeconds: 5", 2027) + at("b", ", startingDeadlineSeconds: 5", 2020), ""},
		"null":                  {all, at("a", ", startingDeadlineSeconds: null", 2027), "a " + isLate},
		"suspended":             {all, at("a", ", suspend: true", 2027), ""},
		"past":                  {all, at("a", "", 2020), "a " + isPast},
		"past and to come":      {all, at("a", "", 2020) + at("b", "", 2027), "a " + isPast + ", b " + isLate},
		"a default":             {patched(patch), at("a", "", 2020) + at("b", "", 2027), ""},
		"a local definition":    {local, at("a", "", 2027), "a " + isLate},
		"a local default":       {strings.Replace(local, "    - ", "    - "+patch+"\n    - ", 1), at("a", "", 2020), ""},
		"no definition":         {"resources: [ats.yaml]", at("a", "", 2027), ""},
		"no definition, past":   {"resources: [ats.yaml]", at("a", "", 2020), "a " + isPast},
		"no At":                 {"resources: [../../crds]", "", ""},
		"a default of nothing":  {patched(strings.Replace(patch, "3600", "null", 1)), at("a", "", 2027), "a " + isLate},
		"a default in a float":  {patched(strings.Replace(patch, "3600", "3600.0", 1)), at("a", "", 2027), ""},
		"a default of a decade": {patched(strings.Replace(patch, "3600", "315360000", 1)), at("a", "", 2020), ""},
	} {
		t.Run(name, func(t *testing.T) {
			warnings, update := warningsAt(t, writeWithDefinitions(t, test.kustomization, test.ats), time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC))
			for _, problem := range problemsOf(update) {
				t.Error(problem)
			}
			var got []string
			for _, match := range regexp.MustCompile(`At shop/(\w+): .*(`+isLate+`|`+isPast+`)`).FindAllStringSubmatch(warnings, -1) {
				got = append(got, match[1]+" "+match[2])
			}
			if strings.Join(got, ", ") != test.want || strings.Contains(test.want, isLate) != strings.Contains(warnings, patch) {
				t.Errorf("warnings are %swant %q", warnings, test.want)
			}
		})
	}
}

// An invalid default of a CustomResourceDefinition is an error.
func TestRenderChecksDefaultDeadline(t *testing.T) {
	for value, want := range map[string]string{"0": "greater than or equal to 1", "1h": "integer", "1.5": "integer", "3153600001": "less than or equal to 3153600000"} {
		root := writeWithDefinitions(t, patched("{op: add, path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/startingDeadlineSeconds/default, value: "+value+"}"), fmt.Sprintf(deadlineAt, "a", "", 2027))
		if problems := strings.Join(problemsOf(run(t, root)), "\n"); !strings.Contains(problems, want) || !strings.Contains(problems, "startingDeadlineSeconds].default") {
			t.Errorf("%s: %s", value, problems)
		}
	}
}

// The default deadline of an environment is in each At without its own, and renames no Pod.
func TestRenderKeepsDefaultDeadline(t *testing.T) {
	ats := fmt.Sprintf(deadlineAt, "a", "", 2027) + fmt.Sprintf(deadlineAt, "b", ", startingDeadlineSeconds: 60", 2027) + fmt.Sprintf(deadlineAt, "c", ", startingDeadlineSeconds: null", 2027)
	before := renderingOf(t, writeWithDefinitions(t, "resources: [../../crds, ats.yaml]", ats))
	after := renderingOf(t, writeWithDefinitions(t, patched("{op: add, path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/startingDeadlineSeconds/default, value: 3600}"), ats))
	var changed []string
	for i, file := range before.Files {
		if file.Path != after.Files[i].Path {
			t.Errorf("%s becomes %s", file.Path, after.Files[i].Path)
		}
		if string(file.Content) != string(after.Files[i].Content) {
			changed = append(changed, file.Path)
		}
		if isLimited := strings.Contains(string(after.Files[i].Content), "\n  startingDeadlineSeconds: 3600\n"); isLimited != (file.Path == "shop/at-a.yaml" || file.Path == "shop/at-c.yaml") {
			t.Errorf("%s:\n%s", file.Path, after.Files[i].Content)
		}
	}
	if got := strings.Join(changed, " "); got != "_cluster/customresourcedefinition-ats.cnat.programming-kubernetes.info.yaml shop/at-a.yaml shop/at-c.yaml" {
		t.Errorf("changed are %s", got)
	}
}

func renderingOf(t *testing.T, root string) *Rendering {
	t.Helper()
	repository, err := Open(root, gatehouse.All(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	e := repository.Load("prod", LoadOptions{})
	rendering, problems := e.Rendering, e.Problems
	if rendering == nil {
		t.Fatal(problems)
	}
	return rendering
}
