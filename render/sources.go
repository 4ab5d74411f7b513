package render

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
)

// sources are the kustomizations and manifests that a build starts from, as
// people wrote them: where problems are found that kustomize would stop at, and
// where the lines are that a problem of the built objects comes from.
type sources struct {
	tree      *tree
	visited   map[string]bool
	manifests []string // files of objects, in order, each once
	documents map[string][]document
	problems  []Problem

	isManifest map[string]bool
}

// document is one object, or patch of an object, in a file.
type document struct {
	file   string
	node   *yaml.Node // a mapping, or the list of a JSON 6902 patch
	offset int        // lines of the file before the node's first
	group  string
	kind   string
	name   string
	ns     string
	inline bool // a patch within a kustomization
}

func (d document) line(n *yaml.Node) int { return n.Line + d.offset }

func (d document) object() string { return objectName(d.kind, d.ns, d.name) }

// objectName is how people name an object: "Kind namespace/name".
func objectName(kind, namespace, name string) string {
	if namespace == "" {
		return kind + " " + name
	}
	return kind + " " + namespace + "/" + name
}

func (s *sources) problem(file string, line int, format string, args ...any) {
	s.problems = append(s.problems, Problem{File: relative(file), Line: line, Message: fmt.Sprintf(format, args...)})
}

// walk reads the kustomization of a folder and those that it builds on, and says
// whether it can be built. What cannot is noted as a problem and left out of the
// tree, so that the build finds the problems of the rest.
func (s *sources) walk(dir string) bool {
	if s.visited[dir] {
		return true
	}
	s.visited[dir] = true
	file := s.tree.kustomizationFile(dir)
	content, err := s.tree.ReadFile(file)
	if err != nil {
		s.problem(file, 0, "%v", err)
		return false
	}
	var root yaml.Node
	var kustomization types.Kustomization
	err = yaml.Unmarshal(content, &root)
	if err == nil {
		err = finite(&root)
	}
	if err != nil {
		s.problem(file, yamlLine(err), "malformed YAML: %s", yamlMessage(err))
		return false
	}
	if err := kustomization.Unmarshal(content); err != nil {
		s.kustomizationProblem(file, &root, err)
		return false
	}
	if len(root.Content) > 0 && s.walkEntries(dir, file, root.Content[0]) {
		if content, err = yaml.Marshal(&root); err == nil {
			s.tree.with(file, content)
		}
	}
	return true
}

// finite finds what a tree of nodes does not: a key that is there twice, an alias
// of what holds it, and aliases that stand for more than a file can say. It looks
// into text that is YAML again, as an inline patch is.
func finite(node *yaml.Node) error {
	var content any
	if err := node.Decode(&content); err != nil {
		return err
	}
	return finiteText(content)
}

func finiteText(content any) error {
	switch content := content.(type) {
	case map[string]any:
		for _, value := range content {
			if err := finiteText(value); err != nil {
				return err
			}
		}
	case []any:
		for _, value := range content {
			if err := finiteText(value); err != nil {
				return err
			}
		}
	case string:
		return finiteYAML(content)
	}
	return nil
}

// finiteYAML is finiteText of what text holds, if that is YAML.
func finiteYAML(text string) error {
	if !strings.Contains(text, "*") {
		return nil
	}
	var node yaml.Node
	err := yaml.Unmarshal([]byte(text), &node)
	if err == nil && len(node.Content) > 0 && node.Content[0].Kind != yaml.ScalarNode { // which would be this text again
		return finite(&node)
	}
	return nil
}

// kustomizationProblem notes why a kustomization cannot be read.
func (s *sources) kustomizationProblem(file string, root *yaml.Node, err error) {
	match := unknownField.FindStringSubmatch(err.Error())
	if match == nil {
		s.problem(file, 0, "%v", err)
		return
	}
	line := 0
	if key, _ := mappingEntry(root.Content[0], match[1]); key != nil {
		line = key.Line
	}
	var known []string
	for field := range reflect.TypeFor[types.Kustomization]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		known = append(known, name)
	}
	s.problem(file, line, "%s %q%s", unknown, match[1], didYouMean(match[1], known))
}

var unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)

// loads is a field of a kustomization that names files to load.
type loads struct {
	field string
	key   string // of an item, that has the path; empty where the item is the path
	is    loadKind
}

type loadKind int

const (
	objects             loadKind = iota // a file of objects, or a folder with a kustomization
	kustomizationFolder                 // a folder with a kustomization
	patch                               // a file of YAML
	data                                // a file of anything, maybe behind a name: name=file
)

