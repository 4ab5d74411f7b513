package verdict_test

import (
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
)

// With any two changes of a table, an object has the same verdict and warnings of render and of the API
// server. One mistake may hide another.
func TestTwoChangesHaveTheSameVerdict(t *testing.T) {
	var changes []changedExample
	for _, file := range tables(t) {
		for _, e := range readExamples(t, file) {
			for _, title := range slices.Sorted(maps.Keys(e.But)) {
				changes = append(changes, changedExample{e, title})
			}
		}
	}
	judge := newJudge(t)
	accepted, refused := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		objects, titles := make([]*unstructured.Unstructured, 20), make([]string, 20)
		for i := range objects {
			objects[i], titles[i] = rapid.SampledFrom(changes).Draw(r, "change").drawPair(t, r, i)
		}
		ofServer := judge.ask(r.Context(), objects)
		ofRender, _ := judgedByRender(t, objects)
		for i, server := range ofServer {
			if server.merged().refused && !ofRender[i].refused { // render may convert or complete it
				server = judge.askOfRendered(t, objects[i], server)
			}
			if !ofRender[i].refused && slices.ContainsFunc(server.merged().messages, dependsOnCluster.MatchString) {
				continue
			}
			if server.merged().refused != ofRender[i].refused || !ofRender[i].refused && !slices.Equal(server.merged().warnings, ofRender[i].warnings) {
				r.Errorf("%s: %s\n%s", objects[i].GetKind(), titles[i], dispute(server, ofRender[i]))
			}
			accepted, refused = accepted+one(!ofRender[i].refused), refused+one(ofRender[i].refused)
		}
	})
	t.Logf("%d accepted, %d refused", accepted, refused)
}

// changedExample is an example with one of its changes.
type changedExample struct {
	example
	title string
}

// drawPair returns the object with the change and a second one, if both are possible, and their titles.
func (e changedExample) drawPair(t *testing.T, r *rapid.T, number int) (*unstructured.Unstructured, string) {
	t.Helper()
	other := rapid.SampledFrom(slices.Sorted(maps.Keys(e.But))).Draw(r, "other")
	content, title := plain(t, e.Object, number), ""
	for _, another := range []string{e.title, other} {
		changed := plain(t, content, number)
		if change(t, changed, e.But[another], number) == nil {
			content, title = changed, title+", "+another
		}
	}
	return &unstructured.Unstructured{Object: content.(map[string]any)}, title
}
