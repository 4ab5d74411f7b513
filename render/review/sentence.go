package review

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentence is text of this package. What comes from manifests is quoted in it, each value
// between NULs, to be escaped as the form that it is printed in asks for.
type Sentence string

// quoted is a value in a sentence, cut where it is long.
func quoted(value string) Sentence { return cutAfter(80, strings.TrimSpace(value)) }

// quotedBoth are values in a sentence that says what became of one. Those that are alike for
// long are cut there as well, so that it is seen in what they differ.
func quotedBoth(before, after string) (Sentence, Sentence) {
	const longest, shown = 40, 20
	before, after = visible(strings.TrimSpace(before)), visible(strings.TrimSpace(after))
	alike := commonPrefix([]rune(before), []rune(after))
	if alike < longest || max(utf8.RuneCountInString(before), utf8.RuneCountInString(after)) <= 2*longest {
		return quoted(before), quoted(after)
	}
	cut := func(value string) Sentence { return quoted("…" + string([]rune(value)[alike-shown:])) }
	return cut(before), cut(after)
}

// commonPrefix is in how many characters two texts begin alike.
func commonPrefix(a, b []rune) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// named is an object in a sentence. Names end somewhere: two that differ are not cut to one.
func named(o Object) Sentence { return cutAfter(400, o.String()) }

func cutAfter(longest int, value string) Sentence {
	value = visible(value)
	if utf8.RuneCountInString(value) > longest {
		value = string([]rune(value)[:longest-1]) + "…"
	}
	if value == "" {
		value = `""`
	}
	return Sentence("\x00" + value + "\x00")
}

// visible is text on one line, whose characters are all seen: others are escaped as in Go.
func visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) && !unicode.In(r, unseen...) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

// unseen are the characters that Unicode has among letters, marks and symbols, and that show
// as nothing.
var unseen = []*unicode.RangeTable{
	unicode.Other_Default_Ignorable_Code_Point,
	unicode.Variation_Selector,
	{R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}}, // a pattern of Braille without dots
}

// say is a sentence, formatted. Text among the values is of this package, or quoted.
func say(format string, values ...any) Sentence { return Sentence(fmt.Sprintf(format, values...)) }

// count is a number of things.
func count(n int64, thing string) Sentence {
	if n == 1 {
		return Sentence("1 " + thing)
	}
	return Sentence(strconv.FormatInt(n, 10) + " " + thing + "s")
}

// Plain is the sentence as plain text.
func (s Sentence) Plain() string { return strings.ReplaceAll(string(s), "\x00", "") }

// MarshalJSON implements json.Marshaler.
func (s Sentence) MarshalJSON() ([]byte, error) { return json.Marshal(s.Plain()) }

// markdown is the sentence in a cell of a table.
func (s Sentence) markdown() string {
	parts := strings.Split(string(s), "\x00")
	for i := 1; i < len(parts); i += 2 {
		parts[i] = codeSpan(parts[i])
	}
	return strings.Join(parts, "")
}

// codeSpan is text as code in a cell of a table. Nothing in code is a link, a mention, an
// image or HTML to GitHub and GitLab.
func codeSpan(text string) string {
	fence := strings.Repeat("`", longestRun(text, '`')+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + strings.ReplaceAll(text, "|", `\|`) + fence
}

// longestRun is how often a character follows itself in text at most.
func longestRun(text string, character rune) (longest int) {
	run := 0
	for _, r := range text {
		if r != character {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
