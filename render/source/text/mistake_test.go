package text

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

const (
	conflictLine = "a line of a merge conflict"
	tabLine      = "a tab is in the indentation"
	quoteValue   = "put the value in quotes: text without quotes"
	quoteColon   = "put the value in quotes: a colon"
	checkList    = "put the value in quotes if it is text"
	template     = "a template like {{ a }}"
	noColon      = "a colon is missing"
	spaceColon   = "a space is missing after the colon"
	spaceDash    = "a space is missing after the dash"
	openQuote    = "the quote that begins here has no end"
	afterQuote   = "the value goes on after its closing quote"
	separateBy   = "write --- alone"
)

func moved(by int) string { return fmt.Sprintf("fits no line above: change it by %+d,", by) }

func TestMistakesAreDescribedAtTheirLines(t *testing.T) {
	const list = "a: b\nlist:\n- name: c\n  value: d\n"
	for content, want := range map[string]string{
		"a:\n\tb: c":                      "2 " + tabLine,
		"a:\n  b: c\n\t\td: e\n":          "3 " + tabLine,
		"a: b\n\t# c\n":                   "2 " + tabLine,
		"a:\n-\tb: c\n":                   "2 " + tabLine,
		"a: b\n  c: d\n":                  "2 " + moved(-2),
		"a:\n  b: c\n d: e\n":             "3 " + moved(+1),
		list + "   x: y\n":                "5 " + moved(-1),
		list + " x: y\n":                  "5 " + moved(+1),
		list + " - x: y\n":                "5 " + moved(-1),
		"a: |\n  b\n c: d\n":              "3 " + moved(+1),
		"a\nb: c\n":                       "1 " + noColon,
		"a:\n  b c\n  d: e\n":             "2 " + noColon,
		"a:\n- b c\n  d: e\n":             "2 " + noColon,
		"a:b\nc: d\n":                     "1 " + spaceColon,
		"a:\n- b:c\n  d: e\n":             "2 " + spaceColon,
		"a:\n-b.yaml\n-c.yaml\n":          "2 " + spaceDash,
		"a: \"b\nc: d\n":                  "1 " + openQuote,
		"a: 'b\nc: d\n":                   "1 " + openQuote,
		"a: \"b\nc: d\ne: \"f\"\n":        "1 " + openQuote,
		"a: 'it's'\nb: c\n":               "1 " + afterQuote,
		"a: \"b\" c\nd: e\n":              "1 " + afterQuote,
		"a: \"C:\\d\"\n":                  `1 YAML has no escape \d: write \\d`,
		"a: b\nc: \"\\ud83d\\ude80 d\"\n": `2 YAML has no escape \ud83d\ude80, which JSON has: write the character itself, 🚀`,
		"{\n\t\"a\": \"\\ud83d b\"\n}\n":  `2 the escape \ud83d is half a character`,
		"{\n\t\"a\": \"b\\\\c\",\n\t\"d\": \"\\/\"\n}\n": `3 YAML has no escape \/, which JSON has: write / alone`,
		"a: \"b\n  \\u00e9 \\u12\"\n":                    `2 the escape \u12 has too few digits`,
		"a: @b\nc: d\n":                                  "1 " + quoteValue,
		"a: b\nc: `d`\ne: f\n":                           "2 " + quoteValue,
		"a:\n- %b\n- c\n":                                "2 " + quoteValue,
		"a: *b\n":                                        "1 no anchor with the name",
		"a: &b c\nd: [*e,\n  f]\n":                       "2 no anchor with the name",
		"a: *.example.com\n":                             "1 " + quoteValue,
		"a:\n- && b\n":                                   "2 " + quoteValue,
		"a: >=1.2\nb: c\n":                               "1 " + quoteValue,
		"a: - b\n":                                       "1 " + quoteValue,
		"a: b\nc: , d\n":                                 "2 " + quoteValue,
		"a: b: c\n":                                      "1 " + quoteColon,
		"a: b\nc: see http://d: it works\n":              "2 " + quoteColon,
		"a: b:\n":                                        "1 " + quoteColon,
		"a: b\nc: {{ d }}-e\nf: g\n":                     "2 " + template,
		"a: b\n{{- if c }}\nd: e\n":                      "2 " + template,
		"a: b\n{% if c %}\nd: e\n":                       "2 " + template,
		"a: {{ b }}\n":                                   "1 a key has to be text",
		"a: [b, c\nd: e\n":                               "1 a [ has no ]",
		"a: {b: c\nd: e\n":                               "1 a { has no }",
		"a: [b, c]]\nd: e\n":                             "1 a ] has no [",
		"a: [b] c\nd: e\n":                               "1 " + checkList,
		"a: b\nc: [\"d\" \"e\"]\n":                       "2 " + checkList,
		"a: b\n<<<<<<< HEAD\nc: d\n":                     "2 " + conflictLine,
		"a: b\n=======\nc: d\n":                          "2 " + conflictLine,
		"a: b\n>>>>>>> c\n":                              "2 " + conflictLine,
		"a: b\n<<<<<<< HEAD\nc: d\n=======\nc: e\n":      "2 " + conflictLine,
		"a: b\n--\nc: d\n":                               "2 " + separateBy,
		"a:\n  b: c\n ---\nd: e\n":                       "3 " + separateBy,
		"a: b\n// c\nd: e\n":                             "2 a comment begins with #",
		"a:\n- b: c\n-d: e\n  f: g\n":                    "3 " + spaceDash,
		"a: b\nc:\u00a0d\ne: f\n":                        "2 a space that is not of ASCII",
		"```yaml\na: b\n":                                "1 no line begins with",
		"a: b\nc: d\na: e\n":                             `3 the key "a" is in line 1 as well`,
		"a\x00:\x00 \x00b\x00":                           "1 the character U+0000",
		"\xff\xfea\x00:\x00":                             "1 is not UTF-8",
		"a: b\nc:\n  [d, e\n  f: g:\nh: {i}}\n\n]":       "4 " + quoteColon,
	} {
		documents := Split([]byte(content))
		_, err := documents[0].Parse()
		var got Error
		errors.As(err, &got)
		text := fmt.Sprintf("%d %s", got.Line, strings.TrimPrefix(got.Error(), "malformed YAML: "))
		if !strings.HasPrefix(text, want) && !strings.Contains(text, strings.TrimLeft(want, "0123456789 ")) || text[:1] != want[:1] {
			t.Errorf("%q: %s, want %s", content, text, want)
		}
	}
}

func TestMistakesHaveALineOfTheDocument(t *testing.T) {
	const alphabet = "a b:-\n\t'\"[]{}&*!|>%@`,?#\\"
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		content := make([]byte, random.IntN(40))
		for i := range content {
			content[i] = alphabet[random.IntN(len(alphabet))]
		}
		_, err := Document{Content: content, first: 1}.Parse()
		var got Error
		if err != nil && (!errors.As(err, &got) || got.Line < 1 || got.Line > 1+strings.Count(string(content), "\n")) {
			t.Fatalf("%q: %#v", content, err)
		}
	}
}
