package source

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// piece is the text of one YAML document of a file.
type piece struct {
	content []byte
	offset  int // lines of the file before it
}

var separator = regexp.MustCompile(`(?m)^---([ \t\r].*)?$`)

// splitDocuments splits a file so that one malformed document does not hide the
// others.
func splitDocuments(content []byte) []piece {
	var pieces []piece
	start, offset := 0, 0
	cut := func(end, next int) {
		pieces = append(pieces, piece{content[start:end], offset})
		offset += bytes.Count(content[start:next], []byte("\n"))
		start = next
	}
	for _, match := range separator.FindAllIndex(content, -1) {
		cut(match[0], match[0]+len("---"))
	}
	cut(len(content), len(content))
	return pieces
}

// parse returns the node of the document, nil where there is none.
func (p piece) parse() (*yaml.Node, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(p.content, &root); err != nil {
		return nil, err
	}
	if len(root.Content) == 0 {
		return nil, nil
	}
	if err := checkFinite(&root); err != nil {
		return nil, err
	}
	return root.Content[0], nil
}

// checkFinite finds what a tree of nodes does not: a key that is there twice, an
// alias of what holds it, and aliases that stand for more than a file can say. It
// looks into text that is YAML again, as an inline patch is.
func checkFinite(node *yaml.Node) error {
	if isSimple(node) {
		return nil
	}
	var content any
	if err := node.Decode(&content); err != nil {
		return err
	}
	return checkFiniteText(content)
}

// isSimple says whether a tree of nodes has no alias, no text that may have one, and
// no key twice: that it is finite then needs no further proof.
func isSimple(node *yaml.Node) bool {
	switch node.Kind {
	case yaml.AliasNode:
		return false
	case yaml.ScalarNode:
		return !strings.Contains(node.Value, "*")
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			for j := 0; j < i; j += 2 {
				if node.Content[i].Value == node.Content[j].Value {
					return false
				}
			}
			if i > 64 { // comparing all of a large mapping is slower than decoding it
				return false
			}
		}
	}
	for _, child := range node.Content {
		if !isSimple(child) {
			return false
		}
	}
	return true
}

func checkFiniteText(content any) error {
	switch content := content.(type) {
	case map[string]any:
		for _, value := range content {
			if err := checkFiniteText(value); err != nil {
				return err
			}
		}
	case []any:
		for _, value := range content {
			if err := checkFiniteText(value); err != nil {
				return err
			}
		}
	case string:
		return checkFiniteYAML(content)
	}
	return nil
}

// checkFiniteYAML checks what text holds, if that is YAML.
func checkFiniteYAML(text string) error {
	if !strings.Contains(text, "*") {
		return nil
	}
	var node yaml.Node
	err := yaml.Unmarshal([]byte(text), &node)
	if err == nil && len(node.Content) > 0 && node.Content[0].Kind != yaml.ScalarNode { // which would be this text again
		return checkFinite(&node)
	}
	return nil
}

// mappingEntry returns the key and value nodes of a key, or nil.
func mappingEntry(node *yaml.Node, key string) (k, v *yaml.Node) {
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
	if node == nil {
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
