package source

import (
	"slices"

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
	// Node is a mapping, or the list of a JSON 6902 patch.
	Node *yaml.Node
	// Listed says that the document is an item of a List.
	Listed bool

	place
	inline bool // a patch within a kustomization
}

// IsInline reports whether the document is a patch within a kustomization.
func (d Document) IsInline() bool { return d.inline }

// line returns the line of a node of the document in its file.
func (d Document) line(n *yaml.Node) int { return d.place.line(n.Line) }

// Position returns the file, relative to the root, and the line at which the document starts.
func (d Document) Position() (file string, line int) {
	return Relative(d.File), d.line(d.Node)
}

// At returns the position as people write it: file:line.
func (d Document) At() string {
	file, line := d.Position()
	return manifest.Problem{File: file, Line: line}.Position()
}

// documents returns the objects and patches of a piece of a file, and its growth, see measure.
func (p piece) documents(file string) (documents []Document, growth int, err error) {
	node, growth, err := p.parse()
	if err != nil || node == nil {
		return nil, 0, err
	}
	return splitDocument(Document{File: file, Node: node, place: p.place}), growth, nil
}

// splitDocument splits a document into the objects of a List, those and the patches of
// a kustomization, or itself.
func splitDocument(d Document) []Document {
	d.APIVersion = textAt(d.Node, "apiVersion")
	d.ID = manifest.ID{
		Group:     manifest.Group(d.APIVersion),
		Kind:      textAt(d.Node, "kind"),
		Namespace: textAt(d.Node, "metadata", "namespace"),
		Name:      textAt(d.Node, "metadata", "name"),
	}
	if _, items := mappingEntry(d.Node, "items"); items != nil && items.Kind == yaml.SequenceNode && manifest.IsListKind(d.Kind) {
		documents := make([]Document, 0, len(items.Content))
		for _, item := range items.Content {
			documents = append(documents, splitDocument(Document{File: d.File, Node: dereferenced(item), Listed: true, place: d.place})...)
		}
		return documents
	}
	return slices.Concat([]Document{d}, generated(d), inlinePatches(d))
}

// generated returns the objects that a kustomization generates.
func generated(kustomization Document) (documents []Document) {
	for _, generator := range []struct{ field, kind string }{{"configMapGenerator", "ConfigMap"}, {"secretGenerator", "Secret"}} {
		_, entries := mappingEntry(kustomization.Node, generator.field)
		if entries == nil {
			continue
		}
		for _, entry := range entries.Content {
			d := Document{File: kustomization.File, Node: dereferenced(entry), place: kustomization.place}
			d.ID = manifest.ID{Kind: generator.kind, Namespace: textAt(entry, "namespace"), Name: textAt(entry, "name")}
			documents = append(documents, d)
		}
	}
	return documents
}

// inlinePatches returns the patches that a kustomization holds as text.
func inlinePatches(kustomization Document) (documents []Document) {
	for _, field := range []string{"patches", "patchesJson6902", "patchesStrategicMerge"} {
		_, patches := mappingEntry(kustomization.Node, field)
		if patches == nil {
			continue
		}
		for _, entry := range patches.Content {
			text := dereferenced(entry)
			if text.Kind == yaml.MappingNode {
				_, text = mappingEntry(text, "patch")
			}
			if text != nil {
				documents = append(documents, inlinePatch(kustomization, entry, text)...)
			}
		}
	}
	return documents
}

// inlinePatch returns the documents of the text of a patch.
func inlinePatch(kustomization Document, entry, text *yaml.Node) (documents []Document) {
	for _, piece := range textPieces(text, kustomization.place) {
		parsed, _, err := piece.documents(kustomization.File)
		if err != nil {
			continue
		}
		for _, d := range parsed {
			if d.Node.Kind == yaml.ScalarNode {
				continue // the path of a file
			}
			d.inline = true
			if d.Kind == "" {
				d.Kind, d.Name = textAt(entry, "target", "kind"), textAt(entry, "target", "name")
			}
			documents = append(documents, d)
		}
	}
	return documents
}

// textPieces splits the YAML that a scalar at some place in a file holds.
func textPieces(text *yaml.Node, at place) []piece {
	pieces := splitDocuments([]byte(text.Value))
	for i := range pieces {
		if text.Style&yaml.LiteralStyle == 0 || at.fixed {
			pieces[i].place = place{offset: at.line(text.Line), fixed: true}
			continue
		}
		pieces[i].offset += at.line(text.Line) // a block starts on the next line
	}
	return pieces
}

// Annotations returns the annotations of the object, as they are written.
func (d Document) Annotations() map[string]string { return d.metadata("annotations") }

// Labels returns the labels of the object, as they are written.
func (d Document) Labels() map[string]string { return d.metadata("labels") }

func (d Document) metadata(field string) map[string]string {
	_, metadata := mappingEntry(d.Node, "metadata")
	_, node := mappingEntry(metadata, field)
	if node == nil {
		return nil
	}
	values := map[string]string{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		values[node.Content[i].Value] = node.Content[i+1].Value
	}
	return values
}

// Values calls use with every scalar of the document.
func (d Document) Values(use func(value string)) { values(d.Node, use) }

func values(node *yaml.Node, use func(string)) {
	if node == nil {
		return
	}
	if node.Kind == yaml.ScalarNode {
		use(node.Value)
	}
	values(node.Alias, use)
	for _, child := range node.Content {
		values(child, use)
	}
}

// Parse returns the documents of a text that are well formed: the patches that it is.
func Parse(content []byte) []Document { return parse("", content) }

func parse(file string, content []byte) (documents []Document) {
	for _, piece := range splitDocuments(content) {
		if parsed, _, err := piece.documents(file); err == nil {
			documents = append(documents, parsed...)
		}
	}
	return documents
}