var loaded = []loads{
	{"resources", "", objects}, {"bases", "", objects}, {"components", "", kustomizationFolder},
	{"generators", "", objects}, {"transformers", "", objects}, {"validators", "", objects},
	{"patches", "path", patch}, {"patchesJson6902", "path", patch}, {"patchesStrategicMerge", "", patch},
	{"replacements", "path", patch}, {"configurations", "", patch}, {"crds", "", patch},
	{"configMapGenerator", "files", data}, {"configMapGenerator", "envs", data}, {"configMapGenerator", "env", data},
	{"secretGenerator", "files", data}, {"secretGenerator", "envs", data}, {"secretGenerator", "env", data},
}

// walkEntries follows what a kustomization loads and drops what cannot be loaded.
// It says whether it dropped anything.
func (s *sources) walkEntries(dir, file string, kustomization *yaml.Node) (dropped bool) {
	for _, l := range loaded {
		_, list := mappingEntry(kustomization, l.field)
		if list == nil || list.Kind != yaml.SequenceNode {
			continue
		}
		list.Content = slices.DeleteFunc(list.Content, func(entry *yaml.Node) bool {
			for _, path := range paths(entry, l.key) {
				if !s.walkPath(dir, file, path, l.is) {
					dropped = true
					return true
				}
			}
			return false
		})
	}
	return dropped
}

// paths are the paths in an entry, or in the value of one of its keys.
func paths(entry *yaml.Node, key string) []*yaml.Node {
	if key != "" {
		_, entry = mappingEntry(entry, key)
	}
	switch {
	case entry == nil:
		return nil
	case entry.Kind == yaml.SequenceNode:
		return entry.Content
	}
	return []*yaml.Node{entry}
}

// remote is what kustomize takes for something to fetch: a URL, a git
// repository, or a user at a host.
var remote = regexp.MustCompile(`(?i)^(git::|gh:|[a-z][a-z0-9+.-]*://|[a-z][a-z0-9-]*@|(www\.)?github\.com[:/])`)

// walkPath follows a path that a kustomization loads, and says whether it can be.
func (s *sources) walkPath(dir, file string, entry *yaml.Node, is loadKind) bool {
	name := entry.Value
	if strings.Contains(name, "\n") || name == "" {
		return true // within the kustomization
	}
	if _, after, ok := strings.Cut(name, "="); ok && is == data {
		name = after
	}
	resolved, isDir, wrong := s.resolve(dir, name)
	switch {
	case wrong != "":
	case isDir && is != objects && is != kustomizationFolder:
		wrong = name + " is a folder: write the path of a file"
	case isDir && s.tree.kustomizationFile(resolved) == "":
		wrong = name + " has no kustomization.yaml: write one there, or list its files here"
	case isDir:
		return s.walk(resolved)
	case is == kustomizationFolder:
		wrong = name + " is a file: write the path of a folder with a kustomization.yaml"
	case !strings.HasPrefix(resolved, dir+"/"):
		wrong = fmt.Sprintf("%s is outside %s: kustomize loads only what is below the kustomization; make a folder with a kustomization.yaml of it", name, relative(dir))
	default:
		return s.walkFile(resolved, is)
	}
	s.problem(file, entry.Line, "%s", wrong)
	return false
}

// resolve finds a path that is written in a kustomization, or says what is wrong
// with it.
func (s *sources) resolve(dir, name string) (resolved string, isDir bool, wrong string) {
	if remote.MatchString(name) {
		return "", false, name + " is remote: rendering reads only this repository; copy it here and write its path"
	}
	if path.IsAbs(name) {
		return "", false, fmt.Sprintf("%s is absolute: write a path relative to %s", name, relative(dir))
	}
	resolved, isDir, err := s.tree.resolve(path.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, name + ": no such file or folder in this repository"
	}
	if err != nil {
		return "", false, err.Error()
	}
	return resolved, isDir, ""
}

// walkFile looks at a file that is there before kustomize does.
func (s *sources) walkFile(file string, is loadKind) bool {
	switch is {
	case objects:
		if !s.isManifest[file] {
			s.isManifest[file] = true
			s.manifests = append(s.manifests, file)
		}
	case patch:
		return s.isWellFormed(file)
	}
	return true
}

// isWellFormed says whether a file is YAML, or notes why it is not.
func (s *sources) isWellFormed(file string) bool {
	content, err := s.tree.ReadFile(file)
	if err != nil {
		s.problem(file, 0, "%v", err)
		return false
	}
	before := len(s.problems)
	for _, piece := range splitDocuments(content) {
		if _, err := piece.parse(file); err != nil {
			s.malformed(file, piece, err)
		}
	}
	return len(s.problems) == before
}

