// Package problem words the errors and warnings of the API server for people.
package problem

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
)

// FromErrors returns the problems of an object with some errors.
func FromErrors(o manifest.Object, errs field.ErrorList) []manifest.Problem {
	problems := make([]manifest.Problem, len(errs))
	for i, err := range errs {
		problems[i] = FromError(o, err)
	}
	return problems
}

// FromError returns the problem of an object with an error.
func FromError(o manifest.Object, err *field.Error) manifest.Problem {
	if err.Field == "" || err.Field == "<nil>" {
		return OfObject(o, err.Detail)
	}
	var value manifest.Value
	switch err.Type {
	case field.ErrorTypeForbidden, field.ErrorTypeRequired: // any value of the field is wrong
	case field.ErrorTypeTypeInvalid:
		value.Type = fmt.Sprint(err.BadValue)
		value = describeType(o, err, value)
	default:
		value.Is = err.BadValue
	}
	p := manifest.NewProblem(o, err.Field, value, message(err))
	p.Code = metav1.CauseType(err.Type)
	if err.Type == field.ErrorTypeNotSupported {
		p.Supported = supported(err.Detail)
	}
	return p
}

// supported returns the values in the detail of field.NotSupported, which has them as text only.
func supported(detail string) (values []string) {
	rest, _ := strings.CutPrefix(detail, "supported values: ")
	for {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return values
		}
		value, _ := strconv.Unquote(quoted)
		values = append(values, value)
		rest = strings.TrimPrefix(rest[len(quoted):], ", ")
	}
}

// wrongType matches the error of a custom kind for a value of another type: the type of Go, or nothing.
var wrongType = regexp.MustCompile(`(must be of type \w+): "\w*"$`)

// describeType makes an error of a custom kind name the type of the value, or the number, as for
// built-in kinds. It returns the value, known by default, that the error is about.
func describeType(o manifest.Object, err *field.Error, known manifest.Value) manifest.Value {
	match := wrongType.FindStringSubmatch(err.Detail)
	is := decoding.At(o.Object, manifest.SplitField(err.Field))
	if match == nil || is == nil {
		return known
	}
	shouldBeText := match[1] == "must be of type string"
	if number, ok := is.(float64); ok {
		err.Detail = match[1] + ", not " + manifest.JSON(number)
		return manifest.Value{Is: number, ShouldBeText: shouldBeText}
	}
	t := decoding.TypeOf(is)
	if t == "bool" {
		t = "boolean" // as in the schema
	}
	err.Detail = match[1] + ", not " + t
	return manifest.Value{Type: t, ShouldBeText: shouldBeText}
}

// OfObject returns a problem of an object as a whole.
func OfObject(o manifest.Object, message string) manifest.Problem {
	return manifest.NewProblem(o, "", manifest.Value{}, message).As(manifest.InvalidObject)
}

var (
	// warnedPath matches the path of a field at the start of a warning.
	warnedPath       = regexp.MustCompile(`^[a-z][A-Za-z0-9]*(?:\.[A-Za-z0-9]+|\[[^\]]*\])*(:? |$)`)
	warnedAnnotation = regexp.MustCompile(`^annotation "?([^" ]+)`)
)

// FromWarning returns the problem of an object with a warning of the API server.
func FromWarning(o manifest.Object, text string) manifest.Problem {
	p := manifest.NewProblem(o, warnedField(o, text), manifest.Value{}, text).As(manifest.APIWarning)
	p.Warning = true
	return p
}

// warnedField returns the field that a warning names; empty if it names none of the object.
func warnedField(o manifest.Object, text string) string {
	if match := warnedAnnotation.FindStringSubmatch(text); match != nil {
		return "metadata.annotations[" + match[1] + "]"
	}
	path := strings.TrimRight(warnedPath.FindString(text), ": ")
	keys := manifest.SplitField(path)
	if len(keys) == 0 || o.Object[keys[0]] == nil {
		return ""
	}
	return path
}

// mostSiblings bounds how many fields a message suggests.
const mostSiblings = 20

// UnknownField returns the problem of a field that is not a known one. The hint, such as the version
// of Kubernetes with the field, takes the place of a suggestion.
func UnknownField(o manifest.Object, path string, known []string, hint string) manifest.Problem {
	if strings.HasSuffix("."+path, ".") { // the key is empty
		path = strings.TrimSuffix(path, ".") + "[]"
	}
	keys := manifest.SplitField(path)
	suggestion := manifest.DidYouMean(keys[len(keys)-1], known)
	if hint != "" {
		suggestion = ": " + hint
	} else if suggestion == "" && 0 < len(known) && len(known) <= mostSiblings {
		slices.Sort(known)
		suggestion = ": write one of " + strings.Join(known, ", ")
	}
	p := manifest.NewProblem(o, path, manifest.Value{}, fmt.Sprintf("unknown field %q%s", path, suggestion))
	p.Code = manifest.FieldUnknown
	return p
}

// simpler has a text for people for each part of a message that is a pattern for programs.
var simpler = []struct{ part, text string }{
	{"must be of type date-time", decoding.TimeForm},
	{decoding.TimeForm, decoding.TimeForm}, // a rule of At
	{"T[0-9]{2}:[0-9]{2}:[0-9]{2}", decoding.TimeForm},
	{"([KMGTPE]i)|[numkMGTPE]", decoding.QuantityForm},
}

// expression matches the regular expression in the description of a name or a label.
var expression = regexp.MustCompile(`,? *regex used for validation is '[^']*'`)

// message returns the text of an error for people.
func message(err *field.Error) string {
	err.Detail = strings.ReplaceAll(err.Detail, err.Field+" in body ", "")
	err.Detail = expression.ReplaceAllString(err.Detail, "") // the sentence before it says the same
	value := reflect.ValueOf(err.BadValue)
	for value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	for _, s := range simpler {
		if strings.Contains(err.Detail, s.part) {
			if s.text == decoding.TimeForm {
				s.text = decoding.WrongTime(value)
			}
			return field.Invalid(field.NewPath(err.Field), err.BadValue, s.text).Error()
		}
	}
	switch kind := value.Kind(); {
	case kind == reflect.Struct && err.Detail == "": // the struct would be printed as Go
		return err.Field + ": " + err.Type.String()
	case kind == reflect.Struct, err.Type == field.ErrorTypeTypeInvalid: // the value is the name of a type
		return err.Field + ": " + err.Detail
	case err.Type != field.ErrorTypeDuplicate &&
		(kind == reflect.Map || kind == reflect.Slice || kind == reflect.Array): // too long a value
		return err.Field + ": " + err.Detail
	}
	return err.Error()
}
