package kustomize

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	imagename "github.com/distribution/reference"
	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/utils"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
)

// Blame returns a problem of a built object at the entry of a kustomization that set its field last, or that added
// the innermost item or mapping around a missing field. It returns false if that is in the source object, or unknown.
func Blame(paths *Paths, p manifest.Problem) (manifest.Problem, bool) {
	if p.Field == "" || p.Subject.IsRendered() || p.Subject.Written == nil {
		return p, false
	}
	path := pathOf(paths, p.Subject)
	if path == nil || path.IsGenerated {
		return p, false
	}
	b := newBlame(paths, p, path.Document.ID, path.Document.Node())
	b.isOfChart = path.Document.FromChart
	for i, folder := range path.Folders {
		b.add(folder, paths.Candidate(path, i))
	}
	return b.blame(p)
}

// pathOf returns the build path of a built object, or nil. A patch may have renamed it.
func pathOf(paths *Paths, o manifest.Object) (found *Path) {
	if found = paths.Find(o); found != nil {
		return found
	}
	gvk := buildpath.GVKOf(o)
	for i := range paths.All {
		path := &paths.All[i]
		if path.GVK == gvk && (o.Origin == "" || source.Relative(path.Document.File) == o.Origin) {
			if found != nil {
				return nil
			}
			found = path
		}
	}
	return found
}

// BlameOverride is Blame for a rendered object that overrides in a folder changed.
func BlameOverride(paths *Paths, folder string, p manifest.Problem) (manifest.Problem, bool) {
	original := p.Subject.Rendered
	document := &yaml.Node{}
	if p.Field == "" || original == nil || document.Encode(original.Object) != nil {
		return p, false
	}
	b := newBlame(paths, p, original.ID(), document)
	for _, at := range paths.Overrides(folder) {
		b.add(at, buildpath.NewCandidate(*original))
	}
	return b.blame(p)
}

// BlamePostRender returns the keys in a kustomization over objects that set the field of a problem last, and the part
// of a text that begins there; none if others set it.
func BlamePostRender(s *source.Sources, kustomization map[string]any, p manifest.Problem) (keys []string, part string) {
	content, err := yaml.Marshal(kustomization)
	if err != nil {
		return nil, ""
	}
	file := path.Join(virtualFolder, "kustomization.yaml")
	files := s.FS.With(map[string][]byte{file: content})
	paths := FindPaths(source.Read(nil, nil, files, nil, nil, nil, virtualFolder), virtualFolder)
	b := newBlame(paths, p, p.Subject.ID(), &yaml.Node{})
	b.add(virtualFolder, buildpath.NewCandidate(p.Subject))
	found := b.lastSetter()
	if found == nil {
		return nil, ""
	}
	name, index := paths.Sources.EntryAt(file, found.line)
	keys = []string{name, strconv.Itoa(index)}
	below, part := paths.Sources.PartAt(file, found.line, keys...)
	return slices.Concat(keys, below), part
}

// blame finds the cause of a problem.
type blame struct {
	paths     *Paths
	id        manifest.ID // of the source object
	document  *yaml.Node
	isOfChart bool
	object    map[string]any
	keys      []string
	value     any // at keys; nil if the object has none
	entries   []candidateEntry
}

// candidateEntry is an entry of a kustomization, with the object as the entry may see it.
type candidateEntry struct {
	Entry
	buildpath.Candidate
}

// cause is the node that sets a field.
type cause struct {
	file   string
	line   int
	reason string
}

func newBlame(paths *Paths, p manifest.Problem, id manifest.ID, document *yaml.Node) *blame {
	b := &blame{paths: paths, id: id, document: document, object: p.Subject.Object}
	b.keys = source.Keys(id, manifest.SplitField(p.Field))
	b.value = decoding.At(b.object, b.keys)
	wrong, isText := p.Value.Is.(string)
	entries, _ := b.value.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(entries)) { // as in a problem of metadata.labels
		if isText && (key == wrong || entries[key] == wrong) {
			b.keys = append(b.keys, key)
			b.value = entries[key]
			break
		}
	}
	return b
}

