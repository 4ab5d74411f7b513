package source

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/source/text"
)

// Manifest is a file of objects.
type Manifest struct {
	// File is the file, from the root.
	File string
	// Texts are the YAML documents of the file.
	Texts []*Text
}

// Text is one YAML document of a manifest.
type Text struct {
	text.Document
	// Objects are its object, or the items of a List.
	Objects []Document

	numberProblems []manifest.Problem // see NumberProblems
	isOwn          bool               // no memo keeps it
}

func (m *Manifest) objects() (objects []Document) {
	for _, t := range m.Texts {
		objects = append(objects, t.Objects...)
	}
	return objects
}

// readManifests reads files of objects. It reports malformed YAML, and documents other than objects.
func readManifests(memoOf memos, fs *FileSystem, files []string) (manifests []*Manifest, problems []manifest.Problem) {
	contents, parsed := make([][]byte, len(files)), make([][]parsedText, len(files))
	for i, file := range files {
		content, found := readFile(fs, file)
		problems = append(problems, found...)
		if len(found) == 0 {
			contents[i] = content
		}
	}
	parallel.For(len(files), func(i int) {
		parsed[i] = memo.Get(memoOf(files[i]), manifestKey{files[i], sha256.Sum256(contents[i])}, func() []parsedText {
			return parseManifest(files[i], contents[i], joinAnnotations, false)
		})
	})
	for i, file := range files {
		m := &Manifest{File: file}
		manifests = append(manifests, m)
		for _, p := range parsed[i] {
			if p.err != nil {
				problems = append(problems, malformed(file, p.err))
				continue
			}
			if p.root != nil && len(p.Objects) > 0 {
				if memoOf(file) == nil {
					p.isOwn = true
				}
				problems = append(problems, p.problems...)
				m.Texts = append(m.Texts, p.Text)
			}
		}
	}
	return manifests, problems
}

// memos returns the memo of a file.
type memos func(file string) *memo.Memo

// manifestKey is the memo key of a parsed manifest.
type manifestKey struct {
	file    string
	content [sha256.Size]byte
}

// parsedText is the result of parsing a document of a manifest.
type parsedText struct {
	*Text
	root     *yaml.Node
	err      error
	problems []manifest.Problem
}

// parseManifest parses the documents of a manifest, or of a chart; see text.Document.Uniting. Unlike kustomize, Helm
// takes the kind of the items of a list from the list.
func parseManifest(file string, content []byte, unite func(root *yaml.Node), isOfChart bool) []parsedText {
	documents := text.Split(content)
	parsed := make([]parsedText, len(documents))
	parallel.For(len(documents), func(i int) {
		p := &parsed[i]
		defer fault.Catch(&p.err)
		p.Text = &Text{Document: documents[i].Uniting(unite)}
		if p.root, p.err = p.Parse(); p.root == nil {
			return
		}
		if isOfChart {
			completeItems(p.root)
		}
		p.Objects = splitList(file, p.root, false)
		for _, d := range p.Objects {
			if wrong, at := checkObject(d); wrong != "" {
				p.problems = append(p.problems, manifest.Problem{Code: manifest.MalformedObject, File: Relative(file),
					Line: at.Line, Message: wrong})
			}
			p.numberProblems = append(p.numberProblems, d.checkNumbers()...)
		}
	})
	return parsed
}

// joinAnnotations makes one of the annotations that an object has more than once, as kustomize does when it notes the
// file there: of a key in several the first value counts, and the last one within each. It refuses any other key twice.
// See setMapInMetadata in kyaml/yaml/rnode.go.
func joinAnnotations(object *yaml.Node) {
	if items := node.Field(object, "items"); items != nil {
		for _, item := range node.Items(items) {
			joinAnnotations(item)
		}
	}
	metadata := node.Field(object, "metadata")
	joined := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	isJoined := map[string]bool{}
	count := 0
	for key, value := range node.Entries(metadata) {
		if key.Value != "annotations" {
			continue
		}
		node.TakeLast(value)
		count++
		for key, value := range node.Entries(value) {
			if !isJoined[key.Value] {
				isJoined[key.Value] = true
				joined.Content = append(joined.Content, key, value)
			}
		}
	}
	key, first := node.Entry(metadata, "annotations")
	if count > 1 {
		joined.Line = first.Line
		joined.Column = first.Column
		node.Remove(metadata, "annotations")
		metadata.Content = append(metadata.Content, key, joined)
	}
}

