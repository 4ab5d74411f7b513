package manifest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v2"
)

// YAML returns the object the way kustomize writes it: keys sorted, no comments.
func (o Object) YAML() ([]byte, error) { return yaml.Marshal(ordered(o.Object)) }

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
