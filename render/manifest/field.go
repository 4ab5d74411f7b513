package manifest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// SplitField splits a field path of the API server, such as spec.env[0].name or
// metadata.labels[a.b/c], into keys and indexes.
func SplitField(field string) []string {
	var keys []string
	for field != "" {
		if rest, ok := strings.CutPrefix(field, "["); ok {
			key, after, _ := strings.Cut(rest, "]")
			keys = append(keys, key)
			field = strings.TrimPrefix(after, ".")
			continue
		}
		end := strings.IndexAny(field, ".[")
		if end < 0 {
			return append(keys, field)
		}
		if end > 0 {
			keys = append(keys, field[:end])
		}
		field = strings.TrimPrefix(field[end:], ".")
	}
	return keys
}

// JoinField joins keys, and indexes in brackets, to a field path of the API server.
func JoinField(keys []string) string {
	var field strings.Builder
	for _, key := range keys {
		switch {
		case strings.HasPrefix(key, "["):
			field.WriteString(key)
		case key == "", strings.ContainsAny(key, "./[]"):
			field.WriteString("[" + key + "]")
		default:
			if field.Len() > 0 {
				field.WriteByte('.')
			}
			field.WriteString(key)
		}
	}
	return field.String()
}

// itemIndex matches the index of an item in the path of a field.
var itemIndex = regexp.MustCompile(`\[\d+\]`)

// FieldOfItems returns the path of a field that the items of a list have in common.
func FieldOfItems(field string) string { return itemIndex.ReplaceAllString(field, "[]") }

// mostKnown bounds the names that a wrong one is compared with: a list of wrong names times a list of known ones would
// take long, and a hint is of use to people who see all names.
const mostKnown = 1000

// DidYouMean returns a hint at the known name most similar to a wrong one, or "" if none is similar or too many are
// known.
func DidYouMean(name string, known []string) string {
	if len(known) > mostKnown {
		return ""
	}
	best := ""
	distance := 3
	for _, k := range known {
		if d := distanceOf(name, k); d < distance || d == distance && best != "" && k < best {
			best = k
			distance = d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", best)
}

// distanceOf returns the edit distance of two names, ignoring case. Two names of the same letters have distance 1.
func distanceOf(a, b string) int {
	a = strings.ToLower(a)
	b = strings.ToLower(b)
	d := levenshtein.Distance(a, b, nil)
	if d > 1 && len(a) == len(b) && sorted(a) == sorted(b) {
		return 1
	}
	return d
}

func sorted(text string) string { return string(slices.Sorted(slices.Values([]rune(text)))) }