func malformed(file string, err error) manifest.Problem {
	var at text.Error
	errors.As(err, &at)
	return manifest.Problem{Code: manifest.MalformedYAML, File: Relative(file), Line: at.Line, Message: err.Error()}
}

// checkObject returns the problem, and its node, of a document that kustomize does not take for an
// object, or "".
func checkObject(d Document) (wrong string, at *yaml.Node) {
	root := d.Node()
	metadata := node.Field(root, "metadata")
	mayMerge := func(n *yaml.Node) bool { return node.Field(n, "<<") != nil }
	switch {
	case node.IsNull(root), root.Kind == yaml.MappingNode && len(root.Content) == 0: // kustomize drops it
	case root.Kind != yaml.MappingNode:
		return "is no object: write one with apiVersion, kind and metadata.name", root
	case mayMerge(root), mayMerge(metadata): // fields may come from there
	case misspelled(root) != nil:
		key := misspelled(root)
		return fmt.Sprintf("unknown field %q%s", key.Value, manifest.DidYouMean(key.Value, objectFields)), key
	case d.Kind == "":
		return "is no object: it has no kind", root
	case d.Name == "" && node.Text(metadata, "generateName") != "":
		at, _ = node.Entry(metadata, "generateName")
		return "metadata.generateName: each sync would make another object: write metadata.name", at
	default:
		if wrong, at = checkMetadata(root, metadata); at != nil {
			return wrong, at
		}
		if d.Name == "" && !manifest.IsListKind(d.Kind) {
			return "is no object: it has no metadata.name", root
		}
	}
	return "", nil
}

// objectFields are the fields of every object.
var objectFields = []string{"apiVersion", "kind", "metadata"}

// misspelled returns a key that is similar to a missing field of every object, or nil.
func misspelled(object *yaml.Node) *yaml.Node {
	for _, field := range objectFields {
		if node.Field(object, field) != nil {
			continue
		}
		for key := range node.Entries(object) {
			if manifest.DidYouMean(key.Value, []string{field}) != "" {
				return key
			}
		}
	}
	return nil
}

// checkMetadata returns the problem, and its node, of metadata with a type that stops kustomize, or that
// it drops.
func checkMetadata(object, metadata *yaml.Node) (wrong string, at *yaml.Node) {
	for _, field := range []struct {
		parent    *yaml.Node
		name, tag string
		wrong     string
	}{
		{object, "apiVersion", "!!str", "apiVersion: has to be text, like v1 or apps/v1"},
		{object, "kind", "!!str", "kind: has to be text, like ConfigMap"},
		{object, "metadata", "!!map", "metadata: has to be a mapping"},
		{metadata, "name", "!!str", "metadata.name: has to be text: put it in quotes"},
		{metadata, "namespace", "!!str", "metadata.namespace: has to be text: put it in quotes"},
		{metadata, "labels", "!!map", "metadata.labels: has to be a mapping of texts"},
		{metadata, "annotations", "!!map", "metadata.annotations: has to be a mapping of texts"},
	} {
		if value := node.Field(field.parent, field.name); value != nil && value.ShortTag() != field.tag &&
			!node.IsNull(value) {
			return field.wrong, value
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		for key, value := range node.Entries(node.Field(metadata, field)) {
			if value.Kind != yaml.ScalarNode && key.ShortTag() != "!!merge" {
				return fmt.Sprintf("metadata.%s.%s: has to be text", field, key.Value), value
			}
		}
	}
	return "", nil
}
