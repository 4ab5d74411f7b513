package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	sigsyaml "sigs.k8s.io/yaml"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/object"
)

// parseKustomization parses the content of a kustomization, and says whether it is one.
// It notes all that is wrong with its fields, and has the build do without those.
func (s *Sources) parseKustomization(k *Kustomization, content []byte) (*yaml.Node, bool) {
	root := s.onlyDocument(k.File, splitDocuments(content))
	switch {
	case !s.isOnlyKustomization(k) || root == nil:
		return nil, false
	case root.Kind != yaml.MappingNode:
		s.problem(k.File, root.Line, "a kustomization is a mapping: write resources: and below it the list of files")
		return nil, false
	}
	before := len(s.Problems)
	s.checkFields(k.File, root, content)
	s.checkEntries(k.File, root)
	isWhole := len(s.Problems) == before
	var err error
	if !isWhole {
		if content, err = yaml.Marshal(expanded(root)); err == nil {
			s.standIns[k.File] = content
		}
	}
	if err == nil {
		err = k.Unmarshal(content)
	}
	switch {
	case err != nil:
		s.problem(k.File, 0, "%v", err)
	case !k.IsEmpty():
		return root, s.isKustomization(k, root)
	case isWhole:
		s.problem(k.File, root.Line, "is empty: list resources")
	}
	return nil, false
}

// onlyDocument returns the only document of a kustomization, or notes why there is none.
func (s *Sources) onlyDocument(file string, pieces []piece) (only *yaml.Node) {
	before := len(s.Problems)
	for _, p := range pieces {
		node, growth, err := p.parse()
		switch {
		case err != nil:
			s.malformed(file, p, err)
		case node == nil:
		case only != nil:
			s.problem(file, p.line(node.Line), "a second document, which kustomize does not read: remove it, or make one of both")
		default:
			shift(node, p.offset)
			s.grow(file, p, node, growth)
			only = node
		}
	}
	if len(s.Problems) > before {
		return nil
	}
	if only == nil || only.ShortTag() == "!!null" {
		s.problem(file, 0, "is empty: list resources")
		return nil
	}
	return only
}

// shift moves nodes to later lines.
func shift(node *yaml.Node, lines int) {
	if lines == 0 {
		return
	}
	node.Line += lines
	for _, child := range node.Content {
		shift(child, lines)
	}
}

// isOnlyKustomization says whether a folder has no other kustomization than one.
func (s *Sources) isOnlyKustomization(k *Kustomization) bool {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if file := path.Join(k.Folder, name); file != k.File && s.FS.Exists(file) {
			s.problem(file, 0, "a second kustomization in its folder, beside %s: remove one", path.Base(k.File))
			return false
		}
	}
	return true
}

// isKustomization says whether kustomize takes a file for a kustomization.
func (s *Sources) isKustomization(k *Kustomization, root *yaml.Node) bool {
	fixed := k.Kustomization
	fixed.FixKustomization()
	if fixed.Kind != types.KustomizationKind && fixed.Kind != types.ComponentKind {
		s.problem(k.File, lineOfKey(root, "kind"), "kind %s: write %s or %s, or leave it out", fixed.Kind, types.KustomizationKind, types.ComponentKind)
		return false
	}
	version := types.KustomizationVersion
	if fixed.Kind == types.ComponentKind {
		version = types.ComponentVersion
	}
	if fixed.APIVersion != version {
		s.problem(k.File, lineOfKey(root, "apiVersion"), "apiVersion %s: write %s, or leave it out", fixed.APIVersion, version)
		return false
	}
	return true
}

// lineOfKey is the line of a key of a mapping, or that of the mapping.
func lineOfKey(mapping *yaml.Node, key string) int {
	if k, _ := mappingEntry(mapping, key); k != nil {
		return k.Line
	}
	return mapping.Line
}

// checkFields notes fields of a kustomization that there are not, or that have a value of
// another type or an empty item, and has the build do without them.
func (s *Sources) checkFields(file string, root *yaml.Node, content []byte) {
	j, err := sigsyaml.YAMLToJSON(content)
	var fields map[string]any
	if err != nil || json.Unmarshal(j, &fields) != nil {
		return // Unmarshal says why
	}
	var wrongFields []wrongField
	for _, wrong := range decoding.Find(fields, nil, decodeKustomization) {
		wrongFields = append(wrongFields, newWrongField(root, wrong))
	}
	for _, wrong := range wrongFields {
		s.problem(file, wrong.key.Line, "%s", wrong.message)
		wrong.remove()
	}
	s.checkItems(file, root, "")
}

func decodeKustomization(content []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	return decoder.Decode(&types.Kustomization{})
}

// wrongField is a field that kustomize does not know, or a value that it cannot read.
type wrongField struct {
	parent, key, value *yaml.Node
	isUnknown          bool
	message            string
}

func newWrongField(root *yaml.Node, wrong decoding.Value) wrongField {
	w := wrongField{parent: root, key: root, value: root}
	for _, key := range wrong.Path {
		parent := dereferenced(w.value)
		at, value := walkKeys(parent, []string{strings.Trim(key, "[]")}, nil)
		if value == nil {
			break // it is merged
		}
		w.parent, w.key, w.value = parent, at, value
	}
	path := object.JoinField(wrong.Path)
	if w.isUnknown = strings.Contains(wrong.Err.Error(), "unknown field"); w.isUnknown {
		last := len(wrong.Path) - 1
		known := fieldNames(reflect.TypeFor[types.Kustomization](), wrong.Path[:last])
		w.message = fmt.Sprintf("unknown field %q%s", wrong.Path[last], object.DidYouMean(wrong.Path[last], known))
		return w
	}
	has, wants := typeName(wrong.Value), make([]string, len(wrong.Types))
	for i, t := range wrong.Types {
		wants[i] = typeNames[t]
	}
	switch {
	case slices.Contains(wants, has):
		w.message = fmt.Sprintf("%s: has to be a whole number that is not too large", path)
	case len(wants) == 0:
		w.message = fmt.Sprintf("%s: %v", path, wrong.Err)
	default:
		w.message = fmt.Sprintf("%s: has to be %s, not %s", path, strings.Join(wants, " or "), has)
	}
	if w.value.Kind == yaml.ScalarNode && slices.Equal(wrong.Types, []string{"string"}) {
		w.message += fmt.Sprintf(": write it in quotes, %q", w.value.Value)
	}
	return w
}

