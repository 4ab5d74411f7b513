// Package templates has the functions of the Go templates in a repository, of charts and of ApplicationSets: those of
// sprig, without any that reaches the world around a template, and with a bound for the result of each.
package templates

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
	slimsprig "github.com/go-task/slim-sprig/v3"
	"sigs.k8s.io/yaml"
)

// ErrChanging is the error of a function whose result depends on more than its arguments.
var ErrChanging = errors.New("makes another value on each run")

// Functions returns the functions of sprig, and a tool's own ones above them. They return the same, or a stand-in for a
// result that changes: for that they report the change, and ask whether to return another stand-in than usual.
func Functions(own template.FuncMap, change func(function string), isOther func() bool) template.FuncMap {
	functions := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(functions, name)
	}
	return above(functions, own, change, isOther)
}

// above returns functions of a library with a tool's own ones above them, as Functions does.
func above(functions, own template.FuncMap, change func(function string), isOther func() bool) template.FuncMap {
	maps.Copy(functions, template.FuncMap{"print": fmt.Sprint, "println": fmt.Sprintln, "printf": fmt.Sprintf,
		"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
		"keys": sortedKeys, "values": sortedValues})
	replaced := dates(functions, change)
	others := standIns(true)
	for name, f := range standIns(false) {
		replaced[name] = either(f, others[name], func() bool {
			change(name)
			return isOther()
		})
	}
	for name, f := range replaced {
		if functions[name] != nil {
			functions[name] = f
		}
	}
	functions["printf"] = before(functions["printf"], func(arguments []reflect.Value) error {
		if address.MatchString(arguments[0].String()) {
			change("printing an address")
		}
		return nil
	})
	maps.Copy(functions, own)
	for name, f := range functions {
		functions[name] = before(f, boundOf(name, reflect.TypeOf(f)))
	}
	return functions
}

// IsStandIn reports whether a function returns a stand-in.
func IsStandIn(function string) bool { return standIns(false)[function] != nil }

// Maker makes texts by templates with Functions.
type Maker struct {
	base     *template.Template
	changing []string
}

// NewMaker returns a Maker with the options and the delimiters of a template, and with a tool's own functions.
func NewMaker(of *template.Template, own template.FuncMap) *Maker {
	m := &Maker{}
	m.base = of.Funcs(Functions(own, m.change, func() bool { return false }))
	return m
}

// NewHermeticMaker is NewMaker with the functions of slim-sprig that depend on their arguments alone, in place of
// sprig's.
func NewHermeticMaker(of *template.Template, own template.FuncMap) *Maker {
	m := &Maker{}
	m.base = of.Funcs(above(slimsprig.HermeticTxtFuncMap(), own, m.change, func() bool { return false }))
	return m
}

func (m *Maker) change(function string) { m.changing = append(m.changing, function) }

// Make returns the text that a template makes of data. It is an error if another run may make another text.
func (m *Maker) Make(text string, data any) (string, error) {
	t, err := m.base.Clone()
	if err == nil {
		_, err = t.Parse(text)
	}
	m.changing = nil
	var made bounded
	if err == nil {
		err = t.Execute(&made, data)
	}
	if err == nil && len(m.changing) > 0 {
		err = fmt.Errorf("%s %w", m.changing[0], ErrChanging)
	}
	return made.String(), err
}

// ToYAML returns a value as YAML.
func ToYAML(value any) (string, error) {
	content, err := yaml.Marshal(value)
	return strings.TrimSuffix(string(content), "\n"), err
}

// sortedKeys returns the keys of maps. sprig returns them in random order.
func sortedKeys(all ...map[string]any) []string {
	keys := make([]string, 0, len(all))
	for _, m := range all {
		keys = append(keys, slices.Sorted(maps.Keys(m))...)
	}
	return keys
}

// sortedValues returns the values of a map in the order of keys. sprig returns them in random order.
func sortedValues(m map[string]any) []any {
	values := make([]any, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		values = append(values, m[key])
	}
	return values
}

// dates returns functions that neither take the zone of this machine, nor its clock in place of a time.
func dates(functions template.FuncMap, change func(function string)) template.FuncMap {
	inZone, _ := functions["dateInZone"].(func(string, any, string) string) // slim-sprig has it, but not as hermetic
	zoned := func(layout string, date any, zone string) string {
		switch date.(type) {
		case time.Time, *time.Time, int, int32, int64:
		default:
			change("a date that is no time:")
		}
		if zone == "Local" {
			zone = "UTC"
		}
		return inZone(layout, date, zone)
	}
	parse := func(layout, text string) (time.Time, error) { return time.ParseInLocation(layout, text, time.UTC) }
	round := functions["durationRound"].(func(any) string)
	return template.FuncMap{
		"date":       func(layout string, date any) string { return zoned(layout, date, "UTC") },
		"htmlDate":   func(date any) string { return zoned(time.DateOnly, date, "UTC") },
		"dateInZone": zoned, "date_in_zone": zoned, "mustToDate": parse,
		"htmlDateInZone": func(date any, zone string) string { return zoned(time.DateOnly, date, zone) },
		"toDate":         func(layout, text string) time.Time { t, _ := parse(layout, text); return t },
		"durationRound": func(duration any) string {
			if _, is := duration.(time.Time); is {
				change("durationRound of a time")
			}
			return round(duration)
		},
	}
}

// either returns a function that calls the other one if isOther.
func either(f, other any, isOther func() bool) any {
	usual, unusual := caller(f), caller(other)
	return reflect.MakeFunc(reflect.TypeOf(f), func(arguments []reflect.Value) []reflect.Value {
		if isOther() {
			return unusual(arguments)
		}
		return usual(arguments)
	}).Interface()
}

// before returns a function that runs a check before another function.
func before(f any, check func(arguments []reflect.Value) error) any {
	t, failure := reflect.TypeOf(f), reflect.TypeFor[error]()
	call, in := caller(f), slices.Collect(t.Ins())
	checked := func(arguments []reflect.Value) []reflect.Value {
		if err := check(arguments); err != nil {
			return []reflect.Value{reflect.Zero(t.Out(0)), reflect.ValueOf(&err).Elem()}
		}
		return append(call(arguments), reflect.Zero(failure))[:2]
	}
	return reflect.MakeFunc(reflect.FuncOf(in, []reflect.Type{t.Out(0), failure}, t.IsVariadic()), checked).Interface()
}

// caller returns how to call a function, whose last argument is a list if it is variadic.
func caller(f any) func(arguments []reflect.Value) []reflect.Value {
	if v := reflect.ValueOf(f); v.Type().IsVariadic() {
		return v.CallSlice
	}
	return reflect.ValueOf(f).Call
}

var address = regexp.MustCompile(`%[^a-zA-Z%]*p`)

// bounded is a text that ends at a bound.
type bounded struct{ strings.Builder }

// Write implements io.Writer.
func (b *bounded) Write(text []byte) (int, error) {
	if b.Len()+len(text) > Most {
		return 0, ErrLarge
	}
	return b.Builder.Write(text)
}
