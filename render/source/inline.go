package source

import (
	"errors"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
)

// isInline says whether kustomize takes a text, where it may be a path, for YAML.
func (s *Sources) isInline(k *Kustomization, text string) bool {
	if strings.Contains(text, "\n") {
		return true
	}
	var root yaml.Node
	err := yaml.Unmarshal([]byte(text), &root)
	if err == nil && (len(root.Content) == 0 || root.Content[0].Kind == yaml.ScalarNode) {
		return false
	}
	if err == nil && textAt(root.Content[0], "kind") != "" {
		return true
	}
	return !s.FS.Exists(path.Join(k.Folder, text)) && (err == nil || strings.HasPrefix(text, "{"))
}

// walkInline looks at the objects that a kustomization has in place of a path, and says
// whether kustomize can take them.
func (s *Sources) walkInline(k *Kustomization, l loads, value *yaml.Node) bool {
	pieces := textPieces(value, place{})
	if !s.isWellFormed(k.File, pieces, l) {
		return false
	}
	found := false
	for _, p := range pieces {
		documents, _, err := p.documents(k.File)
		if err != nil {
			continue // JSON
		}
		for _, d := range documents {
			if d.Node.Kind != yaml.MappingNode || d.Kind == "" || d.Name == "" {
				s.problem(k.File, d.line(d.Node), "%s: %s is neither a path nor an object: write the path of a file on one line, or an object with apiVersion, kind and metadata.name",
					l.field, clip(strings.ReplaceAll(value.Value, "\n", " ")))
				return false
			}
			found = true
			if l.is == loadConfig {
				s.checkConfig(d)
				s.checkFinalConfig(k, d)
			}
		}
	}
	if !found {
		s.problem(k.File, value.Line, "%s: an empty text: remove it", l.field)
	}
	return found
}

// checkConfigs looks at the generators, transformers and validators in files.
func (s *Sources) checkConfigs() {
	for _, l := range s.loads {
		if l.configures == nil || l.isDir {
			continue
		}
		for _, d := range s.documents[l.path] {
			s.checkConfig(d)
			if l.by == l.configures {
				s.checkFinalConfig(l.configures, d)
			}
		}
	}
}

// checkConfig looks at the configuration of a generator, transformer or validator, which a
// kustomization may yet change.
func (s *Sources) checkConfig(d Document) {
	switch {
	case d.inline || d.Kind == "":
		return
	case d.APIVersion != "builtin":
		s.problemIn(d, d.Node, "%s: rendering runs no plugins and no functions: only those that kustomize has built in, of apiVersion builtin", d.ID)
		return
	case d.Kind == "HelmChartInflationGenerator":
		s.problemIn(d, d.Node, "%s: rendering runs no Helm: write what `helm template` prints into a file, and list that under resources", d.ID)
		return
	}
	s.checkNoEmptyEntries(d, d.Node)
	s.checkTexts(d.File, d.place, d.Node, maxTextLevels)
}

// checkFinalConfig looks at the configuration of a generator, transformer or validator that
// a kustomization lists: at what kustomize needs, loads or parses.
func (s *Sources) checkFinalConfig(k *Kustomization, d Document) {
	if d.inline || d.APIVersion != "builtin" {
		return
	}
	switch {
	case d.Kind == "PatchTransformer" && wrongPatch("", d.Node) != "":
		s.problemIn(d, d.Node, "%s: %s", d.ID, wrongPatch("", d.Node))
	case d.Kind == "PatchJson6902Transformer" && textAt(d.Node, "target", "name") == "":
		s.problemIn(d, d.Node, "%s: has no target: write one with kind and name", d.ID)
	}
	for _, key := range []string{"patch", "patches", "jsonOp"} {
		if _, text := mappingEntry(d.Node, key); text != nil && text.Kind == yaml.ScalarNode && text.ShortTag() != "!!null" {
			s.isWellFormed(d.File, textPieces(text, d.place), loads{field: "patches", is: inlineYAML})
		}
	}
	_, paths := mappingEntry(d.Node, "paths")
	_, replacements := mappingEntry(d.Node, "replacements")
	s.walkConfigPath(k, d, loadYAML, d.Node, "path")
	for _, item := range contentOf(paths) {
		s.walkConfigValue(k, d, loadPatch, item)
	}
	for _, item := range contentOf(replacements) {
		s.walkConfigPath(k, d, loadYAML, item, "path")
	}
}

