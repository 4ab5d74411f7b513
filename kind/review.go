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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Change is a change of an object in git, the input of Definition.Review. For Definition.ReviewCRD it is
// a change of a CustomResourceDefinition, without Children and Now. Before and After are not both nil.
type Change[T any] struct {
	// Before is the committed object before the change; nil if the change adds it. Missing fields
	// are empty, except for the defaults of Definition.KeepDefaults. The object has a status only
	// if Before is a live object.
	Before *T

	// After is the object after the change; nil if the change removes it.
	After *T

	// Children are the changes of the rendered objects, after the overrides.
	Children []ChildChange

	// Now is the time of the review.
	Now time.Time
}

// ChildChange is a change of a rendered object.
type ChildChange struct {
	// Before is nil for an added object, and After for a removed object. Both are the same if
	// nothing changes, or the API server refuses the change. An Immutable object and its
	// replacement have different names.
	Before, After *unstructured.Unstructured

	// Pods is the rollout of a Deployment or another workload.
	Pods Rollout
}

// Rollout is the effect of a change on the Pods of a workload.
type Rollout struct {
	// Before and After are the numbers of Pods that the workload asks for. If an autoscaler
	// decides, they are its minimum.
	Before, After int64

	// Replaced reports whether new Pods replace the old ones.
	Replaced bool

	// Difference describes the difference of the new Pods: "image web:1 → web:2".
	Difference Sentence
}

// Effect is an effect of a change on a cluster.
type Effect struct {
	// Type names the effect for programs, like cacheResized.
	Type string `json:"type"`

	// What is the rest of a sentence that begins with the object: "runs at 12:00".
	What Sentence `json:"what"`

	// Risk is the reason for a reviewer to look twice; empty for none.
	Risk Sentence `json:"risk,omitempty"`

	// Fields are the changed fields of the object that What tells in full, with their values:
	// spec.size. A review lists all others.
	Fields []string `json:"fields,omitempty"`

	// IsUnknown tells that the kind does not know what follows, such as from another command: a person has to look.
	IsUnknown bool `json:"-"`

	// Time is the time of the effect; nil means as soon as the change is synced.
	Time *time.Time `json:"time,omitempty"`
}

// Types of effects for all kinds that run something.
const (
	RunPlanned   = "runPlanned"
	RunAtOnce    = "runAtOnce"
	RunCanceled  = "runCanceled"
	RunSuspended = "runSuspended"
)

// Sentence is text for a reviewer, made by Say. Each value from a manifest is between two NULs, so that
// the program that prints the sentence can quote it: a manifest cannot put a link or a mention into a
// comment.
type Sentence string

// Say formats a Sentence. It quotes all values except Sentences and integers.
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

// Count returns a number and a noun, in the plural unless the number is 1.
func Count(n int64, noun string) Sentence {
	if n != 1 {
		noun = Plural(noun)
	}
	return Sentence(strconv.FormatInt(n, 10) + " " + noun)
}

// Plural returns the regular English plural of a noun.
func Plural(noun string) string {
	switch {
	case endsInY.MatchString(noun):
		return strings.TrimSuffix(noun, "y") + "ies"
	case endsInS.MatchString(noun):
		return noun + "es"
	}
	return noun + "s"
}

// Nouns that do not just add an s.
var (
	endsInY = regexp.MustCompile(`[^aeo]y$`)
	endsInS = regexp.MustCompile(`(s|x|z|ch|sh)$`)
)

// quote quotes a value. It cuts the middle of a value of more than 120 characters.
func quote(value string) Sentence {
	const half = 60
	value = Visible(strings.TrimSpace(value))
	if all := []rune(value); len(all) > 2*half {
		value = string(all[:half]) + "…" + string(all[len(all)-half+1:])
	}
	if value == "" {
		value = `""`
	}
	return Sentence("\x00" + value + "\x00")
}

// Format returns the sentence with each value quoted by quote.
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

// Visible escapes invisible characters and control characters of a terminal, as Go does. It leaves the
// characters to keep.
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

// unseen are the characters that Unicode counts among letters, marks and symbols although they are
// invisible.
var unseen = []*unicode.RangeTable{
	unicode.Other_Default_Ignorable_Code_Point,
	unicode.Variation_Selector,
	{R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}}, // the Braille pattern without dots
}
