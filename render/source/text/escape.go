package text

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
)

var (
	// escapeError matches the errors of yaml.v3 about escapes in double quotes.
	escapeError = regexp.MustCompile(`unknown escape character|invalid Unicode character escape|hexdecimal number`)

	// escaped matches a surrogate pair or another escape, with a backslash that is escaped itself.
	escaped = regexp.MustCompile(`\\(?:u[dD][89abAB][[:xdigit:]]{2}\\u[dD][c-fC-F][[:xdigit:]]{2}|` +
		`[uUx][[:xdigit:]]{0,8}|.)`)

	// known matches the escapes of YAML, as kustomize reads it.
	known = regexp.MustCompile(`^\\(?:x[[:xdigit:]]{2}|u[[:xdigit:]]{4}|U[[:xdigit:]]{8}|[0abt\tnvfre "'\\N_LP])`)

	surrogate = regexp.MustCompile(`^\\u([dD][89a-fA-F][[:xdigit:]]{2})(?:\\u([[:xdigit:]]{4}))?`)
)

// badEscape returns the line of the escape that an error is about, from 0, and its correction; "" if the error is
// about something else.
func badEscape(lines []string, last int, err error) (line int, wrong string) {
	if !escapeError.MatchString(err.Error()) {
		return 0, ""
	}
	for line = last; line >= 0; line-- {
		for _, e := range escaped.FindAllString(lines[line], -1) {
			if wrong := correctEscape(e); wrong != "" {
				return line, wrong
			}
		}
	}
	return 0, ""
}

// correctEscape returns the correction of an escape that YAML lacks, or "".
func correctEscape(e string) string {
	if half := surrogate.FindStringSubmatch(e); half != nil {
		first, _ := strconv.ParseInt(half[1], 16, 32)
		second, _ := strconv.ParseInt(half[2], 16, 32)
		if r := utf16.DecodeRune(rune(first), rune(second)); r != '\ufffd' {
			return "YAML has no escape " + e + ", which JSON has: write the character itself, " + string(r)
		}
		return "the escape " + e[:6] + " is half a character: write the character itself"
	}
	switch {
	case e == `\/`:
		return `YAML has no escape \/, which JSON has: write / alone`
	case known.MatchString(e):
		return ""
	case strings.ContainsAny(e[1:2], "xuU"):
		return "the escape " + e + " has too few digits: write \\x with two, \\u with four or \\U with eight"
	}
	return "YAML has no escape " + e + ": write \\" + e + " for a backslash, or put the text in single quotes"
}
