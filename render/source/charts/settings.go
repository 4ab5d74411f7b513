package charts

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/source/text"
)

// Settings are the values that users set for a chart, in files and in its entry, and the reads of its templates.
type Settings struct {
	layers []layer
	values map[string]any
	run    *run

	trial trial             // makes the documents again
	made  [sha256.Size]byte // the digest of the documents
}

// IsEqual reports whether the values that users set are equal. With problems of the chart they are unknown.
func (s *Settings) IsEqual(other *Settings) bool {
	return s == nil || other == nil || reflect.DeepEqual(s.values, other.values)
}

// Setting is a value that users set. A value that is in no file of the repository has no position.
type Setting struct {
	Keys []string
	Position

	value any
}

// String returns "name (file:line)".
func (s Setting) String() string {
	name := manifest.JoinField(s.Keys)
	if s.File == "" {
		return name
	}
	return fmt.Sprintf("%s (%s)", name,
		manifest.Problem{File: strings.TrimPrefix(s.File, "/"), Line: s.Line}.Position())
}

// layer is a file, or the entry, that sets values.
type layer struct {
	file   string
	root   *yaml.Node
	values map[string]any
}

func newSettings(layers []layer, r *run) *Settings {
	s := &Settings{layers: layers, values: mergeLayers(layers), run: r}
	r.settle()
	r.texts = nil
	r.ofTpl = nil
	r.pieces = nil
	r.files = nil // for output alone
	return s
}

func mergeLayers(layers []layer) (values map[string]any) {
	for _, l := range slices.Backward(layers) {
		values = loader.MergeMaps(values, l.values)
	}
	return values
}

// layersOf returns the layer of a file of values, if it is readable.
func layersOf(file string, content []byte) []layer {
	values, err := loader.LoadValues(bytes.NewReader(content))
	if err != nil {
		return nil
	}
	for _, d := range text.Split(content) {
		if root, err := d.Parse(); err == nil && root != nil {
			return []layer{{file, root, values}}
		}
	}
	return nil
}

// position returns the line of a value, or else of the innermost mapping around it that a layer has.
func position(layers []layer, keys []string) (at Position) {
	deepest := 0
	for _, l := range layers {
		for depth := len(keys); depth > deepest && l.root != nil; depth-- {
			if key, _ := node.Walk(l.root, keys[:depth], nil); key != nil {
				at = Position{l.file, key.Line}
				deepest = depth
			}
		}
	}
	return at
}

// Unread returns the values that no template of the chart reads, and those that only a template reads that did not run:
// a mapping in place of all of its values.
func (s *Settings) Unread() (never, idle []string) {
	isRead, mayRead := s.run.readers()
	never = s.namesOf(func(keys []string) bool { return !isRead(keys) && !mayRead(keys) })
	return never, s.namesOf(func(keys []string) bool { return !isRead(keys) && mayRead(keys) })
}

// namesOf returns the names of the values that are of a sort: of a mapping, if all of its values are.
func (s *Settings) namesOf(isOne func(keys []string) bool) []string {
	var visit func(keys []string, value any) (names []string, isAll bool)
	visit = func(keys []string, value any) (names []string, isAll bool) {
		isAll = isOne(keys)
		table, _ := value.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(table)) {
			below, isBelow := visit(append(slices.Clip(keys), key), table[key])
			names = append(names, below...)
			isAll = isAll && isBelow
		}
		if isAll && len(keys) > 0 {
			names = []string{manifest.JoinField(keys)}
		}
		return names, isAll
	}
	names, _ := visit(nil, s.values)
	return names
}

// Cause returns the setting that lines of a template from a position write to a field with some text, or without one:
// of the settings that the lines read, the only one with this text and a path as similar to the field.
//
// If the lines read none, templates may have copied it: it is then the only one of all settings with this text, or
// with this text and as similar a path.
func (s *Settings) Cause(at Position, last int, field []string, text string) (cause Setting, ok bool) {
	read := s.Read(at.File, at.Line, last)
	if slices.ContainsFunc(read, func(setting Setting) bool { return setting.hasText(text) }) {
		return mostSimilar(read, field, text, 0)
	}
	least := 1
	if _, err := strconv.ParseFloat(text, 64); err != nil && len(text) > len("false") {
		least = 0 // the text is rare
	}
	if cause, ok = mostSimilar(s.all(), field, text, least); !ok && text == "" {
		return s.around(field)
	}
	return cause, ok
}

