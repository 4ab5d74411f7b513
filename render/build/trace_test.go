package build

import (
	"encoding/json"
	"os"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"example.com/gatehouse/render/source"
)

// TestRandomTraces follows the documents of random repositories through the whole, and in
// parts: the same has to be said of each.
func TestRandomTraces(t *testing.T) {
	defer mute()()
	divided, followed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		archive := (&drawing{T: t}).repository()
		dir, err := os.MkdirTemp("", "traces")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		s := readSources(t, dir, archive)
		if buildWhole(s, false).problem != "" || countParts(newDivision(s, 1)) == 0 {
			return
		}
		const endless = 1 << 30
		whole, parts := tracesText(t, s, endless), tracesText(t, s, 1)
		if whole != parts {
			t.Fatalf("as a whole\n%s\nin parts\n%s\n%s", whole, parts, txtar.Format(archive))
		}
		divided++
		if len(whole) > 10 {
			followed++
		}
	})
	t.Logf("%d are divided, and something is followed in %d", divided, followed)
	if followed < 5 {
		t.Error("that tests little")
	}
}

// tracesText is what is said of all documents, but for what is beside them.
func tracesText(t *rapid.T, s *source.Sources, size int) string {
	var documents []source.Document
	for _, m := range s.Manifests {
		for _, text := range m.Texts {
			documents = append(documents, text.Objects...)
		}
	}
	traces := tracesOf(s, overlay, documents, func(*unstructured.Unstructured) {}, size)
	var said []any
	for _, trace := range traces {
		said = append(said, trace.Written.At(), trace.Folders, trace.Built)
		for _, step := range trace.Steps {
			said = append(said, step.Folder, step.Entries, step.Loads, step.Before, step.After)
		}
	}
	encoded, err := json.MarshalIndent(said, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}
