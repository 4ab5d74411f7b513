// Package decoding finds all values in a document that do not fit a Go type. A decoder stops at the
// first, and often does not name it.
package decoding

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Misfit is a value that does not fit its place in a Go type.
type Misfit struct {
	Path  []string // keys, and indexes in brackets
	Value any

	// Unknown reports whether Struct has no such field. Siblings are its fields.
	Unknown  bool
	Siblings []string
	Struct   reflect.Type

	// Wants are the types that fit: object, array, string, bool, number, or an exact type of
	// number, such as int32. Form describes the required text, if known.
	Wants []string
	Form  string
}

// Options configure Find.
type Options struct {
	// FoldCase ignores the case of field names.
	FoldCase bool
	// IsKnown reports whether a struct has a field. If it is nil, the struct has all of its fields.
	IsKnown func(t reflect.Type, field string) bool
}

// Find returns the values in content that encoding/json would not decode into a Go type. Null fits
// every type.
func Find(content any, t reflect.Type, o Options) []Misfit {
	s := &search{Options: o}
	s.visit(content, t, nil)
	slices.SortFunc(s.found, func(a, b Misfit) int { return slices.Compare(a.Path, b.Path) })
	return s.found
}

// search collects misfits.
type search struct {
	Options
	found []Misfit
}

func (s *search) add(path []string, m Misfit) {
	m.Path = slices.Clone(path)
	s.found = append(s.found, m)
}

// visit compares the value at a path with its Go type.
func (s *search) visit(value any, t reflect.Type, path []string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	types := shapeOf(t).types
	if value == nil || types == nil {
		return
	}
	if !slices.Contains(types, TypeOf(value)) {
		s.add(path, Misfit{Value: value, Wants: exact(types, t), Form: forms[t]})
		return
	}
	switch content := value.(type) {
	case map[string]any:
		s.visitObject(content, t, path)
	case []any:
		for i, item := range content {
			s.visit(item, t.Elem(), append(path, "["+strconv.Itoa(i)+"]"))
		}
	default:
		if wants, form := refusal(value, t); wants != nil || form != "" {
			s.add(path, Misfit{Value: value, Wants: wants, Form: form})
		}
	}
}

func (s *search) visitObject(content map[string]any, t reflect.Type, path []string) {
	for key, value := range content {
		path := append(path, key)
		if t.Kind() == reflect.Map {
			s.visit(value, t.Elem(), path)
			continue
		}
		fields := Fields(t)
		i := slices.IndexFunc(fields, func(f Field) bool {
			return f.Name == key || s.FoldCase && strings.EqualFold(f.Name, key)
		})
		if i >= 0 && s.isKnown(t, fields[i]) {
			s.visit(value, fields[i].Type, path)
			continue
		}
		unknown := Misfit{Value: value, Unknown: true, Struct: t}
		for _, f := range fields {
			if s.isKnown(t, f) {
				unknown.Siblings = append(unknown.Siblings, f.Name)
			}
		}
		s.add(path, unknown)
	}
}

func (s *search) isKnown(t reflect.Type, f Field) bool {
	return s.IsKnown == nil || s.IsKnown(t, f.Name)
}

// hugeExponent matches quantities such as 1e99999, which take minutes to parse.
var hugeExponent = regexp.MustCompile(`^[+-]?[0-9.]+[eE][+-]?[0-9]{4,}$`)

// IsHugeQuantity reports whether text is a quantity that takes minutes to parse.
func IsHugeQuantity(text string) bool { return hugeExponent.MatchString(text) }

var quantity = reflect.TypeFor[resource.Quantity]()

// Forms of text.
const (
	QuantityForm = "must be a quantity, like 64Mi or 500m"
	TimeForm     = "must be an RFC 3339 time, like 2026-01-31T09:00:00Z or 2026-01-31T10:00:00+01:00"
)

// WrongTime returns the problem of a time: its form, or a day or hour that does not exist.
func WrongTime(value any) string {
	var wrong *time.ParseError
	instant, _, _ := strings.Cut(fmt.Sprint(value), "[") // before the name of a zone
	if _, err := time.Parse(time.RFC3339, instant); errors.As(err, &wrong) &&
		strings.HasSuffix(wrong.Message, "out of range") {
		return "there is no such time" + wrong.Message
	}
	return TimeForm
}

// forms describe the text of types.
var forms = map[reflect.Type]string{
	quantity:                            QuantityForm,
	reflect.TypeFor[[]byte]():           "must be base64",
	reflect.TypeFor[metav1.Time]():      TimeForm,
	reflect.TypeFor[metav1.MicroTime](): TimeForm,
	reflect.TypeFor[metav1.Duration]():  "must be a duration, like 90s or 1h30m",
}

// refusal returns the number type or the form of text that a Go type requires, if it refuses a scalar
// of the right JSON type.
func refusal(scalar any, t reflect.Type) (wants []string, form string) {
	text, _ := scalar.(string)
	switch {
	case t == quantity && IsHugeQuantity(text):
		return nil, QuantityForm
	case (t.Kind() == reflect.String || t.Kind() == reflect.Bool) && !decodesItself(t):
		return nil, ""
	}
	encoded, err := json.Marshal(scalar)
	if err == nil {
		err = json.Unmarshal(encoded, reflect.New(t).Interface())
	}
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil, ""
	case errors.As(err, &wrongType):
		return []string{wrongType.Type.Kind().String()}, forms[t]
	}
	if forms[t] == TimeForm {
		return nil, WrongTime(scalar)
	}
	return nil, cmp.Or(forms[t], err.Error())
}

// Replace replaces the value at a path in content. Nil removes a key from a mapping, and leaves an
// empty item in a list.
func Replace(content any, path []string, value any) {
	last := len(path) - 1
	switch parent := At(content, path[:last]).(type) {
	case map[string]any:
		parent[path[last]] = value
		if value == nil {
			delete(parent, path[last])
		}
	case []any:
		index, _ := strconv.Atoi(strings.Trim(path[last], "[]"))
		parent[index] = value
	}
}

// At returns the value at a path in content, or nil.
func At(content any, path []string) any {
	for _, key := range path {
		switch parent := content.(type) {
		case map[string]any:
			content = parent[key]
		case []any:
			index, err := strconv.Atoi(strings.Trim(key, "[]"))
			if err != nil || index < 0 || index >= len(parent) {
				return nil
			}
			content = parent[index]
		default:
			return nil
		}
	}
	return content
}

// Walk calls visit with content and each value inside it, parents first and in the order of keys, and with its
// path. It leaves out what is inside a value for which visit returns false. visit may keep the path.
func Walk(content any, visit func(path []string, value any) bool) { walk(content, nil, visit) }

func walk(content any, path []string, visit func(path []string, value any) bool) {
	if !visit(path, content) {
		return
	}
	path = slices.Clip(path)
	switch content := content.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(content)) {
			walk(content[key], append(path, key), visit)
		}
	case []any:
		for i, item := range content {
			walk(item, append(path, "["+strconv.Itoa(i)+"]"), visit)
		}
	}
}
