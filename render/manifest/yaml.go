package manifest

import (
	"bytes"
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v2"
)

// YAML returns the object the way kustomize writes it: keys sorted, no comments.
func (o Object) YAML() ([]byte, error) {
	// Writing YAML takes the library a fifth of the time of rendering. Values that leave no
	// choice of style are written here, five times as fast, and all others by the library.
	w, _ := yamlWriters.Get().(*yamlWriter)
	defer yamlWriters.Put(w)
	w.out = w.out[:0]
	if len(o.Object) > 0 && w.mapping(o.Object, 0) {
		return bytes.Clone(w.out), nil
	}
	return yaml.Marshal(ordered(o.Object))
}

// ordered returns content with the keys of its mappings in the order in which they are written.
func ordered(content any) any {
	switch content := content.(type) {
	case map[string]any:
		items := make(yaml.MapSlice, 0, len(content))
		for _, key := range sortedKeys(content) {
			items = append(items, yaml.MapItem{Key: key, Value: ordered(content[key])})
		}
		return items
	case []any:
		items := make([]any, len(content))
		for i, item := range content {
			items[i] = ordered(item)
		}
		return items
	}
	return content
}

var yamlWriters = sync.Pool{New: func() any { return &yamlWriter{} }}

// yamlWriter writes block style. Its methods return false for a value that is not plain: then
// out is of no use.
type yamlWriter struct{ out []byte }

// mapping writes a mapping whose first key stands where the last line ends.
func (w *yamlWriter) mapping(m map[string]any, indent int) bool {
	for i, key := range sortedKeys(m) {
		if !isPlainKey(key) {
			return false
		}
		if i > 0 {
			w.spaces(indent)
		}
		w.out = append(append(w.out, key...), ':')
		if !w.value(m[key], indent, indent+len(key)) {
			return false
		}
	}
	return true
}

// value writes the value of a key, in column, of a mapping.
func (w *yamlWriter) value(value any, indent, column int) bool {
	switch value := value.(type) {
	case map[string]any:
		if len(value) > 0 {
			w.out = append(w.out, '\n')
			w.spaces(indent + 2)
			return w.mapping(value, indent+2)
		}
	case []any:
		if len(value) > 0 {
			w.out = append(w.out, '\n')
			w.spaces(indent)
			return w.sequence(value, indent)
		}
	}
	return w.scalar(value, column)
}

// sequence writes a sequence whose first item stands where the last line ends.
func (w *yamlWriter) sequence(items []any, indent int) bool {
	for i, item := range items {
		if i > 0 {
			w.spaces(indent)
		}
		w.out = append(w.out, '-')
		switch item := item.(type) {
		case map[string]any:
			if len(item) == 0 {
				return false
			}
			w.out = append(w.out, ' ')
			if !w.mapping(item, indent+2) {
				return false
			}
		case []any:
			return false
		default:
			if !w.scalar(item, indent) {
				return false
			}
		}
	}
	return true
}

// scalar writes a scalar, or an empty mapping or sequence, and ends the line.
func (w *yamlWriter) scalar(value any, column int) bool {
	w.out = append(w.out, ' ')
	switch value := value.(type) {
	case string:
		return w.text(value, column)
	case int64:
		w.out = strconv.AppendInt(w.out, value, 10)
	case bool:
		w.out = strconv.AppendBool(w.out, value)
	case map[string]any:
		w.out = append(w.out, "{}"...)
	case []any:
		w.out = append(w.out, "[]"...)
	default:
		return false
	}
	w.out = append(w.out, '\n')
	return true
}

// text writes text and ends the line.
func (w *yamlWriter) text(text string, column int) bool {
	switch {
	case looksLikeOther(text):
		w.out = append(append(append(w.out, '"'), text...), '"')
	case plainText.MatchString(text) && (column+len(text) <= maxPlainLine || !strings.Contains(text, " ")):
		w.out = append(w.out, text...)
	default:
		return false
	}
	w.out = append(w.out, '\n')
	return true
}

func (w *yamlWriter) spaces(n int) {
	for range n {
		w.out = append(w.out, ' ')
	}
}

// maxPlainLine is less than the length of a line from which on the library folds text
// at spaces.
const maxPlainLine = 72

var (
	// plainText is text that needs no quotes: words, paths, images, flags, quantities.
	plainText = regexp.MustCompile(`^(?:--?)?[A-Za-z/][A-Za-z0-9_./=@+-]*(?:[: ][A-Za-z0-9_./=@+-]+)*$|^[0-9]+(?:m|Ki|Mi|Gi|Ti)$`)

	// otherWords are not text without quotes: https://yaml.org/type/bool.html, null.html.
	otherWords = regexp.MustCompile(`^(?:y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON|n|N|no|No|NO|false|False|FALSE|off|Off|OFF|null|Null|NULL)$`)
	digits     = regexp.MustCompile(`^[0-9]+$`)
)

// isPlainKey reports whether a key needs no quotes.
func isPlainKey(key string) bool {
	for i := range len(key) {
		switch c := key[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && (c == '.' || c == '/' || c == '-' || c == '_' || '0' <= c && c <= '9'):
		default:
			return false
		}
	}
	return 0 < len(key) && len(key) <= maxPlainLine && (len(key) > len("false") || !otherWords.MatchString(key))
}

// looksLikeOther reports whether text is a truth value, null, a number or a time unless it
// has quotes.
func looksLikeOther(text string) bool {
	if digits.MatchString(text) || len(text) <= len("false") && otherWords.MatchString(text) {
		return true
	}
	if len(text) < len("2006-01-02T15:04:05Z") || text[4] != '-' {
		return false
	}
	_, err := time.Parse(time.RFC3339Nano, text)
	return err == nil
}

// sortedKeys returns the keys of a mapping in the order of the library. That order is not
// transitive: of 1Gi, 6X_C and 12:30:45 each comes before the next, and the last before the
// first. Sorting starts with the order of text, so that the result does not depend on chance.
func sortedKeys(m map[string]any) []string {
	keys := slices.Sorted(maps.Keys(m))
	slices.SortStableFunc(keys, compareKeys)
	return keys
}

// compareKeys compares keys as the library does: letters come after all else, and
// digits are numbers.
func compareKeys(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return len(a) - len(b)
	}
	for !utf8.RuneStart(a[i]) {
		i--
	}
	x, _ := utf8.DecodeRuneInString(a[i:])
	y, _ := utf8.DecodeRuneInString(b[i:])
	switch letterX, letterY := unicode.IsLetter(x), unicode.IsLetter(y); {
	case letterX && letterY:
		return int(x - y)
	case letterX:
		return 1
	case letterY:
		return -1
	}
	var before int64
	if (x == '0' || y == '0') && endsInNumber(a[:i]) { // then that is no leading zero
		before = 1
	}
	numberX, digitsX := leadingNumber(before, a[i:])
	numberY, digitsY := leadingNumber(before, b[i:])
	return cmp.Or(cmp.Compare(numberX, numberY), digitsX-digitsY, int(x-y))
}

// endsInNumber reports whether the digits at the end of text are more than zeros.
func endsInNumber(text string) bool {
	number := strings.TrimRightFunc(text, unicode.IsDigit)
	return strings.Trim(text[len(number):], "0") != ""
}

// leadingNumber returns the number that the digits of text go on with, and their count.
func leadingNumber(number int64, text string) (_ int64, digits int) {
	for _, r := range text {
		if !unicode.IsDigit(r) {
			break
		}
		number = number*10 + int64(r-'0')
		digits++
	}
	return number, digits
}
