package verdict

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/render/verdict/problem"
)

// decode decodes an object of a built-in kind, or returns the problems of its unknown fields and of
// values with a wrong type.
func decode(o manifest.Object, served apiserver.Kind) (kind.Object, []manifest.Problem) {
	if problems := misfitProblems(o, o.Object, served.Type, served); len(problems) > 0 {
		return nil, problems
	}
	decoded, err := served.Decode(o.Object)
	if err != nil { // a type that decodes itself
		return nil, []manifest.Problem{problem.OfObject(o, err.Error())}
	}
	return decoded, nil
}

// misfitProblems returns the problems of values in content of an object that do not fit a Go type of
// a kind.
func misfitProblems(o manifest.Object, content map[string]any, t reflect.Type,
	kind apiserver.Kind) (problems []manifest.Problem) {
	var options decoding.Options
	later := kind.LaterField()
	if later != nil {
		options.IsKnown = func(t reflect.Type, field string) bool { return later(t, field) == "" }
	}
	for _, m := range decoding.Find(content, t, options) {
		if !m.Unknown {
			problems = append(problems, misfitProblem(o, m))
			continue
		}
		var hint string
		field := m.Path[len(m.Path)-1]
		if later != nil {
			hint = later(m.Struct, field)
		}
		if !kind.DropsField(m.Struct, field) {
			problems = append(problems, problem.UnknownField(o, manifest.JoinField(m.Path), m.Siblings, hint))
		}
	}
	return problems
}

// misfitProblem returns the problem of a value that does not fit its place in an object.
func misfitProblem(o manifest.Object, m decoding.Misfit) manifest.Problem {
	path := manifest.JoinField(m.Path)
	is := decoding.TypeOf(m.Value)
	value := manifest.Value{Is: m.Value}
	shown := abbreviated(m.Value)
	switch m.Value.(type) {
	case map[string]any, []any:
		value = manifest.Value{Type: is}
	}
	isSecret := o.GetKind() == "Secret" // its problems show no values
	wants := strings.Join(m.Wants, " or ")
	value.ShouldBeText = wants == "string"
	message := "must be of type " + wants + ", not " + is
	switch {
	case m.Form != "" && isSecret:
		message = m.Form
	case m.Form != "":
		message = "Invalid value: " + shown + ": " + m.Form
	case is == "string" && wants == "object" && !flux.HasVariables(m.Value):
		message += ": write key: value, with a space after the colon"
	case is == "number" && strings.Contains(wants, "int") && !isSecret: // too large, or with a fraction
		message = "must be of type " + wants + ", not " + shown
	}
	return manifest.NewProblem(o, path, value, path+": "+message).As(metav1.CauseTypeTypeInvalid)
}

// abbreviated returns at most the first 60 characters of a value as JSON.
func abbreviated(value any) string {
	encoded := manifest.JSON(value)
	if runes := []rune(encoded); len(runes) > 60 {
		return string(runes[:60]) + "..."
	}
	return encoded
}