func (b *blame) add(folder string, c buildpath.Candidate) {
	for _, e := range b.paths.Entries(folder) {
		b.entries = append(b.entries, candidateEntry{e, c})
	}
}

func (b *blame) blame(p manifest.Problem) (manifest.Problem, bool) {
	found := b.lastSetter()
	if found == nil {
		found = b.introducer()
	}
	if found == nil {
		return p, false
	}
	p.File = source.Relative(found.file)
	p.Line = found.line
	if found.reason != "" {
		p.Message += "; " + found.reason
	}
	return p, true
}

// lastSetter returns the last entry that gives the field its value, or removes it, or nil. Several may set parts of a
// mapping or a list.
func (b *blame) lastSetter() *cause {
	if isContainer(b.value) && !isEmpty(b.value) {
		return nil
	}
	for _, e := range slices.Backward(b.entries) {
		for _, d := range b.patches(e) {
			if at := b.setBy(d.Node()); at != nil {
				return &cause{d.File, at.Line, ""}
			}
		}
		if b.value == nil {
			continue
		}
		if found := b.setByEntry(e); found != nil {
			return found
		}
	}
	return nil
}

func isEmpty(value any) bool {
	list, isList := value.([]any)
	return value == nil || isList && len(list) == 0
}

func isContainer(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// patches returns the documents of an entry that patch the object.
func (b *blame) patches(e candidateEntry) (documents []source.Document) {
	var patches []buildpath.Patch
	switch {
	case e.Patch != nil:
		patches = e.Patch.Each()
	case e.Field == "transformers":
		for _, p := range buildpath.PatchesIn(b.paths.Sources.Documents(e.Kustomization.Paths[e.Loads]), b.loader(e)) {
			patches = append(patches, p.Each()...)
		}
	}
	for _, p := range patches {
		if p.Err == nil && p.Selects(e.Candidate) {
			documents = append(documents, p.Documents...)
		}
	}
	return documents
}

// loader returns a function that loads a file for a plugin in an entry.
func (b *blame) loader(e candidateEntry) func(file string) []source.Document {
	return func(file string) []source.Document {
		return b.paths.Sources.Loaded(path.Join(e.Kustomization.Folder, file))
	}
}

// setBy returns the node of a patch that gives the field its value or removes it, or nil.
func (b *blame) setBy(patch *yaml.Node) *yaml.Node {
	if patch.Kind == yaml.SequenceNode {
		return b.setByOperation(patch)
	}
	key, value, found := node.Follow(patch, b.object, b.keys)
	if found == len(b.keys) && node.HasValue(value, b.value) {
		return key
	}
	isDirective := func(item *yaml.Node) bool { return node.Field(item, "$patch") != nil }
	if isEmpty(b.value) && slices.ContainsFunc(node.Items(value), isDirective) {
		return key
	}
	return nil
}

// setByOperation is setBy for a JSON 6902 patch.
func (b *blame) setByOperation(operations *yaml.Node) *yaml.Node {
	for _, o := range slices.Backward(operations.Content) {
		prefix := b.prefix(o)
		if prefix == nil {
			continue
		}
		if b.value == nil && node.Text(o, "op") == "remove" {
			return o
		}
		set, value := node.Entry(o, "value")
		if value == nil {
			continue
		}
		rest := b.keys[len(prefix):]
		key, value, found := node.Follow(value, decoding.At(b.object, prefix), rest)
		switch {
		case len(rest) == 0 && node.HasValue(value, b.value):
			return set
		case found == len(rest) && node.HasValue(value, b.value), b.value == nil && found > 0:
			return key
		case b.value == nil:
			return set
		}
	}
	return nil
}

// prefix returns the first keys of the field if they are the path of an operation, or else nil. The items of a list may
// have moved since: an added item is the built item of its names.
func (b *blame) prefix(operation *yaml.Node) []string {
	pointer := node.JSONPointer(node.Text(operation, "path"))
	if len(pointer) > len(b.keys) {
		return nil
	}
	prefix := b.keys[:len(pointer)]
	last := len(pointer) - 1
	for i, part := range pointer {
		_, err := strconv.Atoi(prefix[i])
		isIndex := err == nil && i == last
		switch value := node.Field(operation, "value"); {
		case isIndex && part == "-", isIndex && value != nil && node.Text(operation, "op") == "add":
			if !node.IsItem(value, decoding.At(b.object, prefix)) {
				return nil
			}
		case part != prefix[i]:
			return nil
		}
	}
	return prefix
}

// setByEntry returns the cause if an entry other than a patch gives the field its value, or nil.
func (b *blame) setByEntry(e candidateEntry) *cause {
	k := e.Kustomization
	text := fmt.Sprint(b.value)
	field := strings.Join(b.keys, ".")
	isName := field == "metadata.name"
	keys := slices.Clip(e.Keys)
	isCause := false
	reason := ""
	switch e.Field {
	case "namespace":
		isCause = b.isNamespace(field) && text == k.Namespace && !b.isOfChart
	case "namePrefix":
		isCause = isName && b.isAffix(k.NamePrefix)
		reason = "set by namePrefix"
	case "nameSuffix":
		isCause = isName && b.isAffix(k.NamePrefix+k.NameSuffix)
		reason = "set by nameSuffix"
	case "replicas":
		isCause = b.isReplicasOf(k.Replicas[e.Entry.Index], e, text) && b.paths.Sources.IsScale(field)
		keys = append(keys, "count")
	case "images":
		set := fieldOfImage(k.Images[e.Entry.Index], text)
		isCause = b.isImage() && set != ""
		keys = append(keys, set)
	case "replacements":
		return b.setByReplacement(e, source.ReplacementsOf(k))
	case "transformers":
		documents := b.paths.Sources.Documents(k.Paths[e.Loads])
		found := b.setByReplacement(e, source.ReplacementsIn(documents, e.Name, b.loader(e)))
		if found == nil {
			found = b.setByTransformer(documents, text)
		}
		return found
	}
	if !isCause {
		return nil
	}
	return &cause{k.File, b.paths.Sources.Line(k.File, keys...), reason}
}

// isNamespace reports whether a field is the namespace of the object, or the name of a Namespace.
func (b *blame) isNamespace(field string) bool {
	return field == "metadata.namespace" || field == "metadata.name" && b.id.Kind == "Namespace"
}

// isReplicasOf reports whether an entry of replicas sets a number for the object.
func (b *blame) isReplicasOf(r types.Replica, e candidateEntry, number string) bool {
	isNamed := slices.ContainsFunc(e.Identities(), func(id buildpath.Identity) bool { return id.Name == r.Name })
	return isNamed && number == fmt.Sprint(r.Count)
}

func (b *blame) isImage() bool { return b.keys[len(b.keys)-1] == "image" }

// fieldOfImage returns the field of an entry of images that makes a part of an image: if several do, the one that makes
// no image alone, or else the name.
func fieldOfImage(entry types.Image, image string) string {
	isNamed := entry.NewName != "" && strings.HasPrefix(image, entry.NewName)
	_, err := imagename.ParseNormalizedNamed(entry.NewName)
	switch {
	case isNamed && err != nil:
		return "newName"
	case entry.Digest != "" && strings.HasSuffix(image, "@"+entry.Digest):
		return "digest"
	case entry.NewTag != "" && strings.HasSuffix(image, ":"+entry.NewTag):
		return "newTag"
	case isNamed:
		return "newName"
	}
	return ""
}

// label matches a name that every kind accepts if it is short.
var label = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// notInNames matches a character that no name has.
var notInNames = regexp.MustCompile(`[^-.a-z0-9]`)

// isAffix reports whether an affix, and not the name in the source object, makes a name wrong.
func (b *blame) isAffix(affix string) bool {
	return label.MatchString(b.id.Name) || notInNames.MatchString(affix)
}

// setByReplacement returns the path of a replacement in an entry that selects the field, or nil.
func (b *blame) setByReplacement(e candidateEntry, replacements []source.Replacement) *cause {
	var found *cause
	for _, r := range replacements {
		if r.Entry != e.Name {
			continue
		}
		for i, target := range r.Targets {
			if target == nil || target.Select == nil {
				continue
			}
			selector, err := buildpath.NewSelector(target.Select)
			if err != nil || !selector.Selects(e.Candidate) {
				continue
			}
			for j, path := range target.FieldPaths {
				if b.isAt(utils.SmarterPathSplitter(path, ".")) {
					found = &cause{r.File, node.Line(r.Node, "targets", strconv.Itoa(i), "fieldPaths", strconv.Itoa(j)),
						"set by " + e.Name}
					if r.Source != nil {
						found.reason += fmt.Sprintf(" from %s of %s", r.Source.FieldPath,
							manifest.ID{Kind: r.Source.Kind, Namespace: r.Source.Namespace, Name: r.Source.Name})
					}
				}
			}
		}
	}
	return found
}

// isAt reports whether a path of a replacement leads to the field.
func (b *blame) isAt(path []string) bool {
	if len(path) != len(b.keys) {
		return false
	}
	for i, part := range path {
		query := strings.Split(strings.Trim(part, "[]"), "=")
		switch item := decoding.At(b.object, b.keys[:i+1]).(type) {
		case map[string]any:
			isItem := len(query) == 2 && fmt.Sprint(item[query[0]]) == query[1]
			if part != b.keys[i] && part != "*" && !isItem {
				return false
			}
		default:
			if part != b.keys[i] && part != "*" {
				return false
			}
		}
	}
	return true
}

// setByTransformer returns the value in the files of a transformer that the field has, and the source object lacks.
func (b *blame) setByTransformer(transformers []source.Document, text string) *cause {
	if _, value, found := node.Follow(b.document, b.object, b.keys); found == len(b.keys) &&
		node.HasValue(value, b.value) {
		return nil
	}
	isName := strings.Join(b.keys, ".") == "metadata.name"
	for _, d := range transformers {
		name := node.Field(node.Field(d.Node(), "metadata"), "name") // of the transformer
		for n := range node.All(d.Node()) {
			if n.Kind != yaml.ScalarNode || n == name || text == "" {
				continue
			}
			isEnd := strings.HasPrefix(text, n.Value) || strings.HasSuffix(text, n.Value)
			isAffix := isName && len(n.Value) > 1 && isEnd
			isTag := b.isImage() && strings.HasSuffix(text, ":"+n.Value)
			if n.Value == text || isAffix && b.isAffix(n.Value) || isTag {
				return &cause{d.File, n.Line, "set by " + d.String()}
			}
		}
	}
	return nil
}

// introducer returns the first patch that adds the innermost item or mapping around the field, unless the source object
// has it.
func (b *blame) introducer() *cause {
	around := b.keys
	for len(around) > 0 && decoding.At(b.object, around) == nil {
		around = around[:len(around)-1]
	}
	_, _, found := node.Follow(b.document, b.object, around)
	if found == len(around) || b.value != nil && !isContainer(b.value) {
		return nil
	}
	for _, e := range b.entries {
		for _, d := range b.patches(e) {
			if d.Node().Kind == yaml.SequenceNode {
				continue // see setByOperation
			}
			if key, value, found := node.Follow(d.Node(), b.object, around); found == len(around) {
				return &cause{d.File, key.Line, b.added(key, value, around)}
			}
		}
	}
	return nil
}

// added explains that a patch adds an item to a list by its name.
func (b *blame) added(key, value *yaml.Node, keys []string) string {
	name := node.Text(value, "name")
	list, isList := decoding.At(b.object, keys[:len(keys)-1]).([]any)
	if key != value || name == "" || !isList {
		return ""
	}
	var others []string
	for _, item := range list {
		if fields, is := item.(map[string]any); is && fmt.Sprint(fields["name"]) != name {
			others = append(others, fmt.Sprint(fields["name"]))
		}
	}
	return fmt.Sprintf("the patch adds %q to %s%s", name, keys[len(keys)-2], manifest.DidYouMean(name, others))
}
