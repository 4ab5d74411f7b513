package check

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/render/object"
)

// problemsOf are the problems that errors of an object are.
func problemsOf(o object.Object, errs field.ErrorList) []object.Problem {
	problems := make([]object.Problem, len(errs))
	for i, err := range errs {
		problems[i] = problemOf(o, err)
	}
	return problems
}

func problemOf(o object.Object, err *field.Error) object.Problem {
	if err.Field == "" || err.Field == "<nil>" { // the object itself
		return invalid(o, err.Detail)
	}
	if text, ok := err.BadValue.(string); ok {
		err.BadValue = object.AsWritten(text)
	}
	var value object.Value
	switch err.Type {
	case field.ErrorTypeForbidden, field.ErrorTypeRequired: // the error is of the field, whatever its value
	case field.ErrorTypeTypeInvalid:
		value.Type = fmt.Sprint(err.BadValue)
	default:
		value.Is = err.BadValue
	}
	return object.NewProblem(o, err.Field, value, message(err))
}

// invalid is a problem with an object as a whole.
func invalid(o object.Object, message string) object.Problem {
	return object.NewProblem(o, "", object.Value{}, message)
}

// fieldOfWarning matches the field that a warning of the API server begins with, and the
// annotation that one is about.
var (
	fieldOfWarning      = regexp.MustCompile(`^[a-z][A-Za-z0-9]*(?:\.[A-Za-z0-9]+|\[[^\]]*\])*(:? |$)`)
	annotationOfWarning = regexp.MustCompile(`^annotation "?([^" ]+)`)
)

// warningOf is what the API server warns about.
func warningOf(o object.Object, text string) object.Problem {
	p := object.NewProblem(o, warnedField(o, text), object.Value{}, text)
	p.Warning = true
	return p
}

// warnedField is the field of an object that a warning is about; empty where it does not
// say.
func warnedField(o object.Object, text string) string {
	if match := annotationOfWarning.FindStringSubmatch(text); match != nil {
		return "metadata.annotations[" + match[1] + "]"
	}
	path := strings.TrimRight(fieldOfWarning.FindString(text), ": ")
	keys := object.SplitField(path)
	if len(keys) == 0 || o.Object[keys[0]] == nil {
		return ""
	}
	return path
}

// mostSiblings are as many fields as people read to find the one that they meant.
const mostSiblings = 20

// unknownFieldProblem is the problem of a field that is none of those known.
func unknownFieldProblem(o object.Object, path string, known []string) object.Problem {
	keys := object.SplitField(path)
	hint := object.DidYouMean(keys[len(keys)-1], known)
	if hint == "" && 0 < len(known) && len(known) <= mostSiblings {
		slices.Sort(known)
		hint = ": write one of " + strings.Join(known, ", ")
	}
	return object.NewProblem(o, path, object.Value{}, fmt.Sprintf("unknown field %q%s", path, hint))
}

// forPeople has, for a part of a message that speaks to programs, what to say to
// people instead.
var forPeople = []struct{ part, instead string }{
	{"must be of type date-time", "must be an RFC 3339 time, like 2026-01-31T09:00:00Z or 2026-01-31T10:00:00+01:00"},
	{"T[0-9]{2}:[0-9]{2}:[0-9]{2}", "must be an RFC 3339 time, like 2026-01-31T09:00:00Z or 2026-01-31T10:00:00+01:00"},
	{"([KMGTPE]i)|[numkMGTPE]", "must be a quantity, like 64Mi or 500m"},
}

// message is an error as a person reads it, without what is in its position.
func message(err *field.Error) string {
	err.Detail = strings.ReplaceAll(err.Detail, err.Field+" in body ", "")
	for _, m := range forPeople {
		if strings.Contains(err.Detail, m.part) {
			return field.Invalid(field.NewPath(err.Field), err.BadValue, m.instead).Error()
		}
	}
	switch kind := reflectedKind(err.BadValue); {
	case kind == reflect.Struct && err.Detail == "": // which prints as Go
		return err.Field + ": " + err.Type.String()
	case kind == reflect.Struct, isCompound(kind) && err.Type != field.ErrorTypeDuplicate: // too much to say again
		return err.Field + ": " + err.Detail
	}
	if err.Type == field.ErrorTypeTypeInvalid {
		return err.Field + ": " + err.Detail // what it calls the value is its type
	}
	return err.Error()
}

// reflectedKind is the kind of what a value is or points to.
func reflectedKind(value any) reflect.Kind {
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v.Kind()
}

// isCompound says whether values of a kind have others in them.
func isCompound(kind reflect.Kind) bool {
	return kind == reflect.Map || kind == reflect.Slice || kind == reflect.Array
}
