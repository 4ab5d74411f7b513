package text

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxRepaired bounds the bytes of a document whose mistake is searched for: each trial parses it again.
const maxRepaired = 1 << 20

// byteReader reads one byte at a time.
type byteReader struct{ *bytes.Reader }

func (r byteReader) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(1, len(p))]) }

// stop returns the line of the document, from 1, at which the YAML library refuses it. The lines in its
// errors are often of the parent. The library reads four bytes ahead.
func (d Document) stop() int {
	r := bytes.NewReader(bytes.TrimRight(d.Content, " \r\n"))
	if yaml.NewDecoder(byteReader{r}).Decode(&yaml.Node{}) == nil {
		return math.MaxInt
	}
	offset := int(r.Size()) - r.Len()
	if r.Len() > 0 {
		offset = max(offset-4, 0)
	}
	return d.lineOf(offset)
}

// repairs of a line, and the mistakes that they correct. No message quotes a line: it may be secret.
var repairs = []struct {
	pattern       *regexp.Regexp
	with, message string
}{
	{regexp.MustCompile(`^[ \t]*(?:<{7}|={7}|>{7}|\|{7})(?: .*)?$`), "",
		"a line of a merge conflict: keep what is right, and remove the lines of <<<<<<<, ======= and >>>>>>>"},
	{regexp.MustCompile(`[\x{a0}\x{2000}-\x{200b}\x{202f}\x{3000}\x{feff}]`), " ",
		"a space that is not of ASCII, such as U+00A0: write an ordinary one"},
	{regexp.MustCompile(`^(.*?)\{[{%].*`), "$1#",
		"a template like {{ a }} is not YAML: write its result, or put the whole value in quotes"},
	{regexp.MustCompile(`^( *)//`), "$1#", "a comment begins with #"},
	{regexp.MustCompile(`^( *(?:- +)*[\w./-]+):([^\s:/].*)$`), "$1: $2",
		"a space is missing after the colon: write key: value"},
	{regexp.MustCompile(`^( *)-([^\s-].*)$`), "$1- $2",
		"a space is missing after the dash of a list item: write - item"},
	{regexp.MustCompile(`^( *(?:- +)*[^\s:#"'\[{-][^\s:]*)( .*)?$`), "$1:$2",
		"a colon is missing: write key: value, or indent this like the text above if it belongs to that"},
	{regexp.MustCompile(`^(.*[\s\[{,:])(["'])([^"']*)$`), "$1$2$3$2",
		"the quote that begins here has no end: close it"},
	{regexp.MustCompile(`^(.*\[.*[^],])$`), "$1]", "a [ has no ]: close it"},
	{regexp.MustCompile(`^(.*\{.*[^},])$`), "$1}", "a { has no }: close it"},
	{regexp.MustCompile(`^(.*\].*)\]$`), "$1", "a ] has no [: remove it"},
	{regexp.MustCompile(`^(.*\}.*)\}$`), "$1", "a } has no {: remove it"},
	{regexp.MustCompile(`^( *(?:- +)*[^\s:"']+: +| *- +)["'].*$`), "${1}x",
		`the value goes on after its closing quote: put all of it in quotes, with a " in it written as \", or a ` +
			`' in '...' as ''`},
	{regexp.MustCompile(`^( *(?:- +)*[^\s:"']+: +| *- +)[\[{].*$`), "${1}x",
		"put the value in quotes if it is text; in a list or mapping, separate items by commas, and put texts with " +
			"characters like * or @ in quotes"},
	{regexp.MustCompile("^( *(?:- +)*[^\\s:\"']+: +| *- +)(?:[-?:] |[]}&*!|>%@`,]).*$"), "${1}x",
		"put the value in quotes: text without quotes cannot begin with any of &*!|>%@`,-?:]}"},
	{regexp.MustCompile(`^( *(?:- +)*[^\s:"']+: +)[^"'].*:(?: .*)?$`), "${1}x",
		"put the value in quotes: a colon before a space, or at the end, would make a key of it"},
	{regexp.MustCompile(`^ *(?:- ?){2,}$`), "---", "write --- alone, from the start of the line, between two objects"},
	{regexp.MustCompile("^ *[@`%].*$"), "", "no line begins with @, ` or %: remove it, or put it in quotes"},
}

// tabbed matches a line with a tab in its indentation.
var tabbed = regexp.MustCompile(`^[ -]*\t`)

// unknownAnchor matches the error of an alias without its anchor.
var unknownAnchor = regexp.MustCompile(`unknown anchor '([^']*)' referenced`)

