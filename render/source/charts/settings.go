package charts

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/source/text"
)

// Settings are the values that users set for a chart, in files and in its entry, and what its templates read of
// them.
type Settings struct {
	files Files
	entry Entry

	once   sync.Once // the chart is loaded when it is needed
	layers []layer
	values map[string]any
	chart  *loaded
	reads  *reads
}

// Setting is a value that users set. A value that is in no file of the repository has no position.
type Setting struct {
	Keys []string
	Position
}

// String returns "name (file:line)".
func (s Setting) String() string {
	name := manifest.JoinField(s.Keys)
	if s.File == "" {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, manifest.Problem{File: strings.TrimPrefix(s.File, "/"), Line: s.Line}.Position())
}

// layer is a file, or the entry, that sets values.
type layer struct {
	file   string
	root   *yaml.Node
	values map[string]any
}

// SettingsOf returns the settings of an entry.
func SettingsOf(files Files, e Entry) *Settings { return &Settings{files: files, entry: e} }

// find loads the chart once.
func (s *Settings) find() {
	s.once.Do(func() {
		s.layers = s.entry.layers(s.files)
		for _, l := range slices.Backward(s.layers) {
			s.values = loader.MergeMaps(s.values, l.values)
		}
		c, err := load(s.files, s.entry)
		if err != nil {
			s.reads = &reads{isGivenUp: true}
			return
		}
		s.chart, s.reads = c, findReads(c, s.values)
	})
}

// layers returns the layers of an entry, the strongest first.
func (e Entry) layers(files Files) (all []layer) {
	if e.Installed != nil {
		return []layer{{values: e.Installed.Values}}
	}
	for _, file := range slices.Backward(e.AdditionalValuesFiles) {
		all = append(all, readLayer(files, path.Join(e.Folder, file))...)
	}
	inline := []layer{{e.File, node.Field(e.Node, "valuesInline"), e.ValuesInline}}
	var ofFile []layer
	if e.ValuesFile != "" {
		ofFile = readLayer(files, path.Join(e.Folder, e.ValuesFile))
	}
	switch {
	case len(e.ValuesInline) == 0:
		return append(all, ofFile...)
	case e.ValuesMerge == "replace":
		return append(all, inline...)
	case e.ValuesMerge == "merge":
		return slices.Concat(all, ofFile, inline)
	}
	return slices.Concat(all, inline, ofFile)
}

// readLayer returns the layer of a file that is readable.
func readLayer(files Files, file string) []layer {
	content, err := files.ReadFile(file)
	if err != nil {
		return nil
	}
	values, err := loader.LoadValues(bytes.NewReader(content))
	if err != nil {
		return nil
	}
	for _, d := range text.Split(content) {
		if root, _, err := d.Parse(); err == nil && root != nil {
			return []layer{{file, root, values}}
		}
	}
	return nil
}

// position returns the line of a value, or else of the innermost mapping around it that a layer has.
func position(layers []layer, keys []string) (at Position) {
	deepest := 0
	for _, l := range layers {
		n, line, depth := l.root, 0, 0
		for _, key := range keys {
			k, v := node.Entry(n, key)
			if index, err := strconv.Atoi(key); err == nil && n != nil && n.Kind == yaml.SequenceNode && index < len(n.Content) {
				k, v = n.Content[index], n.Content[index]
			}
			if k == nil {
				break
			}
			n, line, depth = v, k.Line, depth+1
		}
		if depth > deepest {
			at, deepest = Position{l.file, line}, depth
		}
	}
	return at
}

// Unread returns the values that no template of the chart reads: a mapping in place of all of its values.
func (s *Settings) Unread() (names []string) {
	s.find()
	r := s.reads
	var visit func(keys []string, value any) []string
	visit = func(keys []string, value any) (names []string) {
		table, isTable := value.(map[string]any)
		if r.mayRead(keys) && (!isTable || len(table) == 0) {
			return nil
		}
		isUnread := len(keys) > 0 && !r.mayRead(keys)
		for _, key := range slices.Sorted(maps.Keys(table)) {
			names = append(names, visit(append(slices.Clip(keys), key), table[key])...)
		}
		if isUnread {
			return []string{manifest.JoinField(keys)}
		}
		return names
	}
	return visit(nil, s.values)
}