func contentOf(node *yaml.Node) []*yaml.Node {
	if node == nil {
		return nil
	}
	return node.Content
}

func (s *Sources) walkConfigPath(k *Kustomization, d Document, is loadKind, node *yaml.Node, key string) {
	if _, value := mappingEntry(node, key); value != nil {
		s.walkConfigValue(k, d, is, value)
	}
}

// walkConfigValue follows a path in a configuration: it is one from the folder of the
// kustomization.
func (s *Sources) walkConfigValue(k *Kustomization, d Document, is loadKind, value *yaml.Node) {
	value = dereferenced(value)
	if value.Kind != yaml.ScalarNode || value.Value == "" || value.ShortTag() == "!!null" {
		return
	}
	if is == loadPatch && s.isInline(k, value.Value) {
		return // as any text, see checkTexts
	}
	if wrong := s.walkPath(k, value.Value, loads{field: d.Kind, is: is}); wrong != "" {
		s.problemIn(d, value, "%s", wrong)
		return
	}
	s.isWellFormedFile(k.Paths[value.Value], loads{is: is})
}

// checkNoEmptyEntries notes entries of lists that are empty, which kustomize takes for
// something.
func (s *Sources) checkNoEmptyEntries(d Document, node *yaml.Node) {
	for _, child := range node.Content {
		if node.Kind == yaml.SequenceNode && child.ShortTag() == "!!null" {
			s.problemIn(d, child, "%s: an empty entry: remove it, or write what it is to be", d.ID)
			continue
		}
		s.checkNoEmptyEntries(d, child)
	}
}

// maxTextLevels is how deep in texts kustomize may look for texts.
const maxTextLevels = 4

// checkTexts notes texts, in what kustomize may parse the texts of, that are too large when
// they are parsed.
func (s *Sources) checkTexts(file string, at place, node *yaml.Node, levels int) {
	if node.Kind == yaml.ScalarNode && levels > 0 && strings.ContainsAny(node.Value, "*[{\n") {
		for _, p := range textPieces(node, at) {
			root, growth, err := p.bomb()
			if err != nil {
				s.malformed(file, p, err)
				continue
			}
			if root != nil && root.Kind != yaml.ScalarNode {
				s.grow(file, p, root, growth)
				s.checkTexts(file, p.place, root, levels-1)
			}
		}
	}
	for _, child := range node.Content {
		s.checkTexts(file, at, child, levels)
	}
}

func (s *Sources) problemIn(d Document, node *yaml.Node, format string, args ...any) {
	s.problem(d.File, d.line(node), format, args...)
}

// malformed notes why a piece of a file cannot be read.
func (s *Sources) malformed(file string, p piece, err error) {
	var at lineError
	if errors.As(err, &at) && at.isHuge {
		s.isHuge = true
	}
	line, message := p.where(err)
	s.problem(file, line, "%s", message)
}

// isMalformed says whether an error is one of the YAML library.
func isMalformed(err error) bool {
	var at lineError
	return err != nil && !errors.As(err, &at)
}

// grow counts by how much a document grows when it is read, and notes that which is one
// too many.
func (s *Sources) grow(file string, p piece, node *yaml.Node, growth int) {
	if node == nil || growth == 0 || s.growth > maxTotalGrowth {
		return
	}
	if s.growth += growth; s.growth > maxTotalGrowth {
		s.isHuge = true
		s.problem(file, p.line(node.Line), "with this document, what is read is over %d MiB larger than it is written: use fewer aliases, less nesting and no mappings of thousands of keys", maxTotalGrowth>>20)
	}
}
