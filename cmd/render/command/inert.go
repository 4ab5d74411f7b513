package command

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/fatih/color"
	"golang.org/x/term"

	"example.com/gatehouse/kind"
)

// inert is a writer whose text is only read: it controls no terminal, and no runner of workflows takes a line for a
// command. It escapes invisible characters and control characters, and the mark that completes a command: GitHub and
// other runners take ##[name] anywhere in a line, and ::name:: at its start.
type inert struct {
	to        io.Writer
	isColored bool
	escape    func(r rune) string

	mu   sync.Mutex
	rest []byte // the first bytes of a character
	line line
}

// line is the state of a line of output.
type line struct {
	last   rune
	colons int  // at its start: 2 for a line that may be a command, and another number otherwise
	isText bool // has more than spaces and colons
	isMark bool // ends in ## and a word
}

// newInert returns a writer for a stream of the process.
func newInert(file *os.File) *inert {
	return &inert{to: file, isColored: isColored(file), escape: escapeText}
}

// buffered returns a writer like another one, for many short texts, and the function that ends it.
func buffered(out io.Writer) (w *inert, flush func() error) {
	b := bufio.NewWriter(raw(out))
	return &inert{to: b, isColored: isColored(out), escape: escapeText}, b.Flush
}

// raw returns the writer below an inert one.
func raw(w io.Writer) io.Writer {
	if w, is := w.(*inert); is {
		return w.to
	}
	return w
}

// Write implements io.Writer.
func (w *inert) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, text...)
	escaped := make([]byte, 0, len(w.rest))
	for utf8.FullRune(w.rest) {
		r, size := utf8.DecodeRune(w.rest)
		if w.line.isPlain(r) {
			escaped = utf8.AppendRune(escaped, r)
		} else {
			escaped = append(escaped, w.escape(r)...)
		}
		w.line.add(r)
		w.rest = w.rest[size:]
	}
	if _, err := w.to.Write(escaped); err != nil {
		return 0, err
	}
	return len(text), nil
}

// isPlain reports whether a character may follow in the line as it is.
func (l *line) isPlain(r rune) bool {
	switch r {
	case '\n', '\t':
		return true
	case '[':
		return !l.isMark
	case ':':
		return l.colons != 2 || l.last != ':' || !l.isText
	case '\ufe0f':
		return l.last == '⚠' // the mark of a risk
	}
	return ' ' <= r && r <= '~' || kind.Visible(string(r)) == string(r)
}

func (l *line) add(r rune) {
	isSpace := r == ' ' || r == '\t'
	switch {
	case r == '\n':
		*l = line{}
		return
	case r == ':' && !l.isText && (l.colons == 0 || l.last == ':'):
		l.colons++
	case !isSpace || l.colons > 0:
		l.isText = true
	}
	l.isMark = r == '#' && l.last == '#' || l.isMark && (unicode.IsLetter(r) || unicode.IsDigit(r))
	l.last = r
}

// escapeText escapes a character as Go does.
func escapeText(r rune) string {
	if ' ' <= r && r <= '~' {
		return fmt.Sprintf(`\x%02x`, r)
	}
	return kind.Visible(string(r))
}

func escapeJSON(r rune) (escaped string) {
	for _, unit := range utf16.Encode([]rune{r}) {
		escaped += fmt.Sprintf(`\u%04x`, unit)
	}
	return escaped
}

// paint prints a text, in a color if w is a terminal.
func paint(w io.Writer, text string, attribute color.Attribute) {
	if !isColored(w) {
		fmt.Fprint(w, text)
		return
	}
	painted := color.New(attribute)
	painted.EnableColor() // the package asks about stdout
	painted.SetWriter(raw(w))
	fmt.Fprint(w, text)
	painted.UnsetWriter(raw(w))
}

// isColored reports whether w is a terminal that may show colors.
func isColored(w io.Writer) bool {
	if w, is := w.(*inert); is {
		return w.isColored
	}
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

func isTerminal(w io.Writer) bool {
	file, ok := raw(w).(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
