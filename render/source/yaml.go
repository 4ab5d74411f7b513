package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
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

// line returns the line in the file of a line of the text, from 1.
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
}

func (e lineError) Error() string { return e.message }

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

// parse returns the node of the document, nil if it is empty, and by how many bytes it grows
// where its aliases are expanded.
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
	node = root.Content[0]
	if growth, err = measure(node, len(p.content)); err == nil {
		err = checkKeys(node)
	}
	return node, growth, err
}

// checkKeys returns an error for a key that a mapping has twice, or that is not text.
func checkKeys(node *yaml.Node) error {
	isThere := make(map[string]bool, len(node.Content)/2)
	for i, child := range node.Content {
		if err := checkKeys(child); err != nil {
			return err
		}
		if node.Kind != yaml.MappingNode || i%2 == 1 {
			continue
		}
		switch key := dereferenced(child); {
		case key.Kind != yaml.ScalarNode:
			return lineError{child.Line, "malformed YAML: a key has to be text, not a list or mapping; a template like {{ a }} needs quotes"}
		case key.ShortTag() == "!!null":
			return lineError{child.Line, fmt.Sprintf("malformed YAML: the key %q is nothing, and keys are text: put it in quotes", key.Value)}
		case isThere[key.Value]:
			return lineError{child.Line, fmt.Sprintf("malformed YAML: mapping key %q already defined", key.Value)}
		default:
			isThere[key.Value] = true
		}
	}
	return nil
}

// isTabbedJSON reports whether the text is JSON that YAML does not take, as it has tabs.
func (p piece) isTabbedJSON() bool {
	return bytes.ContainsRune(p.content, '\t') && json.Valid(p.content) && yaml.Unmarshal(p.content, &yaml.Node{}) != nil
}

// parse returns the node of a piece of a file, nil if it is empty. It reports what is wrong
// with it.
func (s *Sources) parse(file string, p piece) *yaml.Node {
	node, growth, err := p.parse()
	if err == nil && node != nil {
		err = s.FS.disk.admit(file, growth, node.Line)
	}
	if err != nil {
		s.reportMalformed(file, p, err)
		return nil
	}
	return node
}

// reportMalformed reports why a piece of a file cannot be read.
func (s *Sources) reportMalformed(file string, p piece, err error) {
	line, message := p.position(err)
	s.report(file, line, "%s", message)
}

// position returns the line in the file of an error of a piece, and its message.
func (p piece) position(err error) (line int, message string) {
	var at lineError
	if errors.As(err, &at) {
		return p.line(at.line), at.message
	}
	return p.line(p.errorLine(err)), "malformed YAML: " + yamlMessage(err)
}

var unknownAnchor = regexp.MustCompile(`unknown anchor '([^']+)' referenced`)

// errorLine returns the line of an error of the YAML library, from 1. The library names none for
// an alias of nothing, and for the first line.
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

// dereferenced returns a node, or the one that it is an alias of.
func dereferenced(node *yaml.Node) *yaml.Node {
	if node != nil && node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// contentOf returns the content of a node, none of nil.
func contentOf(node *yaml.Node) []*yaml.Node {
	if node == nil {
		return nil
	}
	return node.Content
}

// mappingEntry returns the key and value nodes of a key, aliases followed, or nil.
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

// textAt returns the text of the scalar at keys, "" if there is none.
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

// yamlLine returns the line that a YAML error names, from 1, or 0.
func yamlLine(err error) int {
	if match := yamlPosition.FindStringSubmatch(err.Error()); match != nil {
		line, _ := strconv.Atoi(match[1])
		return line
	}
	return 0
}

// otherLine matches a second position in a YAML error, which is not the file's either.
var otherLine = regexp.MustCompile(` at line \d+$`)

// yamlMessage returns a YAML error without its position, which is not the file's.
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

// Field returns the value of a key of a mapping, or nil.
func Field(node *yaml.Node, key string) *yaml.Node {
	_, value := mappingEntry(node, key)
	return value
}

// expanded returns a copy of a node without aliases.
func expanded(node *yaml.Node) *yaml.Node {
	whole := *dereferenced(node)
	whole.Anchor, whole.Content = "", slices.Clone(whole.Content)
	for i, child := range whole.Content {
		whole.Content[i] = expanded(child)
	}
	return &whole
}