// aliasAt returns the last line, up to another one, that has an alias; the first line if none has.
func aliasAt(lines []string, last int, name string) int {
	for last > 0 && !strings.Contains(lines[last], "*"+name) {
		last--
	}
	return last
}

// mistake returns the position and the description of the mistake that makes the YAML library refuse the
// document. The error of the library describes its parser, and often has a later line. With the right repair of
// a line the library reads further.
func (d Document) mistake(err error) Error {
	lines := strings.Split(string(d.Content), "\n")
	last := min(d.stop(), len(lines)) - 1
	if at, wrong := badEscape(lines, last, err); wrong != "" {
		return Error{Line: at + 1, message: wrong}
	}
	if last+1 < len(lines) && strings.Contains(err.Error(), "a tab character") && !tabbed.MatchString(lines[last]) {
		last++
	}
	if tabbed.MatchString(lines[last]) {
		return Error{last + 1,
			"a tab is in the indentation of this line: write spaces, as many as the lines beside it have", 0}
	}
	if match := unknownAnchor.FindStringSubmatch(err.Error()); match != nil {
		return Error{aliasAt(lines, last, match[1]) + 1,
			"no anchor with the name after this * is before it in its document: define it with &, or put the value " +
				"in quotes if it is text", 0}
	}
	reachesFurther := func(repaired []string) bool {
		return len(d.Content) < maxRepaired && Document{Content: []byte(strings.Join(repaired, "\n"))}.stop() > last+1
	}
	above := candidates(lines, last)
	for _, r := range repairs {
		for _, at := range append([]int{last}, above...) {
			repaired := slices.Clone(lines)
			for i := at; i < len(lines) && r.pattern.MatchString(lines[i]); i++ {
				repaired[i] = r.pattern.ReplaceAllString(lines[i], r.with)
			}
			if repaired[at] != lines[at] && reachesFurther(repaired) {
				return Error{at + 1, r.message, 0}
			}
		}
	}
	text := strings.TrimLeft(lines[last], " ")
	for _, by := range []int{1, -1, 2, -2, 3, -3, 4, -4, 6, -6, 8, -8} {
		repaired := slices.Clone(lines)
		repaired[last] = strings.Repeat(" ", max(0, len(lines[last])-len(text)+by)) + text
		if reachesFurther(repaired) {
			return Error{last + 1,
				fmt.Sprintf("the indentation of this line fits no line above: change it by %+d, or correct the line "+
					"before", by), 0}
		}
	}
	return Error{last + 1, position.ReplaceAllString(err.Error(), ""), 0}
}

// candidates returns the lines above that may have a mistake which shows in the last: the line before, and a
// few with brackets or with a quote that does not end there.
func candidates(lines []string, last int) (above []int) {
	for at := last - 1; at >= 0 && len(above) < 4; at-- {
		isOpen := strings.Count(lines[at], `"`)%2+strings.Count(lines[at], "'")%2 > 0 ||
			strings.ContainsAny(lines[at], "[{")
		if !isBlank([]byte(lines[at])) && (len(above) == 0 || isOpen) {
			above = append(above, at)
		}
	}
	return above
}

// Error is a problem at a line of a file, from 1.
type Error struct {
	Line    int
	message string
	// Other is the line of the same key before, or 0.
	Other int
}

// otherLine stands for Other in a message.
const otherLine = "\x00"

func (e Error) Error() string {
	return strings.ReplaceAll(e.message, otherLine, strconv.Itoa(e.Other))
}

// directive matches a line like %YAML 1.2 before a document.
var directive = regexp.MustCompile(`^(?:[ \t]*(?:#.*)?\r?\n)*%`)

// position matches the line in an error of the YAML library.
var position = regexp.MustCompile(`^yaml: (?:line \d+(?:: |, column \d+: )?)?| at line \d+$`)

// inFile returns an error of the document, or of the YAML library, as an Error with its line in the
// file.
func (d Document) inFile(err error) error {
	var at Error
	if errors.As(err, &at) {
		at.Line = d.fileLine(at.Line)
		if at.Other > 0 {
			at.Other = d.fileLine(at.Other)
		}
		return at
	}
	if start := directive.FindIndex(d.Content); start != nil {
		return Error{d.fileLine(d.lineOf(start[1])), "a directive like %YAML is not read: remove the line", 0}
	}
	at = d.mistake(err)
	return Error{d.fileLine(at.Line), "malformed YAML: " + at.message, 0}
}
