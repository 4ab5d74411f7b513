package spec

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// text is a kustomization as it is written.
type text struct {
	content []byte
	starts  []int  // where lines start
	newline string // how lines end
}

func newText(content []byte) *text {
	t := &text{content: content, starts: []int{0}, newline: "\n"}
	for i, c := range content {
		if c == '\n' {
			t.starts = append(t.starts, i+1)
		}
	}
	if first, _, _ := bytes.Cut(content, []byte("\n")); bytes.HasSuffix(first, []byte("\r")) {
		t.newline = "\r\n"
	}
	return t
}

// at is where a node starts.
func (t *text) at(node *yaml.Node) int {
	if node.Line < 1 || node.Line > len(t.starts) {
		return len(t.content)
	}
	offset := t.starts[node.Line-1]
	for range node.Column - 1 {
		_, size := utf8.DecodeRune(t.content[offset:])
		offset += size
	}
	return offset
}

// lineEnd is where the line of an offset ends, before what ends it.
func (t *text) lineEnd(offset int) int {
	end := offset + bytes.IndexByte(append(t.content[offset:len(t.content):len(t.content)], '\n'), '\n')
	if end > offset && t.content[end-1] == '\r' {
		end--
	}
	return end
}

// insert is the text with a text at an offset.
func (t *text) insert(offset int, inserted string) []byte {
	return slices.Concat(t.content[:offset], []byte(inserted), t.content[offset:])
}

// add is the text with an entry added to the resources. Where it cannot be, it is anything.
func (t *text) add(root *yaml.Node, entry string) []byte {
	key, list := listOf(root)
	switch {
	case root == nil:
		return t.addLines("apiVersion: "+apiVersion, "kind: "+kindOfFile, resources+":", "- "+entry)
	case list == nil && root.Style&yaml.FlowStyle != 0:
		return t.addToFlowMapping(root, entry)
	case list == nil:
		return t.addList(root, entry)
	case len(list.Content) == 0 && root.Style&yaml.FlowStyle == 0:
		return t.fillList(key, list, entry)
	case len(list.Content) == 0:
		return t.insert(t.at(list)+len("["), quotedLike(key, entry))
	case list.Style&yaml.FlowStyle != 0:
		return t.addToFlow(list.Content[len(list.Content)-1], entry)
	}
	return t.addItem(list.Content[len(list.Content)-1], entry)
}

// addLines is the text with lines at its end.
func (t *text) addLines(lines ...string) []byte {
	added := strings.Join(lines, t.newline) + t.newline
	if len(t.content) > 0 && !bytes.HasSuffix(t.content, []byte("\n")) {
		added = t.newline + added
	}
	return t.insert(len(t.content), added)
}

// addList adds the list where none is: after the kind or the version, where people have it,
// or at the end of the document.
func (t *text) addList(root *yaml.Node, entry string) []byte {
	indent := strings.Repeat(" ", root.Column-1)
	list := indent + resources + ":" + t.newline + indent + "- " + entry
	after := -1
	for i := 0; i+1 < len(root.Content); i += 2 {
		name, value := root.Content[i].Value, root.Content[i+1]
		if (name == "kind" || name == "apiVersion") && value.Kind == yaml.ScalarNode {
			after = max(after, t.lineEnd(t.at(value)))
		}
	}
	if after >= 0 {
		return t.insert(after, t.newline+list)
	}
	if end := documentEnd.FindIndex(t.content[t.at(root):]); end != nil {
		return t.insert(t.at(root)+end[0], list+t.newline)
	}
	return t.addLines(list)
}

// documentEnd is a line that ends a document.
var documentEnd = regexp.MustCompile(`(?m)^(---|\.\.\.)([ \t\r].*)?$`)

// noValue is how a list is written that has nothing, on one line.
var noValue = regexp.MustCompile(`^(\[[ \t]*\]|~|null|Null|NULL)?`)

// fillList writes a list in place of an empty one, or of nothing.
func (t *text) fillList(key, list *yaml.Node, entry string) []byte {
	colon := t.at(key) + bytes.IndexByte(append(t.content[t.at(key):len(t.content):len(t.content)], ':'), ':') + 1
	rest := colon
	if list.Value != "" || list.Kind == yaml.SequenceNode {
		rest = t.at(list)
		rest += len(noValue.Find(t.content[rest:]))
	}
	end := t.lineEnd(rest)
	item := t.newline + strings.Repeat(" ", key.Column-1) + "- " + entry
	return slices.Concat(t.content[:colon], t.content[rest:end], []byte(item), t.content[end:])
}

// addItem adds an item after the last one of a list of lines.
func (t *text) addItem(last *yaml.Node, entry string) []byte {
	at := t.at(last)
	dash := t.content[t.starts[last.Line-1]:at]
	return t.insert(t.lineEnd(at), t.newline+string(dash)+quotedLike(last, entry))
}

// addToFlow adds an item after the last one of a list in brackets: on a line of its own where
// that one has one.
func (t *text) addToFlow(last *yaml.Node, entry string) []byte {
	start := t.at(last)
	end := start + len(flowScalar.Find(t.content[start:]))
	item := quotedLike(last, entry)
	indent := t.content[t.starts[last.Line-1]:start]
	after := t.content[end:t.lineEnd(end)]
	if len(bytes.TrimSpace(indent)) > 0 || bytes.ContainsAny(after, "]}") {
		return t.insert(end, ", "+item)
	}
	if bytes.HasPrefix(bytes.TrimLeft(after, " \t"), []byte(",")) {
		return t.insert(end+len(after), t.newline+string(indent)+item+",")
	}
	return slices.Concat(t.content[:end], []byte(","), after, []byte(t.newline), indent, []byte(item), t.content[end+len(after):])
}

// flowScalar is an item of a list in brackets, at the start of a text.
var flowScalar = regexp.MustCompile(`^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s,\]]+(?:[ \t]+[^\s,\]#][^\s,\]]*)*)`)

// addToFlowMapping adds the list to a kustomization in braces.
func (t *text) addToFlowMapping(root *yaml.Node, entry string) []byte {
	if len(root.Content) == 0 {
		return t.insert(t.at(root)+len("{"), resources+": ["+entry+"]")
	}
	first := root.Content[0]
	return t.insert(t.at(first), quotedLike(first, resources)+": ["+quotedLike(first, entry)+"], ")
}

// quotedLike is a text in the quotes of a node, if it has any.
func quotedLike(node *yaml.Node, text string) string {
	switch {
	case node.Style&yaml.DoubleQuotedStyle != 0:
		return `"` + text + `"`
	case node.Style&yaml.SingleQuotedStyle != 0:
		return "'" + text + "'"
	}
	return text
}
