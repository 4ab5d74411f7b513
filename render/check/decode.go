package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"example.com/gatehouse/render/object"
)

// Decoding stops at the first value that it cannot read, and often does not say which
// one that is. An object of nothing but that value, at its place, fails in the same way.

// decodingProblems are of the values of an object that strict decoding cannot read, and
// of the fields that it does not know.
func decodingProblems(o object.Object, decode func(content []byte) error) (problems []object.Problem) {
	err := strictly(decode, o.Object)
	if err == nil {
		return nil
	}
	rest := o.Object
	if !runtime.IsStrictDecodingError(err) {
		rest = runtime.DeepCopyJSON(o.Object)
		for _, wrong := range findUnreadable(o, decode) {
			problems = append(problems, wrong.problem(o))
			setNull(rest, wrong.path)
		}
	}
	strict, _ := runtime.AsStrictDecodingError(strictly(decode, rest))
	if strict == nil {
		return problems
	}
	for _, err := range strict.Errors() {
		if match := unknownField.FindStringSubmatch(err.Error()); match != nil {
			problems = append(problems, unknownFieldProblem(o, match[1], nil))
		} else {
			problems = append(problems, invalid(o, err.Error()))
		}
	}
	return problems
}

var unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)

// strictly returns the error of decoding content.
func strictly(decode func([]byte) error, content any) error {
	encoded, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return decode(encoded)
}

// setNull puts null, which every field may be, in the place of a value.
func setNull(content any, path []string) {
	for i, key := range path {
		last := i == len(path)-1
		switch c := content.(type) {
		case map[string]any:
			if content = c[key]; last {
				c[key] = nil
			}
		case []any:
			index, _ := strconv.Atoi(strings.Trim(key, "[]"))
			if content = c[index]; last {
				c[index] = nil
			}
		}
	}
}

// unreadable is a value that decoding cannot read.
type unreadable struct {
	path  []string // keys, and indexes in brackets
	value any
	err   error
	types []string // those of values that it can read instead
}

// search finds all that is unreadable of an object. It halves what fails until it has
// the values: a wrong one takes a time that is linear in the size of the object.
type search struct {
	decode func(content []byte) error
	found  []unreadable
	known  map[string][]string // the JSON types of the fields of Go types
}

func findUnreadable(o object.Object, decode func([]byte) error) []unreadable {
	s := &search{decode: decode, known: map[string][]string{}}
	s.in(o.Object, nil, func(content any) any {
		typed, _ := content.(map[string]any)
		typed = maps.Clone(typed)
		typed["apiVersion"], typed["kind"] = o.GetAPIVersion(), o.GetKind()
		return typed
	})
	return s.found
}

// fails returns why content cannot be read. That it has unknown fields is no reason.
func (s *search) fails(content any) error {
	err := strictly(s.decode, content)
	if runtime.IsStrictDecodingError(err) {
		return nil
	}
	return err
}

// in finds what is unreadable in the value at a path. Function object returns an object
// of nothing but other content at that path.
func (s *search) in(value any, path []string, object func(content any) any) {
	err := s.fails(object(value))
	if err == nil {
		return
	}
	before := len(s.found)
	switch value := value.(type) {
	case map[string]any:
		if s.fails(object(map[string]any{})) != nil {
			break
		}
		keys := slices.Sorted(maps.Keys(value))
		s.among(0, len(keys), func(from, to int) any {
			part := map[string]any{}
			for _, key := range keys[from:to] {
				part[key] = value[key]
			}
			return object(part)
		}, func(i int) {
			s.in(value[keys[i]], append(slices.Clip(path), keys[i]), func(content any) any { return object(map[string]any{keys[i]: content}) })
		})
	case []any:
		if s.fails(object([]any{})) != nil {
			break
		}
		s.among(0, len(value), func(from, to int) any { return object(value[from:to]) }, func(i int) {
			s.in(value[i], append(slices.Clip(path), "["+strconv.Itoa(i)+"]"), func(content any) any { return object([]any{content}) })
		})
	}
	if len(s.found) == before {
		s.found = append(s.found, unreadable{path, value, err, s.types(err, object)})
	}
}

// among calls one with those of some values that may be unreadable. Function part
// returns an object of nothing but a part of them.
func (s *search) among(from, to int, part func(from, to int) any, one func(i int)) {
	if to-from == 1 {
		one(from)
		return
	}
	middle := (from + to) / 2
	for _, half := range [][2]int{{from, middle}, {middle, to}} {
		if half[0] < half[1] && s.fails(part(half[0], half[1])) != nil {
			s.among(half[0], half[1], part, one)
		}
	}
}

// types are the JSON types of which values can be read at the place of one that cannot.
func (s *search) types(err error, object func(content any) any) (types []string) {
	_, field, isType := strings.Cut(err.Error(), " into Go ")
	if types, ok := s.known[field]; ok || !isType {
		return types
	}
	defer func() { s.known[field] = types }()
	for _, sample := range []struct {
		name  string
		value any
	}{{"object", map[string]any{}}, {"array", []any{}}, {"string", ""}, {"number", 0}, {"bool", false}} {
		if s.fails(object(sample.value)) == nil {
			types = append(types, sample.name)
		}
	}
	return types
}

var goType = regexp.MustCompile(`cannot unmarshal (\S+)(?: (\S+))? into Go (?:struct field \S+|value) of type (\S+)`)

// wanted has, for a part of what decoding says of a value, what should be there instead.
var wanted = []struct{ part, instead string }{
	{"quantit", "must be a quantity, like 64Mi or 500m"},
	{"parsing time", "must be an RFC 3339 time, like 2026-01-31T09:00:00Z or 2026-01-31T10:00:00+01:00"},
	{"time: ", "must be a duration, like 90s or 1h30m"},
	{"base64", "must be base64"},
	{"[]uint8", "must be base64"},
}

func (u unreadable) problem(o object.Object) object.Problem {
	if len(u.path) == 0 {
		return invalid(o, u.err.Error())
	}
	path, text := object.JoinField(u.path), u.err.Error()
	value := object.Value{Is: u.value}
	switch u.value.(type) {
	case map[string]any:
		value = object.Value{Type: "object"}
	case []any:
		value = object.Value{Type: "array"}
	case float64:
		value = object.Value{Type: "number"}
	}
	if match := goType.FindStringSubmatch(text); match != nil && match[3] != "[]uint8" {
		has := match[1]
		if match[2] != "" && o.GetKind() != "Secret" { // a number that does not fit
			has = match[2]
		}
		wants := match[3]
		if match[2] == "" && (len(u.types) > 1 || strings.ContainsAny(wants, ".[")) { // a Go type says less than these
			wants = cmp.Or(strings.Join(u.types, " or "), wants)
		}
		return object.NewProblem(o, path, value, fmt.Sprintf("%s: must be of type %s, not %s", path, wants, has))
	}
	for _, w := range wanted {
		if strings.Contains(text, w.part) {
			text = w.instead
			break
		}
	}
	if o.GetKind() == "Secret" { // whoever reads problems need not know its values
		return object.NewProblem(o, path, value, path+": "+text)
	}
	return object.NewProblem(o, path, value, fmt.Sprintf("%s: Invalid value: %s: %s", path, abbreviated(u.value), text))
}

// abbreviated is a value as JSON, or the beginning of it.
func abbreviated(value any) string {
	encoded, _ := json.Marshal(value) // it was JSON
	if runes := []rune(string(encoded)); len(runes) > 60 {
		return string(runes[:60]) + "..."
	}
	return string(encoded)
}
