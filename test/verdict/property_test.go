package verdict_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
)

// The API server accepts any Memcached or At that render accepts, and its rendered objects. If render
// refuses one, the problem names a field of the source object, and the API server refuses the source
// object or its rendered objects.
func TestRandomSpecsHaveTheSameVerdict(t *testing.T) {
	judge := newJudge(t)
	tally := map[string]int{}
	rapid.Check(t, func(r *rapid.T) {
		specs := rapid.SliceOfN(rapid.Custom(drawSpec), 1, 12).Draw(r, "specs")
		for i, u := range specs {
			u.SetName(fmt.Sprintf("%s%x", u.GetName(), i))
		}
		ofRender, rendering := judgedByRender(t, specs)
		for i, u := range specs {
			if ofRender[i].refused {
				tally[u.GetKind()+"s refused"]++
				checkRefusal(r, judge, u, ofRender[i])
			}
		}
		switch {
		case rendering != nil:
			checkAccepted(r, judge, rendering.Objects, tally)
		case slices.ContainsFunc(ofRender, func(v answer) bool { return !v.refused }):
			r.Fatal("accepted objects are not rendered")
		}
	})
	for _, name := range slices.Sorted(maps.Keys(tally)) {
		t.Logf("%s: %d", name, tally[name])
	}
}

// checkAccepted tests that the API server accepts rendered objects. Source objects are among them.
func checkAccepted(r *rapid.T, judge *judge, rendered []manifest.Object, tally map[string]int) {
	objects := make([]*unstructured.Unstructured, len(rendered))
	for i, o := range rendered {
		objects[i] = o.Unstructured
		tally[objects[i].GetKind()+"s accepted"]++
	}
	for i, answer := range judge.ask(r.Context(), objects) {
		if answer.create.refused || answer.apply.refused {
			r.Errorf("render accepts an object that the API server refuses:\n%s\nof %s", dispute(answer, answer.merged()), jsonOf(rendered[i].Written))
		}
	}
}

// checkRefusal tests that the API server refuses an object too, and that the problems have fields of the
// source object.
func checkRefusal(r *rapid.T, judge *judge, u *unstructured.Unstructured, render answer) {
	for _, field := range render.fields {
		if !isWithin("spec", field) && !isWithin("metadata", field) {
			r.Errorf("%s is not a field of the source object: %q", field, render.messages)
		}
	}
	// The verdict is about creation: render drops nulls that only apply refuses.
	if server := judge.ask(r.Context(), []*unstructured.Unstructured{u})[0]; server.create.refused {
		if !sameFields(server.create, render) {
			r.Errorf("other fields:\n%s\nof %s", dispute(server, render), jsonOf(u))
		}
		return
	}
	if len(render.fields) == 0 {
		r.Errorf("no field: %q of %s", render.messages, jsonOf(u))
	}
	resource, err := judge.resource(u)
	if err != nil {
		r.Fatal(err)
	}
	stored, err := resource.Create(r.Context(), u.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		r.Fatal(err)
	}
	rendered, err := gatehouse.All().Expand(stored)
	if err != nil {
		return
	}
	for _, child := range rendered.Objects {
		if err := gatehouse.All().HashName(child, stored); err != nil {
			return
		}
	}
	for _, answer := range judge.ask(r.Context(), rendered.Objects) {
		if answer.merged().refused {
			return
		}
	}
	r.Errorf("render refuses an object that the API server accepts: %s\n%s", strings.Join(render.messages, "\n"), jsonOf(u))
}

// jsonOf returns an object as JSON.
func jsonOf(u *unstructured.Unstructured) string {
	encoded, err := u.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	return string(encoded)
}
