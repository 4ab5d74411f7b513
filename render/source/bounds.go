package source

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/manifest"
)

// A few bytes of YAML may stand for more than memory holds: by aliases of aliases, by
// nesting, by folders that load folders again and again. What the files of an environment
// stand for is therefore measured where a file is read, before kustomize expands it, and
// bounded by these.
const (
	// maxGrowth is how many bytes the files of an environment may stand for beyond what is
	// written. To read, build and check takes some thirty times as much memory.
	maxGrowth = 16 << 20

	// maxIndent is how often the size of a text its nodes may be indented by, where block style is
	// written for flow style, before that counts as growth: fields like {type: string} are by 11 times,
	// 40 levels deep in the schema of a CustomResourceDefinition.
	maxIndent = 16

	// maxDepth is how deep a document may nest. Objects of Kubernetes do not come near.
	maxDepth = 200

	// maxCopies is how many documents and folders may be copies, as they are loaded again.
	// kustomize compares each object with each.
	maxCopies = 4_000

	// nodeSize is the memory that a node takes beside its text, in bytes. kustomize compares
	// each key of a mapping with each, and comparisons of these take as long as a byte.
	nodeSize    = 32
	comparisons = 20
)

// extent is the size of a node with its aliases expanded and written in block style.
type extent struct {
	nodes    int // including the node
	bytes    int
	indented int // bytes before the lines of the nodes
	height   int
	compared int // pairs of keys
}

// measurement finds the extent of a tree of nodes without expanding it.
type measurement struct {
	length  int                   // of the text
	written int                   // the size of what was measured, as it is written
	anchors map[*yaml.Node]extent // of the nodes that are measured as a whole
}

// measure returns by how many bytes a document, of a text of some length, grows where its
// aliases are expanded. The error is a lineError of what keeps it from being read.
func measure(root *yaml.Node, length int) (growth int, err error) {
	m := &measurement{length: length, written: length, anchors: map[*yaml.Node]extent{}}
	e, err := m.extent(root, 0)
	return max(m.growth(e), 0), err
}

// growth returns by how many bytes what was measured is larger than it is written.
func (m *measurement) growth(e extent) int {
	return e.bytes + nodeSize*e.nodes + e.compared/comparisons - m.written + max(e.indented-maxIndent*m.length, 0)
}

// extent returns the extent of a node at a depth.
func (m *measurement) extent(node *yaml.Node, depth int) (extent, error) {
	if node.Kind == yaml.AliasNode {
		return m.aliased(node, depth)
	}
	if depth > maxDepth {
		return extent{}, tooDeep(node.Line)
	}
	e := extent{nodes: 1, bytes: len(node.Value)}
	if node.Kind == yaml.MappingNode {
		e.compared = len(node.Content) / 2 * len(node.Content) / 2
	}
	m.written += nodeSize
	for _, child := range node.Content {
		c, err := m.extent(child, depth+1)
		if err != nil {
			return extent{}, err
		}
		e.nodes += c.nodes
		e.bytes += c.bytes
		e.indented += c.indented + 2*c.nodes
		e.height = max(e.height, c.height+1)
		e.compared += c.compared
		if m.growth(e) > maxGrowth {
			return extent{}, tooLarge(child.Line)
		}
	}
	if node.Anchor != "" {
		m.anchors[node] = e
	}
	return e, nil
}

// aliased returns the extent of the node that an alias stands for.
func (m *measurement) aliased(alias *yaml.Node, depth int) (extent, error) {
	e, isWhole := m.anchors[alias.Alias]
	if !isWhole {
		return extent{}, lineError{alias.Line, fmt.Sprintf("the alias *%s is within what it stands for: write out what it is to be", alias.Value)}
	}
	if depth+e.height > maxDepth {
		return extent{}, tooDeep(alias.Line)
	}
	return e, nil
}

func tooDeep(line int) error {
	return lineError{line, fmt.Sprintf("nested over %d levels deep: no object of Kubernetes is", maxDepth)}
}

func tooLarge(line int) error {
	return lineError{line, fmt.Sprintf("the files of the environment stand for over %d MiB more than is written: use fewer aliases, less nesting, and no mappings of thousands of keys", maxGrowth>>20)}
}

