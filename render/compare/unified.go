package compare

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

// Unified returns the notes as comments, and a unified diff of the object as YAML. Like `kubectl diff`, it
// masks the values of Secrets and shows only whether they change.
func (c Change) Unified() string {
	var notes strings.Builder
	for _, note := range c.Notes {
		notes.WriteString("# " + kind.Visible(note) + "\n")
	}
	if c.InstalledBy != (manifest.ID{}) {
		notes.WriteString("# installed by " + kind.Visible(c.InstalledBy.String()) + "\n")
	}
	from := "a/" + c.BeforeFile
	if c.Before != nil && c.BeforeFile == "" {
		from = "live/" + LiveName(c.Before)
	}
	before, after := c.Texts()
	return notes.String() + tree.UnifiedDiff(from, "b/"+c.AfterFile, before, after)
}

// LiveName returns the name of a live object in `kubectl diff`: apps.v1.Deployment.shop.sessions.
func LiveName(o *unstructured.Unstructured) string {
	gvk := o.GroupVersionKind()
	words := []string{gvk.Group, gvk.Version, gvk.Kind, o.GetNamespace(), o.GetName()}
	words = slices.DeleteFunc(words, func(word string) bool { return word == "" })
	return kind.Visible(strings.Join(words, "."))
}

// Texts returns the object before and after as YAML, with masked values of Secrets, or nil if there is no
// object.
func (c Change) Texts() (before, after []byte) {
	was, is := manifest.MaskSecrets(c.Before, c.After)
	return toYAML(was), toYAML(is)
}

func toYAML(o *unstructured.Unstructured) []byte {
	if o == nil {
		return nil
	}
	content, err := manifest.Object{Unstructured: o}.YAML()
	if err != nil { // objects come from YAML or JSON
		panic(fmt.Errorf("write %s %s: %w", o.GetKind(), o.GetName(), err))
	}
	return content
}
