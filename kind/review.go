package kind

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Change is a change of an object in git, for Definition.Review, or of a CustomResourceDefinition,
// which has neither Children nor Now. One of Before and After is not nil.
type Change[T any] struct {
	// Before is the object before the change; nil where the change adds it. Fields that
	// nobody wrote are empty, but for those of KeepDefaults. The object has a status only in a
	// comparison with a cluster.
	Before *T

	// After is the object after the change; nil where the change removes it.
	After *T

	// Children has what it was rendered to before the change, and is rendered to after it,
	// overrides included.
	Children []ChildChange

	// Now is the time of the review.
	Now time.Time
}

// ChildChange is what a change makes of an object that was rendered from another.
type ChildChange struct {
	// Before is nil where the object is added, After where it is removed. They are the same
	// object where nothing changes, or the API server refuses the change. An Immutable object
	// and the one that replaces it have different names.
	Before, After *unstructured.Unstructured

	// Pods is what happens to the Pods of a Deployment or another workload.
	Pods Rollout
}

// Rollout is what a change of a workload does to its Pods.
type Rollout struct {
	// Before and After are the numbers of Pods that the workload asks for: the smallest
	// where an autoscaler decides.
	Before, After int64

	// Replaced reports whether other Pods replace those of before.
	Replaced bool

	// Difference says how the Pods of after differ: "image web:1 → web:2".
	Difference Sentence
}

// Effect is something that a change does to a cluster.
type Effect struct {
	// Type names the effect for programs, like cacheResized.
	Type string `json:"type"`

	// What continues a sentence that begins with the object: "runs at 12:00".
	What Sentence `json:"what"`

	// Risk says why a reviewer should look twice; empty where there is no reason to.
	Risk Sentence `json:"risk,omitempty"`

	// Time is when it happens; nil for as soon as the change is synced.
	Time *time.Time `json:"time,omitempty"`
}

// These types of effects are the same for all kinds that run something.
const (
	RunPlanned   = "runPlanned"
	RunAtOnce    = "runAtOnce"
	RunCanceled  = "runCanceled"
	RunSuspended = "runSuspended"
)

// Sentence is text for a reviewer. Each value that comes from a manifest stands between two
// NULs, so that the program that prints the sentence can quote the value: nothing in a manifest
// is a link or a mention in a comment. Say makes a Sentence.
type Sentence string

// Say formats a Sentence. It quotes each of the values that is neither a Sentence nor a number.
func Say(format string, values ...any) Sentence {
	values = slices.Clone(values)
	for i, value := range values {
		switch value.(type) {
		case Sentence, int, int32, int64:
		default:
			values[i] = quote(fmt.Sprint(value))
		}
	}
	return Sentence(fmt.Sprintf(format, values...))
}

// Or returns words as a list in a sentence: text, json or github.
func Or(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// SayBoth quotes the values of a field before and after a change, for a Sentence. It leaves out
// the beginning of long values that begin alike, so that the difference shows.
func SayBoth(before, after string) (was, is Sentence) {
	const longest, shown = 40, 20
	a, b := []rune(strings.TrimSpace(before)), []rune(strings.TrimSpace(after))
	alike := 0
	for alike < min(len(a), len(b)) && a[alike] == b[alike] {
		alike++
	}
	if alike < longest || max(len(a), len(b)) <= 2*longest {
		return quote(before), quote(after)
	}
	return quote("…" + string(a[alike-shown:])), quote("…" + string(b[alike-shown:]))
}

// Count returns a number and a noun, in the plural where the number asks for it.
func Count(n int64, noun string) Sentence {
	if n != 1 {
		noun = Plural(noun)
	}
	return Sentence(strconv.FormatInt(n, 10) + " " + noun)
}

// Plural returns the plural that English gives a noun by rule.
func Plural(noun string) string {
	switch {
	case endsInY.MatchString(noun):
		return strings.TrimSuffix(noun, "y") + "ies"
	case endsInS.MatchString(noun):
		return noun + "es"
	}
	return noun + "s"
}

// These match nouns with another plural than an s.
var (
	endsInY = regexp.MustCompile(`[^aeo]y$`)
	endsInS = regexp.MustCompile(`(s|x|z|ch|sh)$`)
)

// quote returns a value in a Sentence, without what is over 80 characters.
func quote(value string) Sentence {
	const longest = 80
	value = Visible(strings.TrimSpace(value))
	if utf8.RuneCountInString(value) > longest {
		value = string([]rune(value)[:longest-1]) + "…"
	}
	if value == "" {
		value = `""`
	}
	return Sentence("\x00" + value + "\x00")
}

// Format returns the sentence with each value as quote returns it.
func (s Sentence) Format(quote func(value string) string) string {
	parts := strings.Split(string(s), "\x00")
	for i := 1; i < len(parts); i += 2 {
		parts[i] = quote(parts[i])
	}
	return strings.Join(parts, "")
}

// Plain returns the sentence as plain text.
func (s Sentence) Plain() string { return strings.ReplaceAll(string(s), "\x00", "") }

// MarshalJSON implements json.Marshaler.
func (s Sentence) MarshalJSON() ([]byte, error) { return json.Marshal(s.Plain()) }

// Visible escapes the characters of text that do not show, or direct a terminal, as Go does. It
// leaves those to keep.
func Visible(text string, keep ...rune) string {
	var b strings.Builder
	for _, r := range text {
		shows := unicode.IsPrint(r) && (r <= unicode.MaxLatin1 || !unicode.In(r, unseen...))
		if shows || slices.Contains(keep, r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

// unseen are the characters that Unicode counts among letters, marks and symbols, and that show
// as nothing.
var unseen = []*unicode.RangeTable{
	unicode.Other_Default_Ignorable_Code_Point,
	unicode.Variation_Selector,
	{R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}}, // the Braille pattern without dots
}
