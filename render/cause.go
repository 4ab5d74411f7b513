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

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/check"
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/object"
)

// causes finds the fields of specs because of which there are problems with what is
// rendered from them: without the field, the problem is gone.
type causes struct {
	kinds   *registry.Kinds
	checker *check.Checker
	alike   map[problemsAlike][]object.Problem  // all problems
	last    map[problemKind]string              // the fields that were the causes of the last problems
	found   map[problemsAlike]map[string]string // the causes of problems alike, by the field that is wrong
	known   map[string]bool                     // what was found, by object and field
}

// problemsAlike are the problems of a kind with what is rendered from one object.
type problemsAlike struct {
	written *unstructured.Unstructured
	kind    problemKind
}

func alike(p object.Problem) problemsAlike { return problemsAlike{p.Subject.Written, kindOf(p)} }

func newCauses(kinds *registry.Kinds, checker *check.Checker, problems []object.Problem) *causes {
	c := &causes{kinds, checker, map[problemsAlike][]object.Problem{}, map[problemKind]string{}, map[problemsAlike]map[string]string{}, map[string]bool{}}
	for _, p := range problems {
		c.alike[alike(p)] = append(c.alike[alike(p)], p)
	}
	return c
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

// mostTries are as many fields as are tried for one problem: each try renders the object.
const mostTries = 200

// of returns the path of the field that is the cause of a problem with a rendered object;
// empty where none alone is. Of several it is the likeliest.
func (c *causes) of(p object.Problem) string {
	all := alike(p)
	if cause, ok := c.found[all][p.Field]; ok {
		return cause
	}
	content := p.Subject.Written.Object
	before := c.count(content, all.kind)
	fields := c.likely(fieldsOf(content), p)
	for _, f := range fields[:min(len(fields), mostTries)] {
		if rest, _ := without(content, f.path).(map[string]any); c.count(rest, all.kind) < before {
			c.last[all.kind] = f.kind()
			c.findAlike(p, f.path, before)
			return object.JoinField(f.path)
		}
	}
	if len(fields) > mostTries { // the others would take as long
		c.found[all] = map[string]string{}
		for _, other := range c.alike[all] {
			c.found[all][other.Field] = ""
		}
	}
	return ""
}

// findAlike finds the causes of all problems that are like one of known cause at once, where
// they are the same field of other items: without those all of the problems are gone.
func (c *causes) findAlike(p object.Problem, cause []string, before int) {
	all := alike(p)
	if len(c.alike[all]) < 2 || c.found[all] != nil {
		return
	}
	found, paths := map[string]string{}, map[string][]string{}
	for _, other := range c.alike[all] {
		path := moved(cause, p.Field, other.Field)
		found[other.Field] = object.JoinField(path)
		paths[found[other.Field]] = path
	}
	rest := p.Subject.Written.Object
	for _, path := range slices.SortedFunc(maps.Values(paths), lastFirst) {
		if decoding.At(rest, path) == nil {
			return
		}
		rest, _ = without(rest, path).(map[string]any)
	}
	if c.count(rest, all.kind) == before-len(c.alike[all]) {
		c.found[all] = found
	}
}

// moved is the path of a field in those items that another problem is of.
func moved(path []string, from, to string) []string {
	was, is := indexes.FindAllString(from, -1), indexes.FindAllString(to, -1)
	moved := slices.Clone(path)
	for i, key := range path {
		for n := range was {
			if key == was[n] { // of several the innermost
				moved[i] = is[n]
			}
		}
	}
	return moved
}

// lastFirst sorts paths so that the indexes of those that come later stay what they are
// without those that come first.
func lastFirst(a, b []string) int {
	return slices.CompareFunc(b, a, func(x, y string) int { return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)) })
}

// likely sorts fields by how likely one is the cause of a problem: first the one that was
// the last time, then those whose paths have most keys in common with that of the problem.
func (c *causes) likely(fields []writtenField, p object.Problem) []writtenField {
	last, keys := c.last[kindOf(p)], object.SplitField(p.Field)
	rank := func(f writtenField) int {
		rank := 0
		for _, key := range f.path {
			switch item := strings.Trim(key, "[]"); {
			case slices.Contains(keys, item):
				rank += 2
			case item != key: // another item
				rank -= 6
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
	ranked := map[int][]writtenField{}
	for _, f := range fields {
		ranked[rank(f)] = append(ranked[rank(f)], f)
	}
	sorted := make([]writtenField, 0, len(fields))
	for _, rank := range slices.Backward(slices.Sorted(maps.Keys(ranked))) {
		sorted = append(sorted, ranked[rank]...)
	}
	return sorted
}

// count returns how many problems of a kind there are with what is rendered from an object.
// Where nothing is, as a field that it needs is missing, there are all that can be.
func (c *causes) count(content map[string]any, kind problemKind) (n int) {
	const all = 1 << 30
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
	rendered, err := c.kinds.Expand(c.checker.Defaulted(object.Object{Unstructured: u, Written: u}))
	if err != nil {
		return all
	}
	for _, child := range rendered {
		if child.GroupVersionKind() != kind.kind {
			continue
		}
		if c.kinds.HashName(child, u) != nil {
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

// without is content without the value at a path. A name or a key it replaces, as what has
// one needs one.
func without(content any, path []string) any {
	switch content := content.(type) {
	case map[string]any:
		rest := maps.Clone(content)
		switch {
		case len(path) > 1:
			rest[path[0]] = without(content[path[0]], path[1:])
		case path[0] == "name", path[0] == "key":
			rest[path[0]] = "a"
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
