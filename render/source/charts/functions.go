package charts

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
)

// errChanging is the error of a function whose result depends on more than its arguments.
var errChanging = errors.New("makes another value on each run")

// functions returns functions in the place of the functions of Helm. They return the same, or a stand-in for a result
// that changes.
func (r *run) functions() template.FuncMap {
	functions := sprig.TxtFuncMap()
	maps.Copy(functions, template.FuncMap{"print": fmt.Sprint, "println": fmt.Sprintln, "printf": fmt.Sprintf,
		"keys": sortedKeys, "values": sortedValues})
	r.addDates(functions)
	others := standIns(true)
	for name, f := range standIns(false) {
		functions[name] = either(f, others[name], func() bool {
			r.change(name)
			return r.isOther()
		})
	}
	functions["printf"] = before(functions["printf"], func(arguments []reflect.Value) error {
		if address.MatchString(arguments[0].String()) {
			r.change("printing an address")
		}
		return nil
	})
	functions["lookup"] = func(_, _, _, _ string) map[string]any {
		r.hasAsked = true
		return map[string]any{}
	}
	for _, name := range []string{"repeat", "indent", "nindent", "replace"} {
		functions[name] = before(functions[name], checkSize)
	}
	for _, name := range []string{"env", "expandenv", "fail", "toJson", "mustToJson", "fromJson"} {
		// of Helm itself, or of none
		delete(functions, name)
	}
	maps.Copy(functions, r.actions())
	return functions
}

// executeName returns the name that a nameTemplate makes.
func executeName(original string) (string, error) {
	r := newRun()
	t, err := template.New("nameTemplate").Funcs(r.functions()).Parse(r.rewrite("nameTemplate", "", original, nil))
	if err != nil {
		return "", err
	}
	var name bytes.Buffer
	if err = t.Execute(&name, nil); err == nil && len(r.changing) > 0 {
		err = fmt.Errorf("%s %w", r.changing[0].function, errChanging)
	}
	return name.String(), err
}

// sortedKeys returns the keys of maps. Helm returns them in random order.
func sortedKeys(all ...map[string]any) []string {
	keys := make([]string, 0, len(all))
	for _, m := range all {
		keys = append(keys, slices.Sorted(maps.Keys(m))...)
	}
	return keys
}

// sortedValues returns the values of a map in the order of keys. Helm returns them in random order.
func sortedValues(m map[string]any) []any {
	values := make([]any, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		values = append(values, m[key])
	}
	return values
}

// addDates replaces the functions that take the zone of this machine, or its clock in place of a time.
func (r *run) addDates(functions template.FuncMap) {
	inZone := functions["dateInZone"].(func(string, any, string) string)
	zoned := func(layout string, date any, zone string) string {
		switch date.(type) {
		case time.Time, *time.Time, int, int32, int64:
		default:
			r.change("a date that is no time:")
		}
		if zone == "Local" {
			zone = "UTC"
		}
		return inZone(layout, date, zone)
	}
	parse := func(layout, text string) (time.Time, error) { return time.ParseInLocation(layout, text, time.UTC) }
	round := functions["durationRound"].(func(any) string)
	maps.Copy(functions, template.FuncMap{
		"date":       func(layout string, date any) string { return zoned(layout, date, "UTC") },
		"htmlDate":   func(date any) string { return zoned(time.DateOnly, date, "UTC") },
		"dateInZone": zoned, "date_in_zone": zoned, "mustToDate": parse,
		"htmlDateInZone": func(date any, zone string) string { return zoned(time.DateOnly, date, zone) },
		"toDate":         func(layout, text string) time.Time { t, _ := parse(layout, text); return t },
		"durationRound": func(duration any) string {
			if _, is := duration.(time.Time); is {
				r.change("durationRound of a time")
			}
			return round(duration)
		},
	})
}

// either returns a function that calls the other one if isOther.
func either(f, other any, isOther func() bool) any {
	t := reflect.TypeOf(f)
	return reflect.MakeFunc(t, func(arguments []reflect.Value) []reflect.Value {
		called := reflect.ValueOf(f)
		if isOther() {
			called = reflect.ValueOf(other)
		}
		if t.IsVariadic() {
			return called.CallSlice(arguments)
		}
		return called.Call(arguments)
	}).Interface()
}

// before returns a function that runs a check before another function.
func before(f any, check func(arguments []reflect.Value) error) any {
	t, failure := reflect.TypeOf(f), reflect.TypeFor[error]()
	in := make([]reflect.Type, t.NumIn())
	for i := range in {
		in[i] = t.In(i)
	}
	checked := func(arguments []reflect.Value) []reflect.Value {
		if err := check(arguments); err != nil {
			return []reflect.Value{reflect.Zero(t.Out(0)), reflect.ValueOf(&err).Elem()}
		}
		call := reflect.ValueOf(f).Call
		if t.IsVariadic() {
			call = reflect.ValueOf(f).CallSlice
		}
		return append(call(arguments), reflect.Zero(failure))[:2]
	}
	return reflect.MakeFunc(reflect.FuncOf(in, []reflect.Type{t.Out(0), failure}, t.IsVariadic()), checked).Interface()
}

var address = regexp.MustCompile(`%[^a-zA-Z%]*p`)

// maxText bounds a text that a function makes of little at once, in bytes: the system may refuse the memory for more
// before the watchdog sees it.
const maxText = 1 << 28

var errLarge = errors.New("makes too large a text: write less")

// checkSize returns an error if the product of the last two arguments, numbers or texts, is too large.
func checkSize(arguments []reflect.Value) error {
	size := 1.0
	for _, v := range arguments[len(arguments)-2:] {
		if v.Kind() == reflect.Int {
			size *= float64(v.Int())
		} else {
			size *= float64(1 + v.Len())
		}
	}
	if size > maxText {
		return errLarge
	}
	return nil
}