// around returns the only setting whose path is most similar to the mapping around a missing field, in two keys or
// more.
func (s *Settings) around(field []string) (cause Setting, ok bool) {
	longest := 1
	each(s.values, func(keys []string, value any) {
		common := commonEnd(keys, field[:max(0, len(field)-1)])
		if _, isMapping := value.(map[string]any); isMapping && common >= longest {
			ok = common > longest
			cause = Setting{keys, position(s.layers, keys), value}
			longest = common
		}
	})
	return cause, ok
}

func (s *Settings) all() (all []Setting) {
	eachScalar(s.values, func(keys []string, value any) {
		all = append(all, Setting{keys, position(s.layers, keys), value})
	})
	return all
}

// mostSimilar returns the only setting with a text whose path is most similar to a field: in a least number of keys at
// the end.
func mostSimilar(settings []Setting, field []string, text string, least int) (cause Setting, ok bool) {
	longest := least - 1
	for _, setting := range settings {
		if !setting.hasText(text) {
			continue
		}
		switch common := commonEnd(setting.Keys, field); {
		case common > longest:
			cause = setting
			ok = true
			longest = common
		case common == longest:
			ok = false
		}
	}
	return cause, ok
}

// hasText reports whether templates may write the value as a text: a large number has two forms, and null none.
func (s Setting) hasText(text string) bool {
	switch value := s.value.(type) {
	case nil:
		return text == ""
	case map[string]any:
		return text == "" && len(value) == 0
	case []any:
		return text == "" && len(value) == 0
	}
	number, isNumber := s.value.(float64)
	return fmt.Sprint(s.value) == text || isNumber && strconv.FormatFloat(number, 'f', -1, 64) == text
}

// writes returns the only setting that a line of a template reads, and that is in the text that the line wrote.
func (s *Settings) writes(at Position, content string) (cause Setting, ok bool) {
	for _, setting := range s.Read(at.File, at.Line, at.Line) {
		if text := fmt.Sprint(setting.value); text != "" && strings.Contains(content, strings.Split(text, "\n")[0]) {
			if ok {
				return Setting{}, false
			}
			cause = setting
			ok = true
		}
	}
	return cause, ok
}

func commonEnd(a, b []string) (count int) {
	for count < min(len(a), len(b)) && a[len(a)-1-count] == b[len(b)-1-count] {
		count++
	}
	return count
}

// Read returns the settings that lines of a template and the conditions around them read.
func (s *Settings) Read(file string, from, to int) (all []Setting) {
	read := s.run.readAt(file, from, to)
	eachScalar(s.values, func(keys []string, value any) {
		if read.has(keys) {
			all = append(all, Setting{keys, position(s.layers, keys), value})
		}
	})
	return all
}

// existing matches the name of a value that refers to a Secret.
var existing = regexp.MustCompile(`(?i)existing.*secret|secret(Key)?(Name|Ref)$|^existing`)

// SecretNames returns the values that name an existing Secret, instead of the Secret at a line of a template:
// values in the conditions around it, or else values with such a name, in the chart of the template if it has any.
func (s *Settings) SecretNames(at Position) []string {
	var around, ofChart, others []string
	for path := range s.run.readAt(at.File, at.Line, at.Line) {
		if keys := splitPath(path); existing.MatchString(keys[len(keys)-1]) {
			around = append(around, manifest.JoinField(keys))
		}
	}
	folders := strings.Split(at.File, "/")
	eachScalar(s.run.values, func(keys []string, _ any) {
		if last := keys[len(keys)-1]; strings.Contains(strings.ToLower(last), "existing") &&
			existing.MatchString(last) {
			others = append(others, manifest.JoinField(keys))
			if slices.Contains(folders, keys[0]) {
				ofChart = append(ofChart, manifest.JoinField(keys))
			}
		}
	})
	for _, names := range [][]string{around, ofChart, others} {
		if len(names) > 0 {
			slices.SortFunc(names, func(a, b string) int {
				return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
			})
			return slices.Compact(names)
		}
	}
	return nil
}

// eachScalar calls f for the scalars, and the empty mappings and lists, in a value, sorted by path.
func eachScalar(value any, f func(keys []string, value any)) {
	each(value, func(keys []string, value any) {
		table, isTable := value.(map[string]any)
		list, isList := value.([]any)
		if !isTable && !isList || len(table)+len(list) == 0 && len(keys) > 0 {
			f(keys, value)
		}
	})
}

// each calls f for a value and the values in it, sorted by path.
func each(value any, f func(keys []string, value any)) {
	decoding.Walk(value, func(path []string, value any) bool {
		keys := make([]string, len(path))
		for i, key := range path {
			keys[i] = strings.Trim(key, "[]")
		}
		f(keys, value)
		return true
	})
}
