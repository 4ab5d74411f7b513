package render

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render/check"
	"example.com/gatehouse/render/kinds"
	"example.com/gatehouse/render/object"
)

// causes finds the fields of specs because of which there are problems with what is
// rendered from them: without the field, the problem is gone.
type causes struct {
	checker *check.Checker
	last    map[problemKind]string // the fields that were the causes of the last problems
	known   map[string]bool        // what was found, by object and field
}

func newCauses(checker *check.Checker) *causes {
	return &causes{checker: checker, last: map[problemKind]string{}, known: map[string]bool{}}
}

// next returns a problem with a rendered object as one with what people wrote, unless that
// was returned before.
func (c *causes) next(p object.Problem) (written object.Problem, isNew bool) {
	written = problemOfWritten(p, c.of(p))
	id := written.Object + " " + written.Field
	isNew = !c.known[id]
	c.known[id] = true
	return written, isNew
}

// problemKind is what problems with rendered objects have in common: a field of a kind,
// whatever its place in lists.
type problemKind struct {
	kind  schema.GroupVersionKind
	field string
}

var indexes = regexp.MustCompile(`\[\d+\]`)

func kindOf(p object.Problem) problemKind {
	return problemKind{p.Subject.GroupVersionKind(), indexes.ReplaceAllString(p.Field, "[]")}
}

// problemOfWritten is a problem with a rendered object that a field of what people wrote
// is the cause of, or all of that.
func problemOfWritten(p object.Problem, field string) object.Problem {
	what := "is rendered to an invalid " + p.Object
	switch {
	case p.Warning:
		what = "the API server warns of the rendered " + p.Object
	case field != "":
		what = "makes " + p.Object + " invalid"
	}
	if field != "" {
		what = field + ": " + what
	}
	cause := object.NewProblem(object.Object{Unstructured: p.Subject.Written, Written: p.Subject.Written}, field, object.Value{}, what+": "+p.Message)
	cause.Warning = p.Warning
	return cause
}

// of returns the path of the field that is the cause of a problem with a rendered object;
// empty where none alone is. Of several it is the likeliest.
func (c *causes) of(p object.Problem) string {
	content, kind := p.Subject.Written.Object, kindOf(p)
	before := c.count(content, kind)
	for _, f := range c.likely(fieldsOf(content), p) {
		if rest, _ := without(content, f.path).(map[string]any); c.count(rest, kind) < before {
			c.last[kind] = f.kind()
			return object.JoinField(f.path)
		}
	}
	return ""
}

// likely sorts fields by how likely one is the cause of a problem: first the one that was
// the last time, then those whose paths have most keys in common with that of the problem.
func (c *causes) likely(fields []writtenField, p object.Problem) []writtenField {
	last, keys := c.last[kindOf(p)], object.SplitField(p.Field)
	rank := func(f writtenField) int {
		rank := 0
		for _, key := range f.path {
			if slices.Contains(keys, strings.Trim(key, "[]")) {
				rank += 2
			}
		}
		if f.isScalar {
			rank++
		}
		if f.kind() == last {
			rank += 2*len(f.path) + 2
		}
		return rank
	}
	slices.SortStableFunc(fields, func(a, b writtenField) int { return cmp.Compare(rank(b), rank(a)) })
	return fields
}

// count returns how many problems of a kind there are with what is rendered from an object.
// Where nothing is, as a field that it needs is missing, there are all that can be.
func (c *causes) count(content map[string]any, kind problemKind) (n int) {
	const all = 1 << 30
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
	rendered, err := kinds.Expand(c.checker.Defaulted(object.Object{Unstructured: u, Written: u}))
	if err != nil {
		return all
	}
	for _, child := range rendered {
		if child.GroupVersionKind() != kind.kind {
			continue
		}
		if kinds.HashName(child) != nil {
			return all
		}
		_, problems := c.checker.Objects([]object.Object{{Unstructured: child, Written: u}})
		for _, p := range problems {
			if kindOf(p) == kind {
				n++
			}
		}
	}
	return n
}

// writtenField is a field, or an item of a list, that people wrote.
type writtenField struct {
	path     []string // indexes in brackets
	isScalar bool
}

// kind is the path of the field, whatever its place in lists.
func (f writtenField) kind() string {
	return indexes.ReplaceAllString(object.JoinField(f.path), "[]")
}

// fieldsOf are all that a spec has, and of the metadata what is shared with what is
// rendered from it.
func fieldsOf(content map[string]any) (fields []writtenField) {
	var add func(path []string, value any)
	add = func(path []string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				add(append(slices.Clip(path), key), value[key])
			}
			fields = append(fields, writtenField{path, false})
		case []any:
			for i, item := range value {
				add(append(slices.Clip(path), "["+strconv.Itoa(i)+"]"), item)
			}
			fields = append(fields, writtenField{path, false})
		default:
			fields = append(fields, writtenField{path, true})
		}
	}
	for _, root := range [][]string{{"spec"}, {"metadata", "labels"}, {"metadata", "annotations"}, {"metadata", "name"}} {
		if value, ok, _ := unstructured.NestedFieldNoCopy(content, root...); ok {
			add(root, value)
		}
	}
	return fields
}

// without is content without the value at a path. A name it replaces, as each object has
// one.
func without(content any, path []string) any {
	switch content := content.(type) {
	case map[string]any:
		rest := maps.Clone(content)
		switch {
		case len(path) > 1:
			rest[path[0]] = without(content[path[0]], path[1:])
		case path[0] == "name":
			rest["name"] = "a"
		default:
			delete(rest, path[0])
		}
		return rest
	case []any:
		i, _ := strconv.Atoi(strings.Trim(path[0], "[]"))
		if len(path) == 1 {
			return slices.Delete(slices.Clone(content), i, i+1)
		}
		rest := slices.Clone(content)
		rest[i] = without(content[i], path[1:])
		return rest
	}
	return content
}
