package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/render/check/apiserver"
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/object"
)

// decoded is an object as the API server has it: all that can be read of it; and, where
// there are values that cannot be or fields that are misspelled, the same with others in
// their place.
type decoded struct {
	rest, others runtime.Object
	unread       []string // the paths of what the rest lacks for that
}

// withoutFollowing are errors of the rest without those that may be there for nothing but
// a value that was not read: they are of that value or what is in it, name it, or are gone
// with another.
func (d decoded) withoutFollowing(errs, ofOthers field.ErrorList) field.ErrorList {
	if len(d.unread) == 0 {
		return errs
	}
	unread := paths{}
	for _, path := range d.unread {
		unread.add(object.SplitField(path))
	}
	stays := map[string]bool{}
	for _, err := range ofOthers {
		stays[err.Error()] = true
	}
	return slices.DeleteFunc(slices.Clone(errs), func(err *field.Error) bool {
		isNamed := slices.ContainsFunc(strings.FieldsFunc(err.Detail, endsPath), func(word string) bool {
			return strings.Contains(word, ".") && unread.haveStartOf(object.SplitField(word))
		})
		return isNamed || unread.haveStartOf(object.SplitField(err.Field)) || !stays[err.Error()]
	})
}

// paths are some paths of fields.
type paths map[string]bool

func (p paths) add(keys []string) { p[strings.Join(keys, "\x00")] = true }

// haveStartOf says whether one of the paths is that of a field or of what it is in.
func (p paths) haveStartOf(keys []string) bool {
	for end := 1; end <= len(keys); end++ {
		if p[strings.Join(keys[:end], "\x00")] {
			return true
		}
	}
	return false
}

// endsPath says whether a character of a message ends the path of a field in it.
func endsPath(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(".[]-_/$", r)
}

// decode returns an object as the API server has it, if anything of it can be read, and
// what is wrong: the values that strict decoding cannot read, and the fields that it does
// not know.
func decode(o object.Object, kind apiserver.Kind) (d decoded, problems []object.Problem) {
	try := func(content map[string]any) (decoded runtime.Object, err error) {
		err = decoding.Try(content, func(encoded []byte) error {
			decoded, err = kind.Decode(object.EndQuantities(encoded))
			return err
		})
		return decoded, err
	}
	var err error
	others := o.Object
	if d.rest, err = try(o.Object); err != nil && !runtime.IsStrictDecodingError(err) {
		unread := decoding.Find(o.Object, map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind()}, func(encoded []byte) error {
			_, err := kind.Decode(object.EndQuantities(encoded))
			return exceptStrict(err)
		})
		rest := runtime.DeepCopyJSON(o.Object)
		others = runtime.DeepCopyJSON(o.Object)
		for _, value := range unread {
			problems = append(problems, unreadableProblem(o, value))
			d.unread = append(d.unread, object.JoinField(value.Path))
			decoding.Replace(rest, value.Path, nil)
			decoding.Replace(others, value.Path, value.Other)
		}
		d.rest, err = try(rest)
		if d.others, _ = try(others); d.others == nil {
			d.rest = nil
		}
	}
	unknown, strict := strictProblems(o, kind, err)
	d.spell(others, kind, unknown, try)
	return d, append(problems, strict...)
}

// strictProblems are those of an error of strict decoding, if it is one, and the fields
// that are not known.
func strictProblems(o object.Object, kind apiserver.Kind, err error) (unknown []string, problems []object.Problem) {
	strict, _ := runtime.AsStrictDecodingError(err)
	if strict == nil {
		return nil, nil
	}
	for _, err := range strict.Errors() {
		match := unknownField.FindStringSubmatch(err.Error())
		if match == nil {
			problems = append(problems, invalid(o, err.Error()))
			continue
		}
		unknown = append(unknown, match[1])
		problems = append(problems, unknownFieldProblem(o, match[1], kind.Siblings(object.SplitField(match[1]))))
	}
	return unknown, problems
}

var unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)

// exceptStrict is an error of decoding, unless it is that there are unknown fields.
func exceptStrict(err error) error {
	if runtime.IsStrictDecodingError(err) {
		return nil
	}
	return err
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

func unreadableProblem(o object.Object, u decoding.Value) object.Problem {
	if len(u.Path) == 0 {
		return invalid(o, u.Err.Error())
	}
	path, text := object.JoinField(u.Path), u.Err.Error()
	value := object.Value{Is: u.Value}
	switch u.Value.(type) {
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
		if match[2] == "" && (len(u.Types) > 1 || strings.ContainsAny(wants, ".[")) { // a Go type says less than these
			wants = cmp.Or(strings.Join(u.Types, " or "), wants)
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
	return object.NewProblem(o, path, value, fmt.Sprintf("%s: Invalid value: %s: %s", path, abbreviated(u.Value), text))
}

// abbreviated is a value as JSON, or the beginning of it.
func abbreviated(value any) string {
	encoded, _ := json.Marshal(value) // it was JSON
	if runes := []rune(string(encoded)); len(runes) > 60 {
		return string(runes[:60]) + "..."
	}
	return string(encoded)
}
