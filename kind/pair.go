package kind

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff/lcs"
	"golang.org/x/text/unicode/norm"
)

// SayBoth quotes the values of a field before and after a change. Of long values it quotes the parts that
// differ. Different values never look alike: if they would, both have quotes and escapes.
func SayBoth(before, after string) (was, is Sentence) {
	const longest = 80
	a := strings.TrimSpace(before)
	b := strings.TrimSpace(after)
	isExact := looksAlike(a, b) || strings.Replace(before, a, "|", 1) != strings.Replace(after, b, "|", 1)
	if isExact {
		a = before
		b = after
	}
	old := []string{a}
	current := []string{b}
	if max(utf8.RuneCountInString(a), utf8.RuneCountInString(b)) > longest {
		old, current = differences(a, b)
	}
	was = quoteParts(old, isExact)
	is = quoteParts(current, isExact)
	if was == is { // a text has the escapes of the other
		return quoteParts(old, true), quoteParts(current, true)
	}
	return was, is
}

// looksAlike reports whether the characters of two texts are the same, or doubles: of each two, one is ASCII and
// one is not, or both are forms of one.
func looksAlike(before, after string) bool {
	a := []rune(norm.NFKC.String(before))
	b := []rune(norm.NFKC.String(after))
	return slices.EqualFunc(a, b, func(x, y rune) bool {
		return x == y || (x <= unicode.MaxASCII) != (y <= unicode.MaxASCII)
	})
}

// quoteParts quotes the parts of a text with marks between them. It counts the characters beyond a limit.
func quoteParts(parts []string, isExact bool) Sentence {
	const most = 600
	var written []string
	room := most
	more := 0
	for _, part := range parts {
		all := []rune(part)
		shown := all[:min(len(all), room)]
		room -= len(shown)
		more += len(all) - len(shown)
		text := Visible(string(shown))
		if isExact {
			quoted := strconv.QuoteToASCII(string(shown))
			text = quoted[1 : len(quoted)-1]
		}
		if len(shown) > 0 || len(all) == 0 && more == 0 {
			written = append(written, text)
		}
	}
	text := strings.Join(written, "…")
	if isExact || text == "" {
		text = `"` + text + `"`
	}
	quoted := Sentence("\x00" + text + "\x00")
	if more > 0 {
		quoted += Say(" (and %s)", Count(int64(more), "more character"))
	}
	return quoted
}

// differences returns the parts of two texts that differ, with a few characters around them. An empty part at an end
// stands for equal text.
func differences(before, after string) (was, is []string) {
	const around = 20
	var hunks []lcs.Diff
	for _, e := range edits(before, after, splitLines, splitWords, splitCharacters) {
		last := len(hunks) - 1
		if last >= 0 && utf8.RuneCountInString(before[hunks[last].End:e.Start]) <= 2*around {
			hunks[last].End = e.End
			hunks[last].ReplEnd = e.ReplEnd
		} else {
			hunks = append(hunks, e)
		}
	}
	for i, h := range hunks {
		head := []rune(before[:h.Start])
		tail := []rune(before[h.End:])
		start := string(head[max(len(head)-around, 0):])
		end := string(tail[:min(len(tail), around)])
		if i == 0 && len(head) > around {
			was = append(was, "")
			is = append(is, "")
		}
		was = append(was, start+before[h.Start:h.End]+end)
		is = append(is, start+after[h.ReplStart:h.ReplEnd]+end)
		if i == len(hunks)-1 && len(tail) > around {
			was = append(was, "")
			is = append(is, "")
		}
	}
	return was, is
}

// word matches a word, or a character between words.
var word = regexp.MustCompile(`[\pL\pN]+|[^\pL\pN]`)

func splitLines(text string) []string      { return strings.SplitAfter(text, "\n") }
func splitWords(text string) []string      { return word.FindAllString(text, -1) }
func splitCharacters(text string) []string { return strings.Split(text, "") }

// edits returns the edits between two texts in bytes: edits of lines, within these of words, and so on.
func edits(before, after string, split func(text string) []string,
	finer ...func(text string) []string) (all []lcs.Diff) {
	old := split(before)
	current := split(after)
	was := offsets(old)
	is := offsets(current)
	for _, d := range lcs.DiffLines(old, current) {
		e := lcs.Diff{Start: was[d.Start], End: was[d.End], ReplStart: is[d.ReplStart], ReplEnd: is[d.ReplEnd]}
		if len(finer) == 0 {
			all = append(all, e)
			continue
		}
		for _, within := range edits(before[e.Start:e.End], after[e.ReplStart:e.ReplEnd], finer[0], finer[1:]...) {
			all = append(all, lcs.Diff{
				Start: e.Start + within.Start, End: e.Start + within.End,
				ReplStart: e.ReplStart + within.ReplStart, ReplEnd: e.ReplStart + within.ReplEnd,
			})
		}
	}
	return all
}

// offsets returns the offset of each token in bytes, and the end of the last.
func offsets(tokens []string) []int {
	all := make([]int, 1, len(tokens)+1)
	for i, token := range tokens {
		all = append(all, all[i]+len(token))
	}
	return all
}
