package verdict_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/wait"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict"
)

// Objects of a definition with most features of schemas have the same verdict, fields and warnings of render and of
// the API server, and are stored alike.
func TestCustomObjectsHaveTheSameVerdict(t *testing.T) {
	definition, written := readCustom(t)
	checker, problems := verdict.New(nil, gatehouse.All(), kubernetes(t), []manifest.Object{{Unstructured: definition, Written: definition}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	store(t, definition)
	var judge *judge
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		judge = newJudge(t)
		_, err := judge.resource(written["v2"]) // the newest version is served last
		return err == nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	refused, accepted := 0, 0
	for _, title := range slices.Sorted(maps.Keys(written)) {
		u := written[title].DeepCopy()
		objects := []manifest.Object{{Unstructured: u, Written: u}}
		var render answer
		_, found := checker.Objects(objects)
		for _, p := range found {
			render.add(p)
		}
		render.fields, render.warnings = set(render.fields), set(render.warnings)
		if !render.refused {
			checker.DropEmpty(objects)
		}
		server := judge.ask(t.Context(), []*unstructured.Unstructured{u})[0]
		merged := server.merged()
		isSame := merged.refused == render.refused && slices.Equal(merged.warnings, render.warnings)
		if isSame && render.refused {
			isSame = sameFields(merged, render) || similarFields(merged, render)
		}
		if !isSame {
			t.Errorf("%s\n%s", title, dispute(server, render))
		}
		if merged.refused {
			refused++
			continue
		}
		accepted++
		stored, err := judge.store(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := withoutCluster(t, checker.Stored(objects)[0]), withoutCluster(t, stored); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: render (-) and the API server (+) store\n%s", title, diff.Diff(a, b))
		}
	}
	t.Logf("%d refused, %d accepted", refused, accepted)
	if refused < 20 || accepted < 20 {
		t.Error("that is too few")
	}
}

// readCustom reads a definition, and objects by their titles.
func readCustom(t *testing.T) (definition *unstructured.Unstructured, objects map[string]*unstructured.Unstructured) {
	t.Helper()
	content, err := os.ReadFile("testdata/custom/odds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Definition map[string]any
		Objects    map[string]map[string]any
	}
	if err := yaml.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	objects = map[string]*unstructured.Unstructured{}
	for number, title := range slices.Sorted(maps.Keys(file.Objects)) {
		o := map[string]any{"apiVersion": "example.com/v1", "kind": "Odd"}
		maps.Copy(o, file.Objects[title])
		metadata := map[string]any{"name": fmt.Sprintf("odd-%d", number), "namespace": "default"}
		if own, ok := o["metadata"].(map[string]any); ok {
			maps.Copy(metadata, own)
		}
		o["metadata"] = metadata
		objects[title] = &unstructured.Unstructured{Object: plain(t, o, number).(map[string]any)}
	}
	return &unstructured.Unstructured{Object: plain(t, file.Definition, 0).(map[string]any)}, objects
}
