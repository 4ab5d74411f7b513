package object

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v2"
)

// YAML returns the object the way kustomize writes it: keys sorted, no comments.
func (o Object) YAML() ([]byte, error) {
	// Most of what rendering costs is to write YAML. What is plain enough to leave no
	// choice of style is written here, five times as fast, and all else by the library.
	w := yamlWriter{out: make([]byte, 0, 4096)}
	if len(o.Object) > 0 && w.mapping(o.Object, 0) {
		return w.out, nil
	}
	return yaml.Marshal(o.Object)
}

// yamlWriter writes block style. Its methods return false where a value is not plain:
// then what is written so far is of no use.
type yamlWriter struct{ out []byte }

// mapping writes a mapping whose first key stands where the last line ends.
func (w *yamlWriter) mapping(m map[string]any, indent int) bool {
	keys := make([]string, 0, len(m))
	for key := range m {
		if !isPlainKey(key) {
			return false
		}
		keys = append(keys, key)
	}
	slices.SortFunc(keys, compareKeys)
	for i, key := range keys {
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
		if !isPlainText(value) || column+len(value) > maxPlainLine {
			return false
		}
		w.out = append(w.out, value...)
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

	// plainKey is such text without digits, which the library does not sort as text.
	plainKey = regexp.MustCompile(`^[A-Za-z][A-Za-z_./-]{0,99}$`)

	// otherTypes are words that are not text: https://yaml.org/type/bool.html, null.html.
	otherTypes = []string{"y", "yes", "true", "on", "n", "no", "false", "off", "null"}
)

func isPlainText(text string) bool {
	return plainText.MatchString(text) && !isOtherType(text)
}

func isPlainKey(key string) bool {
	return plainKey.MatchString(key) && !isOtherType(key)
}

func isOtherType(text string) bool {
	return len(text) <= len("false") && slices.Contains(otherTypes, strings.ToLower(text))
}

// compareKeys compares plain keys as the library does: letters come after all else.
func compareKeys(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		if x, y := unicode.IsLetter(rune(a[i])), unicode.IsLetter(rune(b[i])); x != y {
			if y {
				return -1
			}
			return 1
		}
		return int(a[i]) - int(b[i])
	}
	return len(a) - len(b)
}
