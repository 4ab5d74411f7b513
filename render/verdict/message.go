package verdict

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
)

// problemsOf returns the errors of an object as problems.
func problemsOf(o manifest.Object, errs field.ErrorList) []manifest.Problem {
	problems := make([]manifest.Problem, len(errs))
	for i, err := range errs {
		problems[i] = problemOf(o, err)
	}
	return problems
}

func problemOf(o manifest.Object, err *field.Error) manifest.Problem {
	if err.Field == "" || err.Field == "<nil>" { // the object itself
		return invalid(o, err.Detail)
	}
	var value manifest.Value
	switch err.Type {
	case field.ErrorTypeForbidden, field.ErrorTypeRequired: // the error is of the field, whatever its value
	case field.ErrorTypeTypeInvalid:
		value.Type = fmt.Sprint(err.BadValue)
	default:
		value.Is = err.BadValue
	}
	return manifest.NewProblem(o, err.Field, value, message(err))
}

// invalid returns a problem with an object as a whole.
func invalid(o manifest.Object, message string) manifest.Problem {
	return manifest.NewProblem(o, "", manifest.Value{}, message)
}

// fieldOfWarning matches the field that a warning of the API server begins with, and the
// annotation that one is about.
var (
	fieldOfWarning      = regexp.MustCompile(`^[a-z][A-Za-z0-9]*(?:\.[A-Za-z0-9]+|\[[^\]]*\])*(:? |$)`)
	annotationOfWarning = regexp.MustCompile(`^annotation "?([^" ]+)`)
)

// warningOf returns a warning of the API server as a problem.
func warningOf(o manifest.Object, text string) manifest.Problem {
	p := manifest.NewProblem(o, warnedField(o, text), manifest.Value{}, text)
	p.Warning = true
	return p
}

// warnedField returns the field of an object that a warning is about; empty where it does not
// say.
func warnedField(o manifest.Object, text string) string {
	if match := annotationOfWarning.FindStringSubmatch(text); match != nil {
		return "metadata.annotations[" + match[1] + "]"
	}
	path := strings.TrimRight(fieldOfWarning.FindString(text), ": ")
	keys := manifest.SplitField(path)
	if len(keys) == 0 || o.Object[keys[0]] == nil {
		return ""
	}
	return path
}

// mostSiblings is how many fields a message lists for people to find the one that they meant.
const mostSiblings = 20

// unknownFieldProblem returns the problem of a field that is not among the known ones; later says
// which version of Kubernetes has it.
func unknownFieldProblem(o manifest.Object, path string, known []string, later string) manifest.Problem {
	keys := manifest.SplitField(path)
	hint := manifest.DidYouMean(keys[len(keys)-1], known)
	if later != "" {
		hint = ": " + later
	} else if hint == "" && 0 < len(known) && len(known) <= mostSiblings {
		slices.Sort(known)
		hint = ": write one of " + strings.Join(known, ", ")
	}
	return manifest.NewProblem(o, path, manifest.Value{}, fmt.Sprintf("unknown field %q%s", path, hint))
}

// forPeople has, for a part of a message that speaks to programs, what to say to
// people instead.
var forPeople = []struct{ part, instead string }{
	{"must be of type date-time", decoding.TimeForm},
	{"T[0-9]{2}:[0-9]{2}:[0-9]{2}", decoding.TimeForm},
	{"([KMGTPE]i)|[numkMGTPE]", decoding.QuantityForm},
}

// message returns the text of an error for people.
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

// reflectedKind returns the kind of a value, or of the value that it points to.
func reflectedKind(value any) reflect.Kind {
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v.Kind()
}

// isCompound reports whether values of a kind have others in them.
func isCompound(kind reflect.Kind) bool {
	return kind == reflect.Map || kind == reflect.Slice || kind == reflect.Array
}