func (s *sources) malformed(file string, p piece, err error) {
	line := yamlLine(err)
	if line > 0 {
		line += p.offset
	}
	s.problem(file, line, "malformed YAML: %s", yamlMessage(err))
}

// lint finds what kustomize stops at, one at a time, or hangs on, in the manifests:
// malformed YAML and objects that are there twice. It leaves them out of the tree.
func (s *sources) lint() {
	first := map[string]document{}
	for _, file := range s.manifests {
		content, err := s.tree.ReadFile(file)
		if err != nil {
			s.problem(file, 0, "%v", err)
			continue
		}
		var good [][]byte
		found := len(s.problems)
		for _, piece := range splitDocuments(content) {
			documents, err := piece.parse(file)
			if err != nil {
				s.malformed(file, piece, err)
				continue
			}
			if !s.duplicate(first, documents) {
				good = append(good, piece.content)
			}
		}
		if len(s.problems) > found {
			s.tree.with(file, bytes.Join(good, []byte("\n---\n")))
		}
	}
}

// duplicate says whether one of the documents is in first already, and adds them.
func (s *sources) duplicate(first map[string]document, documents []document) bool {
	duplicate := false
	for _, d := range documents {
		// Two folders may each have such an object: kustomize may rename them.
		id := strings.Join([]string{path.Dir(d.file), d.group, d.kind, d.ns, d.name}, " ")
		if other, ok := first[id]; ok && d.name != "" {
			s.problems = append(s.problems, Problem{
				File: relative(d.file), Line: d.line(d.node), Object: d.object(),
				Message: fmt.Sprintf("duplicate object: it is in %s:%d as well; remove or rename one", relative(other.file), other.line(other.node)),
			})
			duplicate = true
			continue
		}
		first[id] = d
	}
	return duplicate
}

// of returns the documents of a file that are well formed.
func (s *sources) of(file string) []document {
	if documents, ok := s.documents[file]; ok {
		return documents
	}
	var documents []document
	if content, err := s.tree.onDisk(file); err == nil {
		for _, piece := range splitDocuments(content) {
			if parsed, err := piece.parse(file); err == nil {
				documents = append(documents, parsed...)
			}
		}
	}
	s.documents[file] = documents
	return documents
}

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

// parse returns the objects and patches of a piece.
func (p piece) parse(file string) ([]document, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(p.content, &root); err != nil {
		return nil, err
	}
	if len(root.Content) == 0 {
		return nil, nil
	}
	if err := finite(&root); err != nil {
		return nil, err
	}
	return documentsOf(document{file: file, node: root.Content[0], offset: p.offset}), nil
}

// documentsOf splits a document into the objects of a List, the patches of a
// kustomization, or itself.
func documentsOf(d document) []document {
	d.kind, d.name, d.ns = stringAt(d.node, "kind"), stringAt(d.node, "metadata", "name"), stringAt(d.node, "metadata", "namespace")
	if group, _, ok := strings.Cut(stringAt(d.node, "apiVersion"), "/"); ok {
		d.group = group
	}
	if _, items := mappingEntry(d.node, "items"); items != nil && items.Kind == yaml.SequenceNode && strings.HasSuffix(d.kind, "List") {
		documents := make([]document, 0, len(items.Content))
		for _, item := range items.Content {
			documents = append(documents, documentsOf(document{file: d.file, node: item, offset: d.offset})...)
		}
		return documents
	}
	return append([]document{d}, inlinePatches(d)...)
}

// inlinePatches are the patches that a kustomization holds as text.
func inlinePatches(kustomization document) []document {
	_, patches := mappingEntry(kustomization.node, "patches")
	if patches == nil {
		return nil
	}
	var documents []document
	for _, entry := range patches.Content {
		_, text := mappingEntry(entry, "patch")
		if text == nil {
			continue
		}
		for _, piece := range splitDocuments([]byte(text.Value)) {
			piece.offset += kustomization.line(text) - 1
			if text.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
				piece.offset++ // the text of a block starts on the next line
			}
			parsed, err := piece.parse(kustomization.file)
			if err != nil {
				continue
			}
			for _, d := range parsed {
				d.inline = true
				if d.kind == "" {
					d.kind, d.name = stringAt(entry, "target", "kind"), stringAt(entry, "target", "name")
				}
				documents = append(documents, d)
			}
		}
	}
	return documents
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

func stringAt(node *yaml.Node, keys ...string) string {
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

// otherLine is a second position in a YAML error, which is not the file's either.
var otherLine = regexp.MustCompile(` at line \d+$`)
