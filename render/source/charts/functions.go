package charts

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
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
	maps.Copy(functions, template.FuncMap{"print": fmt.Sprint, "println": fmt.Sprintln, "printf": fmt.Sprintf, "keys": sortedKeys, "values": sortedValues})
	r.addDates(functions)
	for name, f := range standIns() {
		functions[name] = before(f, func([]reflect.Value) error {
			r.change(name)
			return nil
		})
	}
	for name, sizeOf := range sizes {
		functions[name] = before(functions[name], func(arguments []reflect.Value) error {
			if name == "printf" && address.MatchString(arguments[0].String()) {
				r.change("printing an address")
			}
			return r.take(sizeOf(arguments))
		})
	}
	for _, name := range []string{"env", "expandenv", "fail", "toJson", "mustToJson", "fromJson"} { // of Helm itself, or of none
		delete(functions, name)
	}
	maps.Copy(functions, r.actions())
	return functions
}

// executeName returns the name that a nameTemplate makes.
func executeName(original string) (string, error) {
	r := newRun()
	rewritten, err := r.rewrite("nameTemplate", "", original, nil)
	if err != nil {
		return "", err
	}
	t, err := template.New("nameTemplate").Funcs(r.functions()).Parse(rewritten)
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

var (
	address = regexp.MustCompile(`%[^a-zA-Z%]*p`)
	wide    = regexp.MustCompile(`%[^a-zA-Z%]*(\d{4}|\*)`)
)

// sizes are upper bounds of the work and results of functions that make much of little. Others are counted by their results.
var sizes = map[string]func(a []reflect.Value) int{
	"repeat": product, "indent": product, "nindent": product, "join": product,
	"print": product, "println": product, "cat": product, "quote": product, "squote": product, "toString": product, "toStrings": product,
	"replace": productOfLast, "wrapWith": productOfLast, "until": rangeSize, "untilStep": rangeSize, "seq": rangeSize, "split": splitSize, "splitList": splitSize,
	"printf": func(a []reflect.Value) int {
		each := 1_000 + extent(a[1])
		if wide.MatchString(a[0].String()) {
			each += 1_000_000 // the limit of fmt
		}
		return strings.Count(a[0].String(), "%") * each
	},
	"regexMatch": matchSize, "mustRegexMatch": matchSize, "regexFind": matchSize, "mustRegexFind": matchSize,
	"regexFindAll": matchSize, "mustRegexFindAll": matchSize, "regexSplit": matchSize, "mustRegexSplit": matchSize,
	"regexReplaceAll": replaceSize, "mustRegexReplaceAll": replaceSize, "regexReplaceAllLiteral": replaceSize, "mustRegexReplaceAllLiteral": replaceSize,
	"derivePassword": func([]reflect.Value) int { return 1 << 24 },
}

// product returns the product of the extents of arguments.
func product(a []reflect.Value) int {
	size := 1
	for _, v := range a {
		size = min(size*(1+extent(v)), maxWork+1)
	}
	return size
}

func productOfLast(a []reflect.Value) int { return product(a[1:]) }

// rangeSize returns the memory of integers between others.
func rangeSize(a []reflect.Value) (size int) {
	for _, v := range a {
		size += 32 * extent(v)
	}
	return size
}

// extent returns the amount of an integer, or the length of the text of another argument.
func extent(v reflect.Value) (size int) {
	switch v.Kind() {
	case reflect.Int:
		size = int(min(max(v.Int(), -v.Int(), 0), maxWork))
	case reflect.String:
		size = v.Len()
	case reflect.Slice:
		for i := range v.Len() {
			size += 1 + extent(v.Index(i))
		}
	default:
		size = len(fmt.Sprint(v.Interface()))
	}
	return size
}

func splitSize(a []reflect.Value) int {
	return 1 << 10 * strings.Count(a[1].String(), a[0].String())
}

// matchSize returns the steps to match a regular expression.
func matchSize(a []reflect.Value) int {
	expression, text := a[0].String(), a[1].String()
	if len(expression) > maxExpression {
		return maxWork
	}
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return 0
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return len(program.Inst) * (1 + len(text))
}

// maxExpression bounds the length of a regular expression.
const maxExpression = 1 << 14

// replaceSize returns the steps to replace matches, each by a text that may have the match for each $.
func replaceSize(a []reflect.Value) int {
	return matchSize(a) + (1+a[1].Len())*(1+a[2].Len())
}
