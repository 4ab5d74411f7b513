package templates

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Most bounds the arguments of a function, and its result, in bytes. The system may refuse the memory for more before
// the watchdog sees it, and no object of Kubernetes has such a text.
const Most = 32 << 20

// ErrLarge is the error of a function that would make more.
var ErrLarge = fmt.Errorf("makes over %d MiB at once: write less", Most>>20)

const (
	item   = 16        // bytes of an item of a list
	number = 32        // bytes of a number in a list and in a text
	widest = 1_000_000 // spaces that fmt writes for a width
)

// A bound of the result of a function, by its arguments.
type bound func(arguments []reflect.Value) float64

// bounds are of the functions whose result may be many times their arguments.
var bounds = map[string]bound{
	"repeat": func(a []reflect.Value) float64 { return integer(a[0]) * length(a[1]) },
	"indent": indented, "nindent": indented,
	"replace": func(a []reflect.Value) float64 { return length(a[2]) + count(a[2], a[0].String())*length(a[1]) },
	"join": func(a []reflect.Value) float64 {
		return sizes{}.of(a[1]) + shallow(a[1])/item*length(a[0])
	},
	"wrapWith": func(a []reflect.Value) float64 {
		return length(a[2]) + (1+2*length(a[2])/max(1, integer(a[0])))*length(a[1])
	},
	"until":     func(a []reflect.Value) float64 { return steps(0, integer(a[0]), 1) },
	"untilStep": func(a []reflect.Value) float64 { return steps(integer(a[0]), integer(a[1]), integer(a[2])) },
	"seq": func(a []reflect.Value) float64 {
		switch n := a[0]; n.Len() {
		case 1:
			return steps(1, integer(n.Index(0)), 1)
		case 2:
			return steps(integer(n.Index(0)), integer(n.Index(1)), 1)
		case 3:
			return steps(integer(n.Index(0)), integer(n.Index(2)), integer(n.Index(1)))
		}
		return 0
	},
	"printf":          printed,
	"regexReplaceAll": replaced, "mustRegexReplaceAll": replaced,
	"regexReplaceAllLiteral": replaced, "mustRegexReplaceAllLiteral": replaced,
	"randAlphaNum": characters, "randAlpha": characters, "randAscii": characters, "randNumeric": characters,
}

// boundOf returns the check of a function before it is called.
func boundOf(name string, t reflect.Type) func(arguments []reflect.Value) error {
	made, isKnown := bounds[name]
	if !isKnown {
		made = given(name, t)
	}
	return func(arguments []reflect.Value) error { return check(made(arguments)) }
}

// Check returns an error if the text of a value would be too large: a part may be in it many times.
func Check(value reflect.Value) error { return check(sizes{}.of(value)) }

func check(size float64) error {
	if size > Most {
		return ErrLarge
	}
	return nil
}

// copying are functions that copy all below their arguments, as all do that return a text.
var copying = []string{"deepCopy", "mustDeepCopy", "merge", "mustMerge", "mergeOverwrite", "mustMergeOverwrite",
	"toStrings", "sortAlpha"}

// given bounds the result of any other function by the size of its arguments, but for a small factor.
func given(name string, t reflect.Type) bound {
	of := shallow
	if t.Out(0).Kind() == reflect.String && name != "kindOf" && name != "typeOf" || slices.Contains(copying, name) {
		of = func(v reflect.Value) float64 { return sizes{}.of(v) }
	}
	return func(arguments []reflect.Value) (size float64) {
		last := len(arguments) - 1
		for i, a := range arguments {
			if i < last || !t.IsVariadic() {
				size += of(a)
				continue
			}
			for j := range a.Len() {
				size += of(a.Index(j))
			}
		}
		return size
	}
}

// shallow returns the size of a text or of a list, without what is in its items.
func shallow(v reflect.Value) float64 {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		return length(v)
	case reflect.Slice, reflect.Map:
		return item * length(v)
	}
	return 0
}

func length(v reflect.Value) float64 { return float64(v.Len()) }

func integer(v reflect.Value) float64 { return float64(v.Int()) }

func count(v reflect.Value, part string) float64 { return float64(strings.Count(v.String(), part)) }

func characters(a []reflect.Value) float64 { return integer(a[0]) }

func indented(a []reflect.Value) float64 { return length(a[1]) + integer(a[0])*(1+count(a[1], "\n")) }

// steps bounds a list of numbers. One whose last step overflows has no end.
func steps(from, to, step float64) float64 {
	if math.Abs(to)+math.Abs(step) >= math.MaxInt64 {
		return math.Inf(1)
	}
	return number * math.Abs(to-from) / max(1, math.Abs(step))
}

// replaced bounds a text with a replacement for each match of a pattern.
func replaced(a []reflect.Value) float64 {
	pattern, err := regexp.Compile(a[0].String())
	if err != nil || a[2].Len() == 0 {
		return length(a[1])
	}
	matches := len(pattern.FindAllStringIndex(a[1].String(), Most/a[2].Len()+1))
	return length(a[1])*(1+count(a[2], "$")) + float64(matches)*length(a[2])
}

var verb = regexp.MustCompile(`%[-+# 0]*(?:\[\d*\])?(\*|\d*)(?:\.(?:\[\d*\])?(\*|\d*))?`)

// printed bounds a text that printf makes: it may pad each part of a value, and print a value many times.
func printed(a []reflect.Value) float64 {
	values := sizes{}.of(a[1])
	padding := 0.0
	times := 1.0
	for rest := a[0].String(); strings.Contains(rest, "%") && padding < Most; times++ {
		match := verb.FindStringSubmatch(rest)
		for _, width := range match[1:] {
			if n, _ := strconv.Atoi(strings.ReplaceAll(width, "*", strconv.Itoa(widest))); n <= widest {
				padding += float64(n)
			}
		}
		_, rest, _ = strings.Cut(rest, match[0])
	}
	if count(a[0], "[") == 0 { // each value is printed once
		times = 1
	}
	return length(a[0]) + times*values + padding*values/item
}

// sizes are the sizes of values in another one, by their place in memory.
type sizes map[place]float64

type place struct {
	kind    reflect.Kind
	address uintptr
	length  int
}

// of bounds the text of a value. One that is in itself has no bound.
func (s sizes) of(v reflect.Value) (size float64) {
	var at place
	switch v.Kind() {
	case reflect.Interface:
		return s.of(v.Elem())
	case reflect.Slice, reflect.Map:
		at = place{v.Kind(), v.Pointer(), v.Len()}
	case reflect.Pointer:
		at = place{v.Kind(), v.Pointer(), 0}
	}
	if known, isKnown := s[at]; isKnown {
		return known
	}
	if at.address != 0 {
		s[at] = math.Inf(1)
		defer func() { s[at] = size }()
	}
	return item + s.below(v)
}

// below bounds the text of all that is in a value.
func (s sizes) below(v reflect.Value) (size float64) {
	switch v.Kind() {
	case reflect.String:
		return length(v)
	case reflect.Pointer:
		return s.of(v.Elem())
	case reflect.Map:
		for entry := v.MapRange(); entry.Next(); {
			size += s.of(entry.Key()) + s.of(entry.Value())
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return item * length(v)
		}
		for i := range v.Len() {
			size += s.of(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			size += s.of(v.Field(i))
		}
	}
	return size
}
