package verdict_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict"
	"example.com/gatehouse/render/verdict/apiserver"
)

// render and the API server refuse the same updates. The API server also refuses updates to invalid
// objects.
func TestUpdatesHaveTheSameVerdict(t *testing.T) {
	examples := readExamples(t, "testdata/updates/updates.yaml")
	definitions, refused, accepted := []manifest.Object{}, 0, 0
	for number, e := range examples {
		c := objectCase{number: number}
		stored := e.changed(t, c, nil)
		if stored.GetKind() == "CustomResourceDefinition" {
			definitions = append(definitions, manifest.Object{Unstructured: stored})
		}
		checker, _ := verdict.New(nil, gatehouse.All(), kubernetes(t), definitions)
		resource := store(t, stored)
		for _, title := range slices.Sorted(maps.Keys(e.But)) {
			changed := e.changed(t, c, e.But[title])
			server := refusalOf(apply(t.Context(), resource, changed))
			if isInvalid(t, changed) {
				if !server.refused {
					t.Errorf("%s: %s: the server accepts an object that render refuses", stored.GetKind(), title)
				}
				continue
			}
			errs := checker.Update(manifest.Object{Unstructured: stored}, manifest.Object{Unstructured: changed})
			fields := make([]string, len(errs))
			for i, err := range errs {
				fields[i] = err.Field
			}
			isSimilar := kubernetes(t) < apiserver.Newest && similarFields(server, answer{fields: fields})
			if fields = set(fields); server.refused != (len(errs) > 0) || !slices.Equal(server.fields, fields) && !isSimilar {
				t.Errorf("%s: %s: the server refuses: %t, %q, %s\nrender: %v", stored.GetKind(), title, server.refused, server.fields, strings.Join(server.messages, "; "), errs)
			}
			refused, accepted = refused+one(server.refused), accepted+one(!server.refused)
		}
	}
	t.Logf("%d changes are refused, %d are accepted", refused, accepted)
	if refused < 20 || accepted < 20 {
		t.Error("that is too few")
	}
}

// isInvalid reports whether render refuses to create an object. It compares no update to such an object.
func isInvalid(t *testing.T, u *unstructured.Unstructured) bool {
	t.Helper()
	objects := []manifest.Object{{Unstructured: u, Written: u}}
	checker, problems := verdict.New(nil, gatehouse.All(), kubernetes(t), objects)
	_, invalid := checker.Objects(objects)
	return u.GetKind() != "Secret" && manifest.HasErrors(append(problems, invalid...)) // refused for its values
}

func refusalOf(err error) answer {
	if err == nil {
		return answer{}
	}
	return refusal(err)
}

// store stores an object in the API server, and sets the status of an object in use.
func store(t *testing.T, u *unstructured.Unstructured) dynamic.ResourceInterface {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	encoded, err := u.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var resource dynamic.ResourceInterface
	var stored *unstructured.Unstructured
	err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) { // its kind may be new
		resource, err = newJudge(t).resource(u)
		if err != nil {
			return false, nil //nolint:nilerr // until it is served
		}
		stored, err = resource.Patch(ctx, u.GetName(), types.ApplyPatchType, encoded, metav1.PatchOptions{FieldManager: "sync"})
		return err == nil, nil
	})
	if err != nil {
		t.Fatal(u, err)
	}
	t.Cleanup(func() { _ = resource.Delete(context.Background(), u.GetName(), metav1.DeleteOptions{}) })
	switch u.GetKind() {
	case "PersistentVolumeClaim":
		storage, _, _ := unstructured.NestedFieldCopy(u.Object, "spec", "resources", "requests")
		stored.Object["status"] = map[string]any{"phase": "Bound", "capacity": storage}
		_, err = resource.UpdateStatus(ctx, stored, metav1.UpdateOptions{})
	case "CustomResourceDefinition":
		err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			stored, err = resource.Get(ctx, u.GetName(), metav1.GetOptions{})
			return err == nil && strings.Contains(fmt.Sprint(stored.Object["status"]), "Established"), err
		})
	}
	if err != nil {
		t.Fatal(u, err)
	}
	return resource
}
