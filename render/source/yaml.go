package source

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// place is where in a file a text stands.
type place struct {
	offset int // lines of the file before it
	// fixed is set where the lines of a text are not those of the file, as within
	// quotes: then offset is the line that it starts on.
	fixed bool
}

// line is the line in the file of a line of the text, from 1.
func (p place) line(line int) int {
	if p.fixed || line == 0 {
		return p.offset
	}
	return p.offset + line
}

// piece is the text of one YAML document of a file.
type piece struct {
	place
	content      []byte
	isAfterOther bool // another document is before it in the file
}

// lineError is what is wrong with a line of a piece, from 1.
type lineError struct {
	line    int
	message string
	isHuge  bool // what is there cannot be built, or even read
}

func (e lineError) Error() string { return e.message }

func hugeError(line int, message string) error { return lineError{line, message, true} }

var separator = regexp.MustCompile(`(?m)^---([ \t\r].*)?$`)

// splitDocuments splits a file so that one malformed document does not hide the
// others.
func splitDocuments(content []byte) []piece {
	var pieces []piece
	start, offset := 0, 0
	cut := func(end, next int) {
		text := content[start:end]
		if start > 0 {
			text = bytes.TrimLeft(text, " \t") // which is after ---, where YAML takes no tab
		}
		pieces = append(pieces, piece{place: place{offset: offset}, content: text, isAfterOther: start > len("---")})
		offset += bytes.Count(content[start:next], []byte("\n"))
		start = next
	}
	for _, match := range separator.FindAllIndex(content, -1) {
		cut(match[0], match[0]+len("---"))
	}
	cut(len(content), len(content))
	return pieces
}

// parse returns the node of the document, nil where there is none, and by how many bytes
// it grows where its aliases are expanded.
func (p piece) parse() (node *yaml.Node, growth int, err error) {
	if err := p.checkText(); err != nil {
		return nil, 0, err
	}
	if err := p.checkMarkers(); err != nil {
		return nil, 0, err
	}
	var root yaml.Node
	if err := yaml.Unmarshal(p.content, &root); err != nil {
		return nil, 0, p.explain(err)
	}
	if len(root.Content) == 0 {
		return nil, 0, nil
	}
	if growth, err = measure(root.Content[0], len(p.content)); err == nil {
		err = checkList(root.Content[0])
	}
	return root.Content[0], growth, err
}

// bomb parses what may be YAML, or anything else, and returns an error only where it is
// YAML that is too large to be read. What else is wrong kustomize says.
func (p piece) bomb() (node *yaml.Node, growth int, err error) {
	var root yaml.Node
	err = yaml.Unmarshal(p.content, &root)
	if err == nil && len(root.Content) > 0 {
		node = root.Content[0]
		growth, err = measure(node, len(p.content))
	}
	var at lineError
	if err != nil && (!errors.As(err, &at) || !at.isHuge) {
		return nil, 0, nil
	}
	return node, growth, err
}

// where is the line in the file of an error of a piece, and what it says.
func (p piece) where(err error) (line int, message string) {
	var at lineError
	if errors.As(err, &at) {
		return p.line(at.line), at.message
	}
	return p.line(p.errorLine(err)), "malformed YAML: " + yamlMessage(err)
}

var unknownAnchor = regexp.MustCompile(`unknown anchor '([^']+)' referenced`)

// errorLine is the line of an error of the YAML library, from 1, also where it names none:
// for an alias of nothing, and for the first line.
func (p piece) errorLine(err error) int {
	if line := yamlLine(err); line > 0 {
		return line
	}
	if anchor := unknownAnchor.FindStringSubmatch(err.Error()); anchor != nil {
		alias := regexp.MustCompile(`(?m)^(?:[^#\n]*[ \t\[{,:])?(\*` + regexp.QuoteMeta(anchor[1]) + `)(?:[\s\]},]|$)`)
		if at := alias.FindSubmatchIndex(p.content); at != nil {
			return p.lineOf(at[2])
		}
	}
	return 1
}

// mappingEntry returns the key and value nodes of a key, or nil. The value is what an
// alias stands for.
func mappingEntry(node *yaml.Node, key string) (k, v *yaml.Node) {
	k, v = writtenEntry(dereferenced(node), key)
	return k, dereferenced(v)
}

// writtenEntry returns the key and value nodes of a key, or nil, as they are written.
func writtenEntry(node *yaml.Node, key string) (k, v *yaml.Node) {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i], node.Content[i+1]
		}
	}
	return nil, nil
}

// textAt returns the text of the scalar at keys; empty where there is none.
func textAt(node *yaml.Node, keys ...string) string {
	for _, key := range keys {
		_, node = mappingEntry(node, key)
	}
	if node == nil || node.ShortTag() == "!!null" {
		return ""
	}
	return node.Value
}

var yamlPosition = regexp.MustCompile(`line (\d+)(: |, column \d+: )?`)

// yamlLine is the line that a YAML error names, from 1; 0 where it names none.
func yamlLine(err error) int {
	if match := yamlPosition.FindStringSubmatch(err.Error()); match != nil {
		line, _ := strconv.Atoi(match[1])
		return line
	}
	return 0
}

// otherLine is a second position in a YAML error, which is not the file's either.
var otherLine = regexp.MustCompile(` at line \d+$`)

// yamlMessage is a YAML error without its position, which is not the file's.
func yamlMessage(err error) string {
	var typeError *yaml.TypeError
	message := err.Error()
	if errors.As(err, &typeError) && len(typeError.Errors) > 0 {
		message = typeError.Errors[0]
	}
	message = strings.TrimPrefix(strings.TrimPrefix(message, "yaml: "), "unmarshal errors:\n  ")
	if at := yamlPosition.FindStringIndex(message); at != nil && at[0] == 0 {
		message = message[at[1]:]
	}
	return otherLine.ReplaceAllString(message, "")
}

// Field returns the value of a key of a mapping, nil where it has none.
func Field(node *yaml.Node, key string) *yaml.Node {
	_, value := mappingEntry(node, key)
	return value
}
