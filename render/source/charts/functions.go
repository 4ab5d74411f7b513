package charts

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
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
			return r.take(max(0, sizeOf(arguments)))
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
	width   = regexp.MustCompile(`%[^a-zA-Z%]*`)
	number  = regexp.MustCompile(`\d+|\*`)
)

// sizes are upper bounds of the work and results of functions that make much of little. Others are counted by their results.
var sizes = map[string]func(a []reflect.Value) int{
	"repeat":  func(a []reflect.Value) int { return integer(a[0]) * a[1].Len() },
	"indent":  indentSize,
	"nindent": indentSize,
	"until":   func(a []reflect.Value) int { return 16 * max(integer(a[0]), -integer(a[0])) },
	"untilStep": func(a []reflect.Value) int {
		return 16 * ((integer(a[1]) - integer(a[0])) / cmp.Or(integer(a[2]), 1))
	},
	"seq": func(a []reflect.Value) (size int) {
		for i := range a[0].Len() {
			size = max(size, 32*integer(a[0].Index(i)), -32*integer(a[0].Index(i)))
		}
		return size
	},
	"replace":   func(a []reflect.Value) int { return strings.Count(a[2].String(), a[0].String()) * a[1].Len() },
	"wrapWith":  func(a []reflect.Value) int { return a[1].Len() * a[2].Len() },
	"split":     splitSize,
	"splitList": splitSize,
	"join":      func(a []reflect.Value) int { return a[0].Len() * listLength(a[1]) },
	"printf": func(a []reflect.Value) int {
		verbs := width.FindAllString(a[0].String(), -1)
		size := len(verbs) * printedSize(a[1:])
		for _, n := range number.FindAllString(strings.Join(verbs, " "), -1) {
			if wide, err := strconv.Atoi(n); err == nil {
				size += min(wide, 1_000_000) // as fmt
			} else {
				size += 1_000_000
			}
		}
		return size
	},
	"print": printedSize, "println": printedSize, "cat": printedSize, "quote": printedSize, "squote": printedSize, "toString": printedSize, "toStrings": printedSize,
	"regexMatch": matchSize, "mustRegexMatch": matchSize, "regexFind": matchSize, "mustRegexFind": matchSize,
	"regexFindAll": matchSize, "mustRegexFindAll": matchSize, "regexSplit": matchSize, "mustRegexSplit": matchSize,
	"regexReplaceAll": replaceSize, "mustRegexReplaceAll": replaceSize, "regexReplaceAllLiteral": replaceSize, "mustRegexReplaceAllLiteral": replaceSize,
	"derivePassword": func([]reflect.Value) int { return 1 << 24 },
}

// integer returns an integer that may be multiplied.
func integer(v reflect.Value) int { return int(min(max(v.Int(), -1<<31), 1<<31)) }

func indentSize(a []reflect.Value) int {
	return integer(a[0]) * (1 + strings.Count(a[1].String(), "\n"))
}

func splitSize(a []reflect.Value) int {
	return 1 << 10 * strings.Count(a[1].String(), a[0].String())
}

func listLength(v reflect.Value) int {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.Kind() != reflect.Slice {
		return 0
	}
	return v.Len()
}

// printedSize returns the size of printed arguments.
func printedSize(a []reflect.Value) (size int) {
	for _, v := range a {
		if v.IsValid() {
			size += len(fmt.Sprint(v.Interface()))
		}
	}
	return size
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

func replaceSize(a []reflect.Value) int {
	size := matchSize(a)
	expression, err := regexp.Compile(a[0].String())
	if size >= maxWork || err != nil {
		return size
	}
	for _, match := range expression.FindAllStringIndex(a[1].String(), -1) {
		size += a[2].Len() + strings.Count(a[2].String(), "$")*(match[1]-match[0])
	}
	return size
}