// remove has the build do without the field.
func (w wrongField) remove() {
	i := slices.Index(w.parent.Content, w.key)
	if w.isUnknown && w.parent.Kind == yaml.MappingNode && i >= 0 {
		w.parent.Content = slices.Delete(w.parent.Content, i, i+2)
		return
	}
	*w.value = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null", Line: w.value.Line}
}

// typeNames are the types of JSON as people call them.
var typeNames = map[string]string{"string": "text", "number": "a number", "bool": "true or false", "array": "a list", "object": "a mapping"}

func typeName(value any) string {
	switch value.(type) {
	case string:
		return typeNames["string"]
	case float64:
		return typeNames["number"]
	case bool:
		return "a truth value"
	case []any:
		return typeNames["array"]
	}
	return typeNames["object"]
}

// fieldNames are the names of the fields that there are at keys of a type.
func fieldNames(of reflect.Type, keys []string) (names []string) {
	switch of.Kind() {
	case reflect.Pointer:
		return fieldNames(of.Elem(), keys)
	case reflect.Slice, reflect.Map:
		return fieldNames(of.Elem(), keys[min(1, len(keys)):])
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(of) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if len(keys) > 0 && strings.EqualFold(name, keys[0]) {
				return fieldNames(field.Type, keys[1:])
			}
			names = append(names, name)
		}
	}
	return names
}

// checkItems notes items of lists that are empty.
func (s *Sources) checkItems(file string, node *yaml.Node, path string) {
	node = dereferenced(node)
	for i := 0; i+1 < len(node.Content) && node.Kind == yaml.MappingNode; i += 2 {
		s.checkItems(file, node.Content[i+1], strings.TrimPrefix(path+"."+node.Content[i].Value, "."))
	}
	for i := 0; i < len(node.Content) && node.Kind == yaml.SequenceNode; i++ {
		item := node.Content[i]
		at := fmt.Sprintf("%s[%d]", path, i)
		if dereferenced(item).ShortTag() == "!!null" {
			s.problem(file, item.Line, "%s: is empty: remove it, or write what it is to be", at)
		}
		s.checkItems(file, item, at)
	}
}

// checkEntries notes entries of a kustomization that kustomize needs something for that
// is not there, or that ask for another program, and removes them.
func (s *Sources) checkEntries(file string, root *yaml.Node) {
	for i := 0; i+1 < len(root.Content); {
		key := root.Content[i]
		if strings.HasPrefix(strings.ToLower(key.Value), "helm") {
			s.problem(file, key.Line, "%s: rendering runs no Helm: write what `helm template` prints into a file, and list that under resources", key.Value)
			root.Content = slices.Delete(root.Content, i, i+2)
			continue
		}
		i += 2
	}
	for _, field := range []string{"patches", "patchesJson6902", "replacements"} {
		for _, list := range valuesAt(root, field) {
			list.Content = slices.DeleteFunc(list.Content, func(entry *yaml.Node) bool {
				wrong := wrongPatch(field, dereferenced(entry))
				if field == "replacements" {
					wrong = wrongReplacement(dereferenced(entry))
				}
				if wrong != "" {
					s.problem(file, entry.Line, "%s: %s", field, wrong)
				}
				return wrong != ""
			})
		}
	}
}

// wrongPatch says what is wrong with an entry of a list of patches.
func wrongPatch(field string, entry *yaml.Node) string {
	if entry.Kind != yaml.MappingNode {
		return ""
	}
	_, target := mappingEntry(entry, "target")
	switch {
	case !isNothing(entry, "path") && !isNothing(entry, "patch"):
		return "has a path and a patch: write one of them"
	case isNothing(entry, "path") && isNothing(entry, "patch"):
		return "has neither a path nor a patch: write one of them"
	case field == "patchesJson6902" && (target == nil || target.Kind != yaml.MappingNode || textAt(target, "name") == ""):
		return "has no target: write one with kind and name"
	}
	return ""
}

// wrongReplacement says what is wrong with an entry of a list of replacements.
func wrongReplacement(entry *yaml.Node) string {
	if entry.Kind != yaml.MappingNode || !isNothing(entry, "path") {
		return ""
	}
	if isNothing(entry, "source") && isNothing(entry, "sourceValue") || isNothing(entry, "targets") {
		return "needs a source and targets"
	}
	for _, targets := range valuesAt(entry, "targets") {
		for _, target := range targets.Content {
			if target := dereferenced(target); target.Kind == yaml.MappingNode && isNothing(target, "select") {
				return "a target needs select, with what it is to select, as kind and name"
			}
		}
	}
	return ""
}

// isNothing says whether a mapping has nothing at a key, however that is spelled.
func isNothing(mapping *yaml.Node, key string) bool {
	return !slices.ContainsFunc(valuesAt(mapping, key), func(value *yaml.Node) bool {
		return value.ShortTag() != "!!null" && (strings.TrimSpace(value.Value) != "" || len(value.Content) > 0)
	})
}
