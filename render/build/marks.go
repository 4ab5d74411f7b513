package build

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/types"
	sigsyaml "sigs.k8s.io/yaml"

	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/source"
)

// What objects are known by again: a field that no patch knows of with the number of the
// document, and one with the folders that they came through. A generated object has the
// number in an annotation instead: the hash in its name is not of annotations.
const (
	documentMark = "gatehouseDocument"
	foldersMark  = "gatehouseFolders"
	marker       = "explain.gatehouse.example.com/"
)

// mark marks the documents in the files that they are in.
func (t *tracer) mark() {
	t.marked = map[string][]byte{}
	byFile := map[string]map[int]source.Document{}
	for i, d := range t.documents {
		if byFile[d.File] == nil {
			byFile[d.File] = map[int]source.Document{}
		}
		byFile[d.File][i] = d
	}
	for file, documents := range byFile {
		if content, ok := t.sources.Marked(file, documents, documentMark, t.keep); ok {
			t.marked[file] = content
		}
	}
	for _, k := range t.kustomizations {
		own := *k
		if t.adjust(&own); !reflect.DeepEqual(own, *k) {
			t.marked[k.File], _ = sigsyaml.Marshal(own.Kustomization)
		}
	}
}

// adjust marks the objects that a kustomization generates and, where a document takes several
// ways, all that come through its folder.
func (t *tracer) adjust(k *source.Kustomization) {
	k.ConfigMapGenerator, k.SecretGenerator = slices.Clone(k.ConfigMapGenerator), slices.Clone(k.SecretGenerator)
	for i, d := range t.documents {
		at, e, ok := t.generator(d)
		switch {
		case !ok || at != k.Folder:
		case fields[e.field].name == "configMapGenerator" && e.index < len(k.ConfigMapGenerator):
			markGenerator(&k.ConfigMapGenerator[e.index].GeneratorArgs, i)
		case fields[e.field].name == "secretGenerator" && e.index < len(k.SecretGenerator):
			markGenerator(&k.SecretGenerator[e.index].GeneratorArgs, i)
		}
	}
	if t.hasForks && t.tellsWay(k.Folder) {
		k.Labels = append(slices.Clone(k.Labels), types.Label{
			Pairs:      map[string]string{marker + strconv.Itoa(t.number(k.Folder)): "here"},
			FieldSpecs: []types.FieldSpec{{Path: foldersMark, CreateIfNotPresent: true}},
		})
	}
}

// tellsWay says whether an object came through a folder if it has its mark. What a component
// does, it does to all objects of what loads it.
func (t *tracer) tellsWay(folder string) bool {
	return t.kustomizations[folder].Kind != types.ComponentKind
}

func (t *tracer) number(folder string) int {
	return slices.Index(slices.Sorted(maps.Keys(t.kustomizations)), folder)
}

func markGenerator(args *types.GeneratorArgs, document int) {
	options := types.GeneratorOptions{}
	if args.Options != nil {
		options = *args.Options
	}
	annotations := map[string]string{marker + documentMark: strconv.Itoa(document)}
	maps.Copy(annotations, options.Annotations)
	options.Annotations = annotations
	args.Options = &options
}

// generator is the entry that a document is, if it is one that generates an object and does
// not change another's.
func (t *tracer) generator(d source.Document) (folder string, e entry, ok bool) {
	for _, k := range t.sources.Kustomizations {
		if k.File != d.File || d.IsInline() {
			continue
		}
		_, line := d.Position()
		for f, field := range fields {
			for i := range field.count(&k.Kustomization) {
				if generates(k, field.name, i) == d.Kind && t.sources.Line(k.File, field.name, strconv.Itoa(i)) == line {
					return k.Folder, entry{folder: k.Folder, field: f, index: i}, true
				}
			}
		}
	}
	return "", entry{}, false
}

// generates is the kind of the object that an entry generates; empty where there is none, or
// where that changes another's.
func generates(k *source.Kustomization, field string, index int) (kind string) {
	behavior := ""
	switch field {
	case "configMapGenerator":
		kind, behavior = "ConfigMap", k.ConfigMapGenerator[index].Behavior
	case "secretGenerator":
		kind, behavior = "Secret", k.SecretGenerator[index].Behavior
	}
	if b := types.NewGenerationBehavior(behavior); b == types.BehaviorMerge || b == types.BehaviorReplace {
		return ""
	}
	return kind
}

// unmark returns the marked ones of objects, without their marks.
func (t *tracer) unmark(objects []object.Object) (found []marked) {
	folders := slices.Sorted(maps.Keys(t.kustomizations))
	for _, o := range objects {
		number, _, _ := unstructured.NestedString(o.Object, documentMark)
		document, err := strconv.Atoi(cmp.Or(number, o.GetAnnotations()[marker+documentMark]))
		if err != nil {
			continue
		}
		m := marked{Unstructured: o.Unstructured, document: document}
		came, _, _ := unstructured.NestedMap(o.Object, foldersMark)
		for i, folder := range folders {
			if came[marker+strconv.Itoa(i)] != nil {
				m.folders = append(m.folders, folder)
			}
		}
		dropMarks(o.Object)
		t.restore(o.Unstructured)
		found = append(found, m)
	}
	return found
}

// dropMarks drops the marks of an object, and the maps that were made for them.
func dropMarks(object map[string]any) {
	delete(object, documentMark)
	delete(object, foldersMark)
	metadata, _ := object["metadata"].(map[string]any)
	for _, key := range []string{"annotations", "labels"} {
		values, _ := metadata[key].(map[string]any)
		before := len(values)
		maps.DeleteFunc(values, func(key string, _ any) bool { return strings.HasPrefix(key, marker) })
		if len(values) == 0 && before > 0 {
			delete(metadata, key)
		}
	}
}

// written is an object as people wrote it, nil where it is generated.
func (t *tracer) written(document int) *unstructured.Unstructured {
	node, ok := t.sources.Copy(t.documents[document])
	if !ok {
		return nil
	}
	o, err := object.FromYAML(node)
	if err != nil {
		return nil
	}
	t.restore(o.Unstructured)
	return o.Unstructured
}
