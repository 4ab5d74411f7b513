// Package decoding finds all that cannot be decoded of some content, as decoding itself
// stops at the first value that it cannot read, and often does not say which one that is.
package decoding

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Value is a value that cannot be decoded.
type Value struct {
	Path  []string // keys, and indexes in brackets
	Value any
	Err   error
	Types []string // the JSON types of values that can be decoded in its place, where that is what is wrong
	Other any      // a value that can be decoded in its place, the one that was meant where that is plain; nil where none is known
}

// Find returns the values in content that decode refuses. An object of nothing but such a
// value, at its place, and of what each object has, is refused in the same way. So it
// halves what is refused until it has the values: one takes a time that is linear in the
// size of the content.
func Find(content, each map[string]any, decode func(content []byte) error) []Value {
	s := &search{decode: decode, known: map[string]alternatives{}}
	s.in(content, nil, func(content any) any {
		object, _ := content.(map[string]any)
		object = maps.Clone(object)
		maps.Copy(object, each)
		return object
	})
	return s.found
}

// search is for all values that cannot be decoded.
type search struct {
	decode func(content []byte) error
	found  []Value
	known  map[string]alternatives // of the fields of Go types
}

// alternatives are what can be decoded in the place of a value.
type alternatives struct {
	types []string
	other any
}

// fails returns why content cannot be decoded.
func (s *search) fails(content any) error { return Try(content, s.decode) }

// Try returns the error of decoding content.
func Try(content any, decode func(content []byte) error) error {
	encoded, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return decode(encoded)
}

// in finds what cannot be decoded in the value at a path. Function object returns an object
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
		instead := s.alternatives(err, object)
		if m := meant(value); m != nil && s.fails(object(m)) == nil {
			instead.other = m
		}
		s.found = append(s.found, Value{path, value, err, instead.types, instead.other})
	}
}

// among calls one with those of some values that may not be decoded. Function part
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

// meant is the number or truth value that a text is, and the text that one of those is;
// nil of other values.
func meant(value any) any {
	switch value := value.(type) {
	case nil, map[string]any, []any:
		return nil
	case string:
		var scalar any
		_ = json.Unmarshal([]byte(value), &scalar) // what is no JSON is nothing else
		switch scalar.(type) {
		case float64, bool:
			return scalar
		}
		return nil
	}
	encoded, _ := json.Marshal(value) // it was JSON
	return string(encoded)
}

// samples are values of each JSON type, those of text in all that fields ask of it. None is
// what a field has that is left out, where there is another.
var samples = []struct {
	name  string
	value any
}{
	{"object", map[string]any{"1": "1"}}, {"object", map[string]any{}},
	{"array", []any{map[string]any{}}}, {"array", []any{"1"}}, {"array", []any{}},
	{"string", "1"}, {"string", "1s"}, {"string", "2027-01-01T00:00:00.000000Z"}, {"string", "MQ=="},
	{"number", int64(1)}, {"bool", true},
}

// alternatives are what can be decoded at the place of a value that cannot, and why that
// cannot. Text is preferred, as most fields are text.
func (s *search) alternatives(err error, object func(content any) any) (instead alternatives) {
	_, field, isType := strings.Cut(err.Error(), " into Go ")
	if known, ok := s.known[field]; ok && isType {
		return known
	}
	for _, sample := range samples {
		if slices.Contains(instead.types, sample.name) || s.fails(object(sample.value)) != nil {
			continue
		}
		if instead.types = append(instead.types, sample.name); instead.other == nil || sample.name == "string" {
			instead.other = sample.value
		}
	}
	if isType {
		s.known[field] = instead
	} else {
		instead.types = nil
	}
	return instead
}

// At is the value at a path in content; nil where there is none.
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

// Replace puts another value in the place of the one at a path. Nil takes it out of an
// object, and is null in a list.
func Replace(content any, path []string, value any) {
	for i, key := range path {
		last := i == len(path)-1
		switch c := content.(type) {
		case map[string]any:
			content = c[key]
			if last {
				c[key] = value
			}
			if last && value == nil {
				delete(c, key)
			}
		case []any:
			index, _ := strconv.Atoi(strings.Trim(key, "[]"))
			if content = c[index]; last {
				c[index] = value
			}
		}
	}
}
