package source

import (
	"errors"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/source/text"
)

// Locate returns a problem of a built object with the file and line that set its field: in the source
// object, from the file origin, in a patch, or in an entry of a kustomization. If nothing sets the
// field, it returns the line of the innermost mapping around it.
func (s *Sources) Locate(p manifest.Problem, origin string) manifest.Problem {
	if p.Subject.Unstructured == nil {
		p.File = Relative(origin)
		return p
	}
	return s.locate(p, p.Subject.ID(), origin)
}

// LocateWritten is Locate for an object that could not be built. Its source file is the best match
// for its ID, or else the kustomization.
func (s *Sources) LocateWritten(p manifest.Problem, id manifest.ID, kustomization string) manifest.Problem {
	p.Object = id.String()
	if documents := s.SourceDocuments(id); len(documents) > 0 {
		kustomization = documents[0].File
	}
	return s.locate(p, id, kustomization)
}

// Keys returns the keys of a field in a source file. The API server moves fields that all versions
// of a CustomResourceDefinition share out of the versions, and leaves out metadata in the path of labels of a template.
func Keys(id manifest.ID, keys []string) []string {
	if n := len(keys); n > 1 && keys[n-2] == "template" && (keys[n-1] == "labels" || keys[n-1] == "annotations") {
		return slices.Insert(slices.Clone(keys), n-1, "metadata")
	}
	if id.Group != "apiextensions.k8s.io" || len(keys) < 2 || keys[0] != "spec" {
		return keys
	}
	first := []string{"spec", "versions", "0"}
	switch keys[1] {
	case "validation":
		return slices.Concat(first, []string{"schema"}, keys[2:])
	case "subresources", "additionalPrinterColumns", "selectableFields":
		return slices.Concat(first, keys[1:])
	}
	return keys
}

func (s *Sources) locate(p manifest.Problem, id manifest.ID, origin string) manifest.Problem {
	keys := Keys(id, manifest.SplitField(p.Field))
	test := node.TestOf(p.Value)
	p.File = Relative(origin)
	p.Line = 0
	own := bestMatches(id, s.documents[origin])
	for _, d := range s.documents[origin] {
		if len(own) == 0 && d.Kind == id.Kind && d.Group == id.Group { // renamed, as a Namespace by namespace:
			own = []Document{d}
		}
	}
	if file, at := s.commonEntry(own, keys, p.Value); at != nil {
		p.File = Relative(file)
		p.Line = at.Line
		return p
	}
	if len(own) > 0 {
		p.Line = node.Line(own[0].Node(), keys...)
		if line, ok := node.LineAt(own[0].Node(), keys, p.Value); ok {
			p.Line = line
			return s.explainChart(s.adviseQuotes(p, own[0], keys), own[0], keys)
		}
		if item := generatorItem(own[0].Node(), keys, "files", "literals"); item != nil {
			p.Line = item.Line
			return p
		}
	}
	if file, at := s.findChange(id, keys, test); at != nil {
		p.File = Relative(file)
		p.Line = at.Line
	} else if len(own) > 0 {
		return s.explainChart(p, own[0], keys)
	}
	return p
}

// adviseQuotes adds the remedy for a number or a boolean where a text is wanted, but in a chart: its template would
// drop the quotes of a value.
func (s *Sources) adviseQuotes(p manifest.Problem, d Document, keys []string) manifest.Problem {
	_, value := node.Walk(d.Node(), keys, node.TestOf(p.Value))
	isScalar := value != nil && value.Kind == yaml.ScalarNode && !node.IsNull(value)
	if p.Value.ShouldBeText && isScalar && s.settings[d.Tree] == nil {
		p.Message += ": put it in quotes"
	}
	return p
}

// LocateText returns the file and line of a value, at keys in the YAML text that a field of an object holds, or that a
// generator reads from a file; no line if neither is known.
func (s *Sources) LocateText(id manifest.ID, field, keys []string) (file string, line int) {
	for _, d := range s.SourceDocuments(id) {
		if _, value := node.Walk(d.Node(), field, nil); value != nil && value.Style&yaml.LiteralStyle != 0 {
			return Relative(d.File), value.Line + lineIn([]byte(value.Value), keys)
		}
		if item := generatorItem(d.Node(), field, "files"); item != nil {
			name := item.Value[strings.Index(item.Value, "=")+1:]
			resolved, content, err := s.FS.find(path.Join(path.Dir(d.File), name))
			if err == nil {
				return Relative(resolved), max(1, lineIn(content, keys))
			}
		}
	}
	return "", 0
}

