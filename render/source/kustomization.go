package source

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	sigsyaml "sigs.k8s.io/yaml"

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
		if content, err = yaml.Marshal(root); err == nil {
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
// another type, and removes them.
func (s *Sources) checkFields(file string, root *yaml.Node, content []byte) {
	j, err := sigsyaml.YAMLToJSON(content)
	if err != nil {
		return // Unmarshal says why
	}
	var values any
	if json.Unmarshal(j, &values) == nil {
		c := &fieldChecker{s, file, root}
		c.check(nil, values, reflect.TypeFor[types.Kustomization]())
	}
}

// fieldChecker checks values against the types of their fields, as encoding/json would,
// but finds all that is wrong, and where.
type fieldChecker struct {
	sources *Sources
	file    string
	root    *yaml.Node
}

func (c *fieldChecker) check(keys []string, value any, of reflect.Type) {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if value == nil || of.Kind() == reflect.Interface || reflect.PointerTo(of).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return
	}
	switch of.Kind() {
	case reflect.Struct:
		c.checkStruct(keys, value, of)
	case reflect.Map:
		entries, ok := value.(map[string]any)
		c.expect(ok, keys, value, "a mapping")
		for _, key := range sortedKeys(entries) {
			c.check(join(keys, key), entries[key], of.Elem())
		}
	case reflect.Slice:
		items, ok := value.([]any)
		c.expect(ok, keys, value, "a list")
		for i, item := range items {
			if at := join(keys, strconv.Itoa(i)); item == nil {
				c.problem(at, "%s: is empty: remove it, or write what it is to be", fieldPath(at))
			} else {
				c.check(at, item, of.Elem())
			}
		}
	case reflect.String:
		_, ok := value.(string)
		c.expect(ok, keys, value, "text")
	case reflect.Bool:
		_, ok := value.(bool)
		c.expect(ok, keys, value, "true or false")
	default:
		number, ok := value.(float64)
		c.expect(ok && (of.Kind() == reflect.Float64 || number == float64(int64(number))), keys, value, "a whole number")
	}
}

func (c *fieldChecker) checkStruct(keys []string, value any, of reflect.Type) {
	entries, ok := value.(map[string]any)
	c.expect(ok, keys, value, "a mapping")
	fields := jsonFields(of)
	for _, key := range sortedKeys(entries) {
		at := join(keys, key)
		if field, ok := fields.find(key); ok {
			c.check(at, entries[key], field)
			continue
		}
		c.problem(at, "unknown field %q%s", key, object.DidYouMean(key, fields.names))
		if parent, _ := c.node(keys); parent != nil && parent.Kind == yaml.MappingNode {
			for i := len(parent.Content) - 2; i >= 0; i -= 2 {
				if parent.Content[i].Value == key {
					parent.Content = slices.Delete(parent.Content, i, i+2)
				}
			}
		}
	}
}

// structFields are the fields of a struct as encoding/json has them.
type structFields struct {
	names []string
	types []reflect.Type
}

func jsonFields(of reflect.Type) (fields structFields) {
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			inner := jsonFields(field.Type)
			fields.names, fields.types = append(fields.names, inner.names...), append(fields.types, inner.types...)
		case field.IsExported() && name != "-":
			if name == "" {
				name = field.Name
			}
			fields.names, fields.types = append(fields.names, name), append(fields.types, field.Type)
		}
	}
	return fields
}

func (f structFields) find(key string) (reflect.Type, bool) {
	i := slices.IndexFunc(f.names, func(name string) bool { return strings.EqualFold(name, key) })
	if i < 0 {
		return nil, false
	}
	return f.types[i], true
}

// expect notes a value that is not of the type that a field has, and removes it.
func (c *fieldChecker) expect(isIt bool, keys []string, value any, want string) {
	if isIt {
		return
	}
	node, _ := c.node(keys)
	message := fmt.Sprintf("%s: has to be %s, not %s", fieldPath(keys), want, typeName(value))
	isScalar := node != nil && node.Kind == yaml.ScalarNode
	if isScalar && want == "text" {
		message += fmt.Sprintf(": write it in quotes, %q", node.Value)
	}
	c.problem(keys, "%s", message)
	if node != nil {
		*node = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null", Line: node.Line}
	}
}

func typeName(value any) string {
	switch value.(type) {
	case string:
		return "text"
	case float64:
		return "a number"
	case bool:
		return "a truth value"
	case []any:
		return "a list"
	}
	return "a mapping"
}

func (c *fieldChecker) problem(keys []string, format string, args ...any) {
	_, line := c.node(keys)
	c.sources.problem(c.file, line, format, args...)
}

// node returns the value at keys, nil where it cannot be found, and the line of the key,
// or of what should have it.
func (c *fieldChecker) node(keys []string) (node *yaml.Node, line int) {
	line = c.root.Line
	node = c.root
	for _, key := range keys {
		var at *yaml.Node
		if at, node = walkKeys(node, []string{key}, nil); node == nil {
			return nil, line
		}
		line = at.Line
		node = dereferenced(node)
	}
	return node, line
}

func join(keys []string, key string) []string { return append(slices.Clip(keys), key) }

// fieldPath writes keys as people do: images[0].newTag.
func fieldPath(keys []string) string {
	var written strings.Builder
	for i, key := range keys {
		if _, err := strconv.Atoi(key); err == nil {
			fmt.Fprintf(&written, "[%s]", key)
			continue
		}
		if i > 0 {
			written.WriteByte('.')
		}
		written.WriteString(key)
	}
	return written.String()
}

func sortedKeys(values map[string]any) []string {
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
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
