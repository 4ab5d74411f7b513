package references

import (
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// mostKnown bounds the names that a misspelled one is compared with.
const mostKnown = 1000

// Misspelled returns the known name that a typing error may have turned into another, or "". Names of a
// series, such as web-1 and web-2 or cache-a and cache-b, are no misspellings.
func Misspelled(name string, known []string) string {
	if len(known) > mostKnown {
		return ""
	}
	var found []string
	for _, k := range known {
		if k != name && isMisspelled(name, k) {
			found = append(found, k)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return slices.Min(found)
}

// Near returns the known word that differs in a letter, or in the order of two.
func Near(word string, known []string) string {
	for _, k := range known {
		distance := levenshtein.Distance(word, k, nil)
		if distance == 1 || distance == 2 && sorted(word) == sorted(k) {
			return k
		}
	}
	return ""
}

// lookAlikes are digits that are read as letters.
var lookAlikes = strings.NewReplacer("0", "o", "1", "l")

// siblings are words that differ in few letters.
var siblings = []string{"east", "west", "http", "https", "mysql", "mssql", "test", "text", "user", "users", "write",
	"writer", "read", "reader", "tls", "ttls", "public", "publish", "blue", "green", "admin", "stage", "state", "front",
	"frontend", "back", "backend"}

func isMisspelled(name, known string) bool {
	if strings.EqualFold(lookAlikes.Replace(name), lookAlikes.Replace(known)) {
		return true
	}
	a := segments(name)
	b := segments(known)
	if len(a) != len(b) {
		joined := strings.Join(a, "")
		other := strings.Join(b, "")
		return joined == other && len(joined) >= 5 // a hyphen is missing
	}
	differs := -1
	for i := range a {
		if a[i] != b[i] {
			if differs >= 0 {
				return false
			}
			differs = i
		}
	}
	return differs >= 0 && isTypo(a[differs], b[differs])
}

func segments(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '.' || r == '_' || r == '/' })
}

// isTypo reports whether two words differ by a typing error: a letter too few, too many or another one, or two letters
// in the wrong order. People seldom mistype the first letter.
func isTypo(a, b string) bool {
	const digits = "0123456789"
	shorter := min(len(a), len(b))
	if shorter < 4 || a[0] != b[0] && sorted(a) != sorted(b) || strings.Trim(a, digits) == strings.Trim(b, digits) ||
		slices.Contains(siblings, a) && slices.Contains(siblings, b) {
		return false
	}
	distance := levenshtein.Distance(a, b, nil)
	switch {
	case sorted(a) == sorted(b):
		return distance == 2
	case shorter >= 9:
		return distance <= 2
	}
	return distance == 1
}

func sorted(word string) string { return string(slices.Sorted(slices.Values([]rune(word)))) }
