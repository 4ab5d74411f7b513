package verdict

import (
	"encoding/json"
	"reflect"
	"strings"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
)

// decode returns an object as the API server has it, or the fields that the API server does
// not know and the values that it cannot read.
func decode(o manifest.Object, served apiserver.Kind) (kind.Object, []manifest.Problem) {
	if problems := misfitProblems(o, o.Object, served.Type, served); len(problems) > 0 {
		return nil, problems
	}
	decoded, err := served.Decode(o.Object)
	if err != nil { // in a type that decodes itself
		return nil, []manifest.Problem{invalid(o, err.Error())}
	}
	return decoded, nil
}

// misfitProblems returns the problems of the values in content, of an object, that do not fit a
// Go type of a kind.
func misfitProblems(o manifest.Object, content map[string]any, t reflect.Type, of apiserver.Kind) (problems []manifest.Problem) {
	var options decoding.Options
	later := of.LaterField()
	if later != nil {
		options.IsKnown = func(t reflect.Type, field string) bool { return later(t, field) == "" }
	}
	for _, m := range decoding.Find(content, t, options) {
		if !m.Unknown {
			problems = append(problems, misfitProblem(o, m))
			continue
		}
		var why string
		field := m.Path[len(m.Path)-1]
		if later != nil {
			why = later(m.Struct, field)
		}
		if !of.DropsField(m.Struct, field) {
			problems = append(problems, unknownFieldProblem(o, manifest.JoinField(m.Path), m.Siblings, why))
		}
	}
	return problems
}

// misfitProblem returns the problem of a value that does not fit its place in an object.
func misfitProblem(o manifest.Object, m decoding.Misfit) manifest.Problem {
	path := manifest.JoinField(m.Path)
	is := decoding.TypeOf(m.Value)
	value, shown := manifest.Value{Is: m.Value}, abbreviated(m.Value)
	switch m.Value.(type) {
	case map[string]any, []any, float64:
		value = manifest.Value{Type: is}
	}
	isSecret := o.GetKind() == "Secret" // people who read the problem need not know its values
	wants := strings.Join(m.Wants, " or ")
	message := "must be of type " + wants + ", not " + is
	switch {
	case m.Form != "" && isSecret:
		message = m.Form
	case m.Form != "":
		message = "Invalid value: " + shown + ": " + m.Form
	case is == "number" && strings.Contains(wants, "int") && !isSecret: // it is too large, or has a fraction
		message = "must be of type " + wants + ", not " + shown
	}
	return manifest.NewProblem(o, path, value, path+": "+message)
}

// abbreviated returns a value as JSON, or the beginning of it.
func abbreviated(value any) string {
	encoded, _ := json.Marshal(value) // it was JSON
	if runes := []rune(string(encoded)); len(runes) > 60 {
		return string(runes[:60]) + "..."
	}
	return string(encoded)
}
