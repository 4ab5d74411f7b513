package world

import (
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Mentions are the words in the objects of an environment, before and after a change.
type Mentions struct {
	Selected sets.Set[string] // words that are no labels of objects: they may select these
	Named    sets.Set[string] // words in objects without Pods
}

// word matches a word that may be the key of a label or a name.
var word = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9./_-]*`)

// mentions returns the words in objects. It reads no texts of ConfigMaps and Secrets, and no definitions.
func (w *World) mentions() Mentions {
	m := Mentions{sets.Set[string]{}, sets.Set[string]{}}
	for _, s := range []Side{w.Before, w.After} {
		for _, o := range s.Objects {
			switch KindOf(o) {
			case "ConfigMap", "CustomResourceDefinition.apiextensions.k8s.io", "Secret":
				continue
			}
			hasPods := len(w.Templates(o)) > 0
			visitWords(o.Object, func(text string) {
				m.Selected.Insert(text)
				if !hasPods {
					m.Named.Insert(text)
				}
			})
		}
	}
	return m
}

// visitWords visits the keys and the words of texts below a value, without the names and labels of an object and of its
// templates.
func visitWords(content any, visit func(string)) {
	switch content := content.(type) {
	case string:
		for _, text := range word.FindAllString(content, -1) {
			visit(text)
		}
	case []any:
		for _, item := range content {
			visitWords(item, visit)
		}
	case map[string]any:
		for key, value := range content {
			visit(key)
			metadata, isMap := value.(map[string]any)
			if isOwn := content["spec"] != nil || content["kind"] != nil; isMap && isOwn && key == "metadata" {
				value = metadata["annotations"]
			}
			visitWords(value, visit)
		}
	}
}

// Quantity returns the number of a quantity, and whether it is one.
func Quantity(text *string) (float64, bool) {
	if text == nil {
		return 0, false
	}
	q, err := resource.ParseQuantity(*text)
	return q.AsApproximateFloat64(), err == nil
}