// Cause returns the setting that a line of a template writes to a field with some text: of the settings that the
// line reads, the only one with this text and a path as similar to the field.
func (s *Settings) Cause(at Position, field []string, text string) (cause Setting, ok bool) {
	s.find()
	longest := -1
	for keys, value := range scalars(nil, s.values) {
		if text == "" || value != text || !s.reads.lines[at].has(keys) {
			continue
		}
		switch common := commonEnd(keys, field); {
		case common > longest:
			cause, ok, longest = s.setting(keys), true, common
		case common == longest:
			ok = false
		}
	}
	return cause, ok
}

func (s *Settings) setting(keys []string) Setting { return Setting{keys, position(s.layers, keys)} }

// commonEnd counts the keys at the end of both paths.
func commonEnd(a, b []string) (count int) {
	for count < min(len(a), len(b)) && a[len(a)-1-count] == b[len(b)-1-count] {
		count++
	}
	return count
}

// Read returns the settings that lines of a template read, and those in the conditions around them.
func (s *Settings) Read(file string, from, to int) (all []Setting) {
	s.find()
	read := s.reads.around(file, from, to)
	for line := from; line <= to; line++ {
		read.add(s.reads.lines[Position{file, line}])
	}
	for keys := range scalars(nil, s.values) {
		if read.has(keys) {
			all = append(all, s.setting(keys))
		}
	}
	return all
}

// existing matches the name of a value that refers to a Secret.
var existing = regexp.MustCompile(`(?i)existing.*secret|secret(Key)?(Name|Ref)$|^existing`)

// SecretNames returns the values by which a chart refers to a Secret, in place of the one at a line of a template:
// those in the conditions around it, or else values of the chart with such a name.
func (s *Settings) SecretNames(at Position) (names []string) {
	if s.find(); s.reads.isGivenUp {
		return nil
	}
	for p := range s.reads.around(at.File, at.Line, at.Line) {
		if len(p.path) > 0 && existing.MatchString(p.path[len(p.path)-1]) {
			names = append(names, manifest.JoinField(p.path))
		}
	}
	if len(names) == 0 {
		names = s.chart.secretValues(s.chart.Chart, nil, at.File)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return slices.Compact(names)
}

// secretValues returns the values of the chart of a template whose names refer to a Secret.
func (c *loaded) secretValues(of *chart.Chart, keys []string, template string) (names []string) {
	for _, f := range of.Templates {
		if c.sources[f].file != template {
			continue
		}
		for value := range scalars(keys, of.Values) {
			if strings.Contains(strings.ToLower(value[len(value)-1]), "existing") && existing.MatchString(value[len(value)-1]) {
				names = append(names, manifest.JoinField(value))
			}
		}
	}
	for _, d := range of.Dependencies() {
		for _, name := range dependencyNames(of, d) {
			names = append(names, c.secretValues(d, append(slices.Clip(keys), name), template)...)
		}
	}
	return names
}

// scalars yields the paths and texts of the scalars in a value, sorted.
func scalars(keys []string, value any) func(yield func([]string, string) bool) {
	return func(yield func([]string, string) bool) { yieldScalars(keys, value, yield) }
}

func yieldScalars(keys []string, value any, yield func([]string, string) bool) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if !yieldScalars(append(slices.Clip(keys), key), value[key], yield) {
				return false
			}
		}
		return true
	case []any:
		for i, item := range value {
			if !yieldScalars(append(slices.Clip(keys), strconv.Itoa(i)), item, yield) {
				return false
			}
		}
		return true
	}
	return yield(keys, fmt.Sprint(value))
}
