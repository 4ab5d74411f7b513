package charts

import (
	"bytes"
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
)

// refused are the functions whose result depends on more than their arguments.
var refused = []string{
	"randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes", "randInt", "shuffle", "uuidv4", "now", "ago",
	"genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey",
	"htpasswd", "bcrypt", "encryptAES", "getHostByName",
}

// errChanging is the error of a refused function.
var errChanging = errors.New("makes another value on each run")

// functions returns functions in the place of the functions of Helm. They return the same, or else an
// error or, for a chart that a controller installs, the same value on each run.
func (m *meter) functions(isInstalled bool) template.FuncMap {
	functions := template.FuncMap{}
	for name, f := range sprig.TxtFuncMap() {
		functions[name] = f
	}
	for _, helms := range []string{"env", "expandenv", "fail", "toJson", "mustToJson", "fromJson"} {
		delete(functions, helms)
	}
	maps.Copy(functions, template.FuncMap{"print": fmt.Sprint, "println": fmt.Sprintln, "printf": fmt.Sprintf})
	maps.Copy(functions, template.FuncMap{"keys": sortedKeys, "values": sortedValues})
	addDates(functions)
	for name, f := range functions {
		functions[name] = m.limit(name, reflect.ValueOf(f))
	}
	for _, name := range refused {
		functions[name] = func(...any) (string, error) { return "", fmt.Errorf("%s %w", name, errChanging) }
	}
	if isInstalled {
		maps.Copy(functions, standIns())
	}
	maps.Copy(functions, template.FuncMap{"gatehouseEnter": m.enter, "gatehouseLeave": m.leave, "gatehouseRound": m.round, "gatehouseText": m.text})
	return functions
}

// executeName returns the name that a nameTemplate makes.
func executeName(text string) (string, error) {
	t, err := template.New("nameTemplate").Funcs(newMeter().functions(false)).Parse(instrument(text))
	if err != nil {
		return "", err
	}
	var name bytes.Buffer
	err = t.Execute(&name, nil)
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
func sortedValues(m map[string]any) (values []any) {
	values = make([]any, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		values = append(values, m[key])
	}
	return values
}

// addDates replaces the functions that take the zone of this machine, or its clock in place of a time.
func addDates(functions template.FuncMap) {
	inZone := functions["dateInZone"].(func(string, any, string) string)
	zoned := func(layout string, date any, zone string) (string, error) {
		switch date.(type) {
		case time.Time, *time.Time, int, int32, int64:
		default:
			return "", fmt.Errorf("a date that is no time: %w", errChanging)
		}
		if zone == "Local" {
			zone = "UTC"
		}
		return inZone(layout, date, zone), nil
	}
	day := func(date any) (string, error) { return zoned(time.DateOnly, date, "UTC") }
	parse := func(layout, text string) (time.Time, error) { return time.ParseInLocation(layout, text, time.UTC) }
	round := functions["durationRound"].(func(any) string)
	maps.Copy(functions, template.FuncMap{
		"date": func(layout string, date any) (string, error) { return zoned(layout, date, "UTC") }, "htmlDate": day,
		"dateInZone": zoned, "date_in_zone": zoned, "mustToDate": parse,
		"htmlDateInZone": func(date any, zone string) (string, error) { return zoned(time.DateOnly, date, zone) },
		"toDate":         func(layout, text string) time.Time { t, _ := parse(layout, text); return t },
		"durationRound": func(duration any) (string, error) {
			if _, is := duration.(time.Time); is {
				return "", fmt.Errorf("durationRound of a time %w", errChanging)
			}
			return round(duration), nil
		},
	})
}

// A text that a function returns may have maxText bytes, a list or map maxItems items, items of items
// included.
const (
	maxText  = 16 << 20
	maxItems = 1 << 20
)

var errLarge = errors.New("makes too large a text or list: write less")

// limit returns a function that fails for a large result.
func (m *meter) limit(name string, f reflect.Value) any {
	t := f.Type()
	in, out := make([]reflect.Type, t.NumIn()), []reflect.Type{t.Out(0), reflect.TypeFor[error]()}
	for i := range in {
		in[i] = t.In(i)
	}
	return reflect.MakeFunc(reflect.FuncOf(in, out, t.IsVariadic()), func(arguments []reflect.Value) []reflect.Value {
		err := m.take(resultSize(name, arguments))
		if err != nil {
			return []reflect.Value{reflect.Zero(out[0]), reflect.ValueOf(&err).Elem()}
		}
		call := f.Call
		if t.IsVariadic() {
			call = f.CallSlice
		}
		results := call(arguments)
		if len(results) > 1 {
			err, _ = results[1].Interface().(error)
		}
		if size := sizeOf(results[0], maxItems); err == nil {
			m.largest = max(m.largest, size)
			if err = m.take(size); size > maxText {
				err = errLarge
			}
		}
		return []reflect.Value{results[0], reflect.ValueOf(&err).Elem()}
	}).Interface()
}

// resultSize returns an upper bound of the result of a function whose arguments multiply; else 32. Many
// calls that are small together are bounded by the work of their results.
func resultSize(name string, arguments []reflect.Value) int {
	number := func(i int) int { return int(min(max(arguments[i].Int(), -1<<31), 1<<31)) }
	length := func(i int) int { return len(arguments[i].String()) }
	switch name {
	case "repeat":
		return number(0) * length(1)
	case "indent", "nindent":
		return max(0, number(0)) * (1 + strings.Count(arguments[1].String(), "\n"))
	case "until":
		return 16 * max(number(0), -number(0))
	case "untilStep":
		if step := number(2); step != 0 {
			return 16 * max(0, (number(1)-number(0))/step)
		}
	case "replace":
		return strings.Count(arguments[2].String(), arguments[0].String()) * length(1)
	case "wrapWith":
		return length(1) * length(2)
	case "regexReplaceAll", "mustRegexReplaceAll", "regexReplaceAllLiteral", "mustRegexReplaceAllLiteral":
		if expression, err := regexp.Compile(arguments[0].String()); err == nil {
			return len(expression.FindAllStringIndex(arguments[1].String(), -1)) * (1 + length(2) + strings.Count(arguments[2].String(), "$")*length(1))
		}
	case "join":
		if list := arguments[1]; list.Kind() == reflect.Interface && list.Elem().Kind() == reflect.Slice {
			return list.Elem().Len() * length(0)
		}
	case "seq":
		widest := 0
		for i := range arguments[0].Len() {
			widest = max(widest, int(min(max(arguments[0].Index(i).Int(), -arguments[0].Index(i).Int()), 1<<31)))
		}
		return 16 * widest
	case "derivePassword":
		return 1 << 22
	}
	return 32
}

// sizeOf returns the size of a value, at most about limit unless it is a text. A map within itself
// counts once on each path.
func sizeOf(v reflect.Value, limit int) int {
	left, isOpen := limit, map[uintptr]bool{}
	var visit func(v reflect.Value)
	visit = func(v reflect.Value) {
		for v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		if left--; left <= 0 {
			return
		}
		switch v.Kind() {
		case reflect.Map:
			if isOpen[v.Pointer()] {
				return
			}
			isOpen[v.Pointer()] = true
			for entries := v.MapRange(); left > 0 && entries.Next(); {
				visit(entries.Value())
			}
			delete(isOpen, v.Pointer())
		case reflect.Slice:
			for i := 0; left > 0 && i < v.Len() && v.Type().Elem().Kind() != reflect.Uint8; i++ {
				visit(v.Index(i))
			}
		}
	}
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Map, reflect.Slice:
		if visit(v); left <= 0 {
			return maxText + 1
		}
	}
	return 32
}
