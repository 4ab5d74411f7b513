package source

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// piece is the text of one YAML document of a file.
type piece struct {
	content []byte
	first   int // the line of the file that it starts on, from 1
	// isQuoted is set where all of the text counts as being on that line, as text within
	// quotes, whose lines are not those of the file.
	isQuoted     bool
	isAfterOther bool // another document is before it in the file
}

// fileLine returns the line in the file of a line of the piece, from 1.
func (p piece) fileLine(line int) int {
	if p.isQuoted {
		return p.first
	}
	return p.first + line - 1
}

// lineError is what is wrong with a line.
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
	start, line := 0, 1
	cut := func(end, next int) {
		text := content[start:end]
		if start > 0 {
			text = bytes.TrimLeft(text, " \t") // which is after ---, where YAML takes no tab
		}
		pieces = append(pieces, piece{content: text, first: line, isAfterOther: start > len("---")})
		line += bytes.Count(content[start:next], []byte("\n"))
		start = next
	}
	for _, match := range separator.FindAllIndex(content, -1) {
		cut(match[0], match[0]+len("---"))
	}
	cut(len(content), len(content))
	return pieces
}

// Documents returns the YAML documents of a file that have more than comments.
func Documents(content []byte) (documents [][]byte) {
	for _, p := range splitDocuments(content) {
		for line := range bytes.Lines(p.content) {
			if !isBlank(line) {
				documents = append(documents, p.content)
				break
			}
		}
	}
	return documents
}

// textPieces splits the YAML that a scalar of a file holds.
func textPieces(text *yaml.Node) []piece {
	pieces := splitDocuments([]byte(text.Value))
	for i := range pieces {
		if text.Style&yaml.LiteralStyle == 0 {
			pieces[i].first, pieces[i].isQuoted = text.Line, true
			continue
		}
		pieces[i].first += text.Line // a block starts on the next line
	}
	return pieces
}

// parse returns the node of the document, nil if it is empty, and by how many bytes it grows
// where its aliases are expanded. The lines of nodes, and of an error, are those of the file.
func (p piece) parse() (node *yaml.Node, growth int, err error) {
	var root yaml.Node
	if err = cmp.Or(p.checkText(), p.checkMarkers()); err == nil {
		err = yaml.Unmarshal(p.content, &root)
	}
	if err == nil && len(root.Content) > 0 {
		node = root.Content[0]
		growth, err = measure(node, len(p.content))
	}
	if err == nil && node != nil {
		err = checkKeys(node)
	}
	if err != nil {
		return nil, 0, p.inFile(err)
	}
	p.setLines(node)
	return node, growth, nil
}

// setLines gives nodes the lines of the file.
func (p piece) setLines(node *yaml.Node) {
	if node == nil || p.first == 1 && !p.isQuoted {
		return
	}
	node.Line = p.fileLine(node.Line)
	for _, child := range node.Content {
		p.setLines(child)
	}
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

// admitted returns the node of a piece of a file that was parsed, nil if it is empty. It reports what
// is wrong with it.
func (s *Sources) admitted(file string, node *yaml.Node, growth int, err error) *yaml.Node {
	if err == nil && node != nil {
		err = s.FS.disk.admit(file, growth, node.Line)
	}
	if err != nil {
		s.reportMalformed(file, err)
		return nil
	}
	return node
}

// reportMalformed reports why a piece of a file cannot be read.
func (s *Sources) reportMalformed(file string, err error) {
	var at lineError
	errors.As(err, &at)
	s.report(file, at.line, "%s", err)
}

// directive matches a line like %YAML 1.2 before a document.
var directive = regexp.MustCompile(`^(?:[ \t]*(?:#.*)?\r?\n)*%`)

// inFile returns an error of the piece, which may be the library's, with its line in the file.
func (p piece) inFile(err error) error {
	var at lineError
	if start := directive.FindIndex(p.content); errors.As(err, &at) {
		at.line = p.fileLine(at.line)
	} else if start != nil {
		at = lineError{p.fileLine(p.lineOf(start[1])), "a directive like %YAML is not read: remove the line"}
	} else {
		at = lineError{p.fileLine(p.errorLine(err)), "malformed YAML: " + yamlMessage(err)}
	}
	return at
}

var unknownAnchor = regexp.MustCompile(`unknown anchor '([^']+)' referenced`)

// errorLine returns the line of an error of the YAML library, from 1. The library names none for
// an alias of nothing, and for the first line.
func (p piece) errorLine(err error) int {
	if match := yamlPosition.FindStringSubmatch(err.Error()); match != nil {
		line, _ := strconv.Atoi(match[1])
		return line
	}
	if anchor := unknownAnchor.FindStringSubmatch(err.Error()); anchor != nil {
		alias := regexp.MustCompile(`(?m)^(?:[^#\n]*[ \t\[{,:])?\*` + regexp.QuoteMeta(anchor[1]) + `(?:[\s\]},]|$)`)
		if at := alias.FindIndex(p.content); at != nil {
			return p.lineOf(at[0])
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

// entries yields the keys and values of a mapping, aliases followed; none of any other node.
func entries(mapping *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		mapping := dereferenced(mapping)
		if mapping == nil || mapping.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(mapping.Content); i += 2 {
			if !yield(mapping.Content[i], dereferenced(mapping.Content[i+1])) {
				return
			}
		}
	}
}

// mappingEntry returns the key and value nodes of a key, or nil.
func mappingEntry(node *yaml.Node, key string) (k, v *yaml.Node) {
	for k, v := range entries(node) {
		if k.Value == key {
			return k, v
		}
	}
	return nil, nil
}

// valuesAt returns the values of a key, however that is spelled: kustomize takes any case.
func valuesAt(node *yaml.Node, key string) (values []*yaml.Node) {
	for k, v := range entries(node) {
		if strings.EqualFold(k.Value, key) {
			values = append(values, v)
		}
	}
	return values
}

// itemsOf returns the items of a list, aliases followed, or a node that is no list.
func itemsOf(node *yaml.Node) (items []*yaml.Node) {
	if node == nil || node.Kind != yaml.SequenceNode {
		return []*yaml.Node{node}
	}
	for _, item := range node.Content {
		items = append(items, dereferenced(item))
	}
	return items
}

// item returns an item of a list or, for 0, a node that is no list; nil where there is none.
func item(node *yaml.Node, index int) *yaml.Node {
	if items := itemsOf(dereferenced(node)); index < len(items) {
		return items[index]
	}
	return nil
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

// otherLine matches a second position in a YAML error, which is not the file's either.
var otherLine = regexp.MustCompile(` at line \d+$`)

// yamlMessage returns a YAML error without its position, which is not the file's.
func yamlMessage(err error) string {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
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
