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

// YAML formats the object as kustomize does: sorted keys, no comments.
func (o Object) YAML() ([]byte, error) { return yaml.Marshal(ordered(o.Object)) }

// ordered replaces the mappings in content by ordered ones.
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

// sortedKeys returns the keys of a mapping in the YAML library's order. That order is not transitive:
// 1Gi < 6X_C < 12:30:45 < 1Gi. Sorting by text first makes the result deterministic.
func sortedKeys(m map[string]any) []string {
	keys := slices.Sorted(maps.Keys(m))
	slices.SortStableFunc(keys, compareKeys)
	return keys
}

// compareKeys compares keys as the YAML library does: letters come last, and digits are numbers.
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
	if (x == '0' || y == '0') && endsInNumber(a[:i]) { // the zero is not a leading one
		before = 1
	}
	numberX, digitsX := leadingNumber(before, a[i:])
	numberY, digitsY := leadingNumber(before, b[i:])
	return cmp.Or(cmp.Compare(numberX, numberY), digitsX-digitsY, int(x-y))
}

// endsInNumber reports whether text ends in a number other than 0.
func endsInNumber(text string) bool {
	number := strings.TrimRightFunc(text, unicode.IsDigit)
	return strings.Trim(text[len(number):], "0") != ""
}

// leadingNumber appends the leading digits of text to number, and returns it and their count.
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