// admit adds by how much a file grows to what is read. It returns an error for the first
// that is too much.
func (d *disk) admit(file string, growth, line int) error {
	d.isMeasured[file] = true
	before := d.growth
	if d.growth += growth; d.growth > maxGrowth && before <= maxGrowth {
		return tooLarge(line)
	}
	return nil
}

// measureFile returns an error for a file that was not measured when it was parsed, as only
// kustomize reads it, and that is too large.
func (d *disk) measureFile(file string, content []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.isMeasured[file] {
		for _, p := range splitDocuments(content) {
			var at lineError
			if _, err := d.measureText(file, p); errors.As(err, &at) {
				d.refused[file] = manifest.Problem{File: Relative(file), Line: at.line, Message: at.message}
				break
			}
		}
	}
	if refused, ok := d.refused[file]; ok {
		return errors.New(refused.String())
	}
	return nil
}

// TooLarge returns the problems of the files that kustomize asked for and could not read.
func (f *FileSystem) TooLarge() []manifest.Problem {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return manifest.SortProblems(slices.Collect(maps.Values(f.disk.refused)))
}

// measureText admits a text that may be YAML, or anything else. It returns an error only for
// YAML that is too large: kustomize says what else is wrong.
func (d *disk) measureText(file string, p piece) (node *yaml.Node, err error) {
	var root yaml.Node
	if yaml.Unmarshal(p.content, &root) != nil || len(root.Content) == 0 {
		return nil, d.admit(file, 0, 0)
	}
	node = root.Content[0]
	growth, err := measure(node, len(p.content))
	if err != nil {
		err = p.inFile(err)
	}
	p.setLines(node)
	return node, cmp.Or(err, d.admit(file, growth, node.Line))
}

// maxTextLevels is how deep in texts kustomize may look for texts.
const maxTextLevels = 4

// checkTexts reports texts that are too large, in a node whose texts kustomize may parse.
func (s *Sources) checkTexts(file string, node *yaml.Node, levels int) {
	if node.Kind == yaml.ScalarNode && levels > 0 && strings.ContainsAny(node.Value, "*[{\n") {
		for _, p := range textPieces(node) {
			root, err := s.FS.disk.measureText(file, p)
			if err != nil {
				s.reportMalformed(file, err)
			} else if root != nil && root.Kind != yaml.ScalarNode {
				s.checkTexts(file, root, levels-1)
			}
		}
	}
	for _, child := range node.Content {
		s.checkTexts(file, child, levels)
	}
}

// checkLoads reports a folder that loads itself, or the file or folder with which too much is
// loaded again, as where each of many folders loads the next two.
func (s *Sources) checkLoads(roots []string) {
	byFolder, weights := map[string][]load{}, map[string]int{}
	for _, l := range s.loads {
		byFolder[l.by.Folder] = append(byFolder[l.by.Folder], l)
	}
	for _, k := range s.Kustomizations {
		weights[k.Folder] = k.weight
	}
	for _, m := range s.Manifests {
		weights[m.File] = len(m.Texts)
	}
	var open []string // the folders on the way to one
	isLoaded, copies := map[string]bool{}, 0
	var follow func(folder string) (isBounded bool)
	follow = func(folder string) bool {
		isLoaded[folder], open = true, append(open, folder)
		for _, l := range byFolder[folder] {
			isWithin := func(folder string) bool { return strings.HasPrefix(folder+"/", strings.TrimSuffix(l.path, "/")+"/") }
			if slices.ContainsFunc(open, isWithin) {
				s.report(l.by.File, l.line, "%s is, or contains, a folder that leads here: remove this entry, or one on the way", Relative(l.path))
				return false
			}
			if isLoaded[l.path] {
				copies += max(1, weights[l.path])
			}
			if copies > maxCopies {
				s.report(l.by.File, l.line, "%s would be loaded again and again, which makes over %d copies of what is in files: load folders less often, or have fewer objects in them", Relative(l.path), maxCopies)
				return false
			}
			isLoaded[l.path] = true
			if l.isDir && !follow(l.path) {
				return false
			}
		}
		open = open[:len(open)-1]
		return true
	}
	for _, root := range roots {
		if !follow(root) {
			return
		}
	}
}
