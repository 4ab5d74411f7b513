package source

import (
	"iter"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/manifest"
)

// Document is one object, or patch of an object, in a file.
type Document struct {
	manifest.ID

	// File is the file, from the root.
	File string
	// APIVersion is the object's.
	APIVersion string
	// Node is a mapping, or the list of a JSON 6902 patch. Its lines are those of the file.
	Node *yaml.Node
	// Listed says that the document is an item of a List.
	Listed bool
}

// Position returns the file, relative to the root, and the line at which the document starts.
func (d Document) Position() (file string, line int) { return Relative(d.File), d.Node.Line }

// splitDocument splits a document into the objects of a List, or itself.
func splitDocument(file string, node *yaml.Node, isListed bool) (documents []Document) {
	d := Document{File: file, Node: node, Listed: isListed, APIVersion: textAt(node, "apiVersion")}
	d.ID = manifest.ID{
		Group:     manifest.Group(d.APIVersion),
		Kind:      textAt(node, "kind"),
		Namespace: textAt(node, "metadata", "namespace"),
		Name:      textAt(node, "metadata", "name"),
	}
	items := Field(node, "items")
	if items == nil || items.Kind != yaml.SequenceNode || !manifest.IsListKind(d.Kind) {
		return []Document{d}
	}
	for _, item := range itemsOf(items) {
		documents = append(documents, splitDocument(file, item, true)...)
	}
	return documents
}

// generated returns the entries of a kustomization that generate objects.
func generated(file string, kustomization *yaml.Node) (documents []Document) {
	for _, generator := range []struct{ field, kind string }{{"configMapGenerator", "ConfigMap"}, {"secretGenerator", "Secret"}} {
		for _, list := range valuesAt(kustomization, generator.field) {
			for _, entry := range itemsOf(list) {
				id := manifest.ID{Kind: generator.kind, Namespace: textAt(entry, "namespace"), Name: textAt(entry, "name")}
				documents = append(documents, Document{ID: id, File: file, Node: entry})
			}
		}
	}
	return documents
}

// Annotations returns the annotations of the object, as they are written.
func (d Document) Annotations() map[string]string { return d.metadata("annotations") }

// Labels returns the labels of the object, as they are written.
func (d Document) Labels() map[string]string { return d.metadata("labels") }

func (d Document) metadata(field string) map[string]string {
	values := map[string]string{}
	for key, value := range entries(Field(Field(d.Node, "metadata"), field)) {
		values[key.Value] = value.Value
	}
	return values
}

// Values yields the scalars in the document, keys among them.
func (d Document) Values() iter.Seq[string] {
	return func(yield func(string) bool) { yieldValues(d.Node, yield) }
}

// yieldValues yields the scalars in a node, and reports whether yield took all of them.
func yieldValues(node *yaml.Node, yield func(string) bool) bool {
	if node == nil {
		return true
	}
	if node.Kind == yaml.ScalarNode && !yield(node.Value) || !yieldValues(node.Alias, yield) {
		return false
	}
	for _, child := range node.Content {
		if !yieldValues(child, yield) {
			return false
		}
	}
	return true
}
