package verdict_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

const environment = "environments/prod"

// renderAll renders an environment of objects, each in a file of its own.
func renderAll(t *testing.T, objects []*unstructured.Unstructured) (*render.Rendering, []manifest.Problem) {
	t.Helper()
	root := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(root, environment, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, environment), 0o700); err != nil {
		t.Fatal(err)
	}
	var kustomization strings.Builder
	fmt.Fprintf(&kustomization, "metadata: {annotations: {%s: %q, gatehouse.example.com/elsewhere: Deployment gatehouse-system/gatehouse-controller}}\nresources:\n", tree.KubernetesAnnotation, server.Kubernetes)
	for i, u := range objects {
		content, err := yaml.Marshal(u.Object)
		if err != nil {
			t.Fatal(err)
		}
		write(fileName(i), string(content))
		fmt.Fprintln(&kustomization, "- "+fileName(i))
	}
	write("kustomization.yaml", kustomization.String())
	repository, err := render.Open(root, gatehouse.All(), render.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	loaded := repository.Load(path.Base(environment), render.LoadOptions{})
	return loaded.Rendering, loaded.Problems
}

// fileName returns the file of the object at an index.
func fileName(i int) string { return fmt.Sprintf("%d.yaml", i) }

// judgedByRender returns the verdicts of render on objects, in their order, and the rendering of the
// accepted ones. An object may hide problems of others, so they are rendered again without refused
// objects until all are accepted.
func judgedByRender(t *testing.T, objects []*unstructured.Unstructured) (verdicts []answer, rendering *render.Rendering) {
	t.Helper()
	verdicts = make([]answer, len(objects))
	for rest := indexes(len(objects)); len(rest) > 0; {
		subset := make([]*unstructured.Unstructured, len(rest))
		for i, of := range rest {
			subset[i] = objects[of]
		}
		var problems []manifest.Problem
		rendering, problems = renderAll(t, subset)
		for _, p := range problems {
			if ofOthers.MatchString(p.Message) {
				continue
			}
			var i int
			if _, err := fmt.Sscanf(p.File, environment+"/%d.yaml", &i); err != nil {
				t.Fatalf("a problem without an object: %s", p)
			}
			verdicts[rest[i]].add(p)
		}
		before := len(rest)
		rest = slices.DeleteFunc(rest, func(i int) bool { return verdicts[i].refused })
		if len(rest) == before {
			break
		}
	}
	for i := range verdicts {
		verdicts[i].fields = set(verdicts[i].fields)
		verdicts[i].warnings = set(verdicts[i].warnings)
	}
	return verdicts, rendering
}

// ofOthers matches a problem by another object, which the API server was not given.
var ofOthers = regexp.MustCompile(`\((ResourceQuota|LimitRange) [^)]*\)`)

func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// set sorts texts and removes duplicates.
func set(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// ownRules are the codes of warnings that the API server does not give.
var ownRules = []metav1.CauseType{manifest.MissingNamespace, manifest.MissingController, manifest.InvalidImage,
	manifest.ScaledTwice, manifest.RunsAgain, manifest.MissingObject, manifest.NothingSelected, manifest.NeverWorks,
	manifest.NeverStarts, manifest.OfKind}

func (v *answer) add(p manifest.Problem) {
	if p.Warning {
		if !slices.Contains(ownRules, p.Code) {
			v.warnings = append(v.warnings, p.Message)
		}
		return
	}
	v.refused = true
	v.messages = append(v.messages, p.String())
	if p.Field != "" {
		v.fields = append(v.fields, p.Field)
	}
	if strings.Contains(p.Message, "server-side apply") || strings.Contains(p.Message, ": makes ") {
		v.ofOthers = append(v.ofOthers, p.Field)
	}
	v.isPartial = v.isPartial || strings.Contains(p.Message, "kustomize cannot change")
}
