package page

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"example.com/gatehouse/kind"
)

// line is a line of a diff side by side. Words that differ are marked.
type line struct {
	Note          string // a line between hunks, or about the diff
	Before, After []word
	IsChanged     bool
}

type word struct {
	Text     string
	IsMarked bool
}

// sideBySide returns the lines of a unified diff: removed lines are beside the added lines after them.
func sideBySide(unified string) (lines []line) {
	var removed, added []string
	flush := func() {
		for i := range max(len(removed), len(added)) {
			l := line{IsChanged: true}
			switch {
			case i >= len(removed):
				l.After = []word{{added[i], false}}
			case i >= len(added):
				l.Before = []word{{removed[i], false}}
			default:
				l.Before, l.After = words(removed[i], added[i])
			}
			lines = append(lines, l)
		}
		removed = nil
		added = nil
	}
	inHunk := false
	for text := range strings.Lines(unified) {
		text = kind.Visible(strings.TrimSuffix(text, "\n"), '\t')
		switch {
		case strings.HasPrefix(text, "@@"):
			flush()
			lines = append(lines, line{Note: text})
			inHunk = true
		case !inHunk:
			lines = append(lines, line{Note: text})
		case strings.HasPrefix(text, "-"):
			if len(added) > 0 {
				flush()
			}
			removed = append(removed, text[1:])
		case strings.HasPrefix(text, "+"):
			added = append(added, text[1:])
		default:
			flush()
			same := []word{{strings.TrimPrefix(text, " "), false}}
			lines = append(lines, line{Before: same, After: same})
		}
	}
	flush()
	return lines
}

// words marks the words of two lines that differ.
func words(before, after string) (was, is []word) {
	isOld := make([]bool, len(before)+1)
	isNew := make([]bool, len(after)+1)
	shift := 0 // from before to after
	for _, e := range udiff.Strings(before, after) {
		mark(isOld, before, e.Start, e.End)
		mark(isNew, after, e.Start+shift, e.Start+shift+len(e.New))
		shift += len(e.New) - (e.End - e.Start)
	}
	return marked(before, isOld), marked(after, isNew)
}

// mark marks a range of bytes, and the words that it touches.
func mark(marks []bool, text string, start, end int) {
	for start > 0 && isWord(utf8.DecodeLastRuneInString(text[:start])) {
		_, size := utf8.DecodeLastRuneInString(text[:start])
		start -= size
	}
	for end < len(text) && isWord(utf8.DecodeRuneInString(text[end:])) {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	for i := start; i < end; i++ {
		marks[i] = true
	}
}

func isWord(r rune, _ int) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '.' || r == '-'
}

func marked(text string, marks []bool) (words []word) {
	start := 0
	for i := 1; i <= len(text); i++ {
		if i == len(text) || marks[i] != marks[start] {
			words = append(words, word{text[start:i], marks[start]})
			start = i
		}
	}
	return words
}
