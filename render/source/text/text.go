// Package text splits the text of YAML files into documents and parses them. It refuses text that
// kustomize, kubectl and other tools would read differently, or that would fill the memory.
package text

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/source/node"
)

// Document is the text of one YAML document of a file.
type Document struct {
	Content []byte

	first int // the line of the file at the start, from 1
	// isQuoted marks text within quotes. All of it counts as being on the first line, as its lines
	// are not lines of the file.
	isQuoted bool
	follows  bool // another document of the file

	unite func(root *yaml.Node) // see Uniting; perhaps nil
}

// Uniting returns the document as a tool reads it that takes a key twice: unite makes one of these.
func (d Document) Uniting(unite func(root *yaml.Node)) Document {
	d.unite = unite
	return d
}

var separator = regexp.MustCompile(`(?m)^---([ \t\r].*)?$`)

// Split splits a file into documents, so that one malformed document does not hide the others.
func Split(content []byte) (documents []Document) {
	start, line := 0, 1
	cut := func(end, next int) {
		text := content[start:end]
		if start > 0 {
			text = bytes.TrimLeft(text, " \t") // YAML takes no tab after ---
		}
		documents = append(documents, Document{Content: text, first: line, follows: start > len("---")})
		line += bytes.Count(content[start:next], []byte("\n"))
		start = next
	}
	for _, match := range separator.FindAllIndex(content, -1) {
		cut(match[0], match[0]+len("---"))
	}
	cut(len(content), len(content))
	return documents
}

// SplitScalar splits the YAML in a scalar of a file into documents.
func SplitScalar(scalar *yaml.Node) []Document {
	documents := Split([]byte(scalar.Value))
	for i := range documents {
		if scalar.Style&yaml.LiteralStyle == 0 {
			documents[i].first, documents[i].isQuoted = scalar.Line, true
			continue
		}
		documents[i].first += scalar.Line // a block starts on the next line
	}
	return documents
}

// IsEmpty reports whether the document has only comments.
func (d Document) IsEmpty() bool {
	for line := range bytes.Lines(d.Content) {
		if !isBlank(line) {
			return false
		}
	}
	return true
}

// isBlank reports whether a line is empty, or a comment.
func isBlank(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}

// Parse returns the node of the document, nil if it is empty. An error is an Error with its line in the file.
func (d Document) Parse() (root *yaml.Node, err error) {
	defer fault.Catch(&err)
	if err = cmp.Or(d.checkCharacters(), d.checkMarkers()); err == nil {
		root, err = d.unmarshal()
	}
	if err == nil && root != nil {
		err = checkNesting(root, nil)
	}
	if err == nil && root != nil && d.unite != nil {
		d.unite(root)
	}
	if err == nil && root != nil {
		err = d.checkKeys(root)
	}
	if err != nil {
		return nil, d.inFile(err)
	}
	d.setLines(root)
	return root, nil
}

func (d Document) unmarshal() (*yaml.Node, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(d.Content, &root); err != nil || len(root.Content) == 0 {
		return nil, err
	}
	return root.Content[0], nil
}

// fileLine returns the line in the file of a line of the document, from 1.
func (d Document) fileLine(line int) int {
	if d.isQuoted {
		return d.first
	}
	return d.first + line - 1
}

// setLines gives nodes their lines in the file.
func (d Document) setLines(root *yaml.Node) {
	if d.first > 1 || d.isQuoted {
		for n := range node.All(root) {
			n.Line = d.fileLine(n.Line)
		}
	}
}

// lineOf returns the line of a byte of the document, from 1.
func (d Document) lineOf(offset int) int { return 1 + bytes.Count(d.Content[:offset], []byte("\n")) }

// IsTabbedJSON reports whether the document is JSON with tabs, which YAML does not take.
func (d Document) IsTabbedJSON() bool {
	return bytes.ContainsRune(d.Content, '\t') && json.Valid(d.Content) &&
		yaml.Unmarshal(d.Content, &yaml.Node{}) != nil
}

// Join returns the content of a file with some documents of another file, in the same order.
func Join(documents [][]byte) []byte {
	var content bytes.Buffer
	for _, document := range documents { // all but the last of the file end with a line break
		content.WriteString("---\n")
		content.Write(bytes.TrimPrefix(document, []byte(byteOrderMark)))
	}
	return content.Bytes()
}