// generatorItem returns the item, in lists of a generator, that makes the key of data among keys, or nil.
func generatorItem(generator *yaml.Node, keys []string, lists ...string) *yaml.Node {
	if len(keys) < 2 || !strings.HasSuffix(strings.ToLower(keys[0]), "data") {
		return nil
	}
	for _, field := range lists {
		for _, list := range node.Fields(generator, field) {
			for _, item := range node.Items(list) {
				key, _, isNamed := strings.Cut(item.Value, "=")
				if !isNamed {
					key = path.Base(item.Value)
				}
				if key == keys[1] {
					return item
				}
			}
		}
	}
	return nil
}

// lineIn returns the line of keys in a text of YAML, of the innermost mapping around them, or of the text's first
// error; 0 if it has none.
func lineIn(content []byte, keys []string) int {
	for _, d := range text.Split(content) {
		var wrong text.Error
		if _, err := d.Parse(); errors.As(err, &wrong) {
			return wrong.Line
		}
		if root, err := d.Parse(); err == nil && root != nil {
			return node.Line(root, keys...)
		}
	}
	return 0
}

// findChange returns the file and node of the patch, or the entry of a kustomization, that sets a field
// of an object. Of several patches it returns the one whose name is most similar. With a test, the
// name of a patch may differ: kustomize ignores it if the patch has a target.
func (s *Sources) findChange(id manifest.ID, keys []string, test node.Test) (file string, at *yaml.Node) {
	if len(keys) == 0 {
		return "", nil
	}
	for _, k := range s.sorted() {
		if at == nil {
			file = k.File
			at = s.entryOf(k, id, keys, test)
		}
	}
	longest := 0
	for _, p := range s.patches {
		isNamed := strings.Contains(id.Name, p.Name) && (p.Namespace == "" || p.Namespace == id.Namespace)
		if !isNamed && (!p.hasTarget || test == nil) || !mayName(p.kind, id.Kind) {
			continue
		}
		common := 0
		if isNamed {
			common = len(p.Name)
		}
		if at != nil && common <= longest {
			continue
		}
		if found := node.At(p.Node(), keys, test); found != nil {
			file = p.File
			at = found
			longest = common
		}
	}
	return file, at
}

// commonEntry returns the file and the node of a label or annotation that a kustomization gives to objects, and
// that has the value of a problem, unless the source object has it.
func (s *Sources) commonEntry(own []Document, keys []string, value manifest.Value) (file string, at *yaml.Node) {
	wrong, isText := value.Is.(string)
	isCommon := func(key string) bool {
		return slices.Contains([]string{"labels", "matchLabels", "selector", "annotations"}, key)
	}
	isOwn := func(d Document) bool { return slices.Contains(slices.Collect(d.Values()), wrong) }
	if !isText || !slices.ContainsFunc(keys, isCommon) {
		return "", nil
	}
	for _, d := range own {
		options := node.Field(d.Node(), "options") // of a generator
		for _, name := range []string{"labels", "annotations"} {
			for key, value := range node.Entries(node.Field(options, name)) {
				if key.Value == wrong || value.Value == wrong {
					return d.File, key
				}
			}
		}
	}
	if slices.ContainsFunc(own, isOwn) {
		return "", nil
	}
	for _, k := range s.sorted() {
		options := node.Field(k.root, "generatorOptions")
		maps := []*yaml.Node{node.Field(k.root, "commonLabels"), node.Field(k.root, "commonAnnotations"),
			node.Field(options, "labels"), node.Field(options, "annotations")}
		for _, entry := range node.Items(node.Field(k.root, "labels")) {
			maps = append(maps, node.Field(entry, "pairs"))
		}
		for _, entries := range maps {
			for key, value := range node.Entries(entries) {
				if key.Value == wrong || value.Value == wrong {
					return k.File, key
				}
			}
		}
	}
	return "", nil
}

// IsScale reports whether a field has the number of replicas.
func (s *Sources) IsScale(field string) bool {
	return field == "spec.replicas" || slices.Contains(s.kindFields.scaleFields(), field)
}

// entryOf returns the node of a kustomization's replicas or namespace that sets a field of an object,
// or nil.
func (s *Sources) entryOf(k *Kustomization, id manifest.ID, keys []string, test node.Test) *yaml.Node {
	field := strings.Join(keys, ".")
	switch {
	case field == "metadata.namespace", field == "metadata.name" && id.Kind == "Namespace":
		if key, value := node.Entry(k.root, "namespace"); test.Accepts(value) {
			return key
		}
	case s.IsScale(field):
		for _, entry := range node.Items(node.Field(k.root, "replicas")) {
			if count, value := node.Entry(entry, "count"); test.Accepts(value) &&
				strings.Contains(id.Name, node.Text(entry, "name")) {
				return count
			}
		}
	}
	return nil
}
