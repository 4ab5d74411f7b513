package review

import (
	rand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/test/changes"
)

// Anybody may edit rendered files. With any content,
// there is a comment.
func TestReviewSurvivesAnyPreviousObject(t *testing.T) {
	documents := []string{fill(deployment), fill(role), fill(binding), fill(namespace), fill(cronJob), fill(job), fill(volumeSet), fill(quota)}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range txtar.Parse(content).Files {
			if !strings.Contains(f.Name, "kustomization") {
				documents = append(documents, string(f.Data))
			}
		}
	}
	objects := changes.Objects(t, strings.Join(documents, "\n---\n"))
	random := rand.New(rand.NewPCG(7, 3))
	for range 2000 {
		after := objects[random.IntN(len(objects))]
		before := manifest.Object{Unstructured: after.DeepCopy()}
		for range 1 + random.IntN(3) {
			mutate(random, before.Object, 0)
		}
		if before.GetKind() == "" || before.GetAPIVersion() == "" || before.GetName() != after.GetName() {
			continue
		}
		changed := []compare.Change{{Before: before.Unstructured, After: after.Unstructured}}
		e := compare.Differences{Kinds: gatehouse.All(), Changes: changed}.With(compare.Facts{Name: "prod"})
		if New(&compare.Diff{Environments: []*compare.Comparison{e}}, time.Unix(0, 0)).Markdown(5000, "") == "" {
			t.Error(before)
		}
	}
}

// mutate changes one value, somewhere.
func mutate(random *rand.Rand, value any, depth int) {
	others := []any{nil, "", "a", int64(-1), int64(1 << 62), 1.5, true, "1e999999999", map[string]any{}, []any{}, []any{nil}, map[string]any{"a": nil}, []any{"a"}}
	other := runtimeCopy(others[random.IntN(len(others))])
	switch value := value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(value))
		for key := range value {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		if len(keys) == 0 {
			return
		}
		key := keys[random.IntN(len(keys))]
		switch {
		case depth > 0 && random.IntN(4) == 0 || depth == 0 && key != "metadata" && random.IntN(8) == 0:
			value[key] = other
		default:
			mutate(random, value[key], depth+1)
		}
	case []any:
		if len(value) == 0 {
			return
		}
		i := random.IntN(len(value))
		if random.IntN(4) == 0 {
			value[i] = other
			return
		}
		mutate(random, value[i], depth+1)
	}
}

func runtimeCopy(value any) any {
	return (&unstructured.Unstructured{Object: map[string]any{"a": value}}).DeepCopy().Object["a"]
}
