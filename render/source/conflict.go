package source

import (
	"bytes"
	"regexp"
	"slices"
)

var (
	// conflictMark matches a line that git leaves in a file that it could not merge. YAML has no
	// such line, as text is indented.
	conflictMark = regexp.MustCompile(`(?m)^(?:<{7}|\|{7}|={7}|>{7})(?:[ \t].*)?\r?$`)

	// wholeConflict matches all lines of a conflict. In text that is not YAML a line of ======= may
	// be a heading.
	wholeConflict = regexp.MustCompile(`(?ms)^<{7}(?:[ \t][^\n]*)?\r?$.*?^={7}(?:[ \t][^\n]*)?\r?$.*?^>{7}(?:[ \t][^\n]*)?\r?$`)
)

// conflictLines returns the lines, from 1, on which conflicts start: the first mark, and each
// <<<<<<< after it.
func conflictLines(content []byte) (lines []int) {
	if !slices.ContainsFunc([]string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"}, func(mark string) bool { return bytes.Contains(content, []byte(mark)) }) {
		return nil // sooner than by the expression
	}
	for _, at := range conflictMark.FindAllIndex(content, -1) {
		if content[at[0]] == '<' || len(lines) == 0 {
			lines = append(lines, 1+bytes.Count(content[:at[0]], []byte("\n")))
		}
	}
	return lines
}

// reportConflicts reports the conflicts in a file, and returns whether there are any.
func (s *Sources) reportConflicts(file string, content []byte) bool {
	lines := conflictLines(content)
	for _, line := range lines {
		s.report(file, line, "an unresolved merge conflict: keep what is right of it, and remove the lines of <<<<<<<, ======= and >>>>>>>")
	}
	return len(lines) > 0
}

// checkConflicts reports the conflicts in a file that a generator reads.
func (s *Sources) checkConflicts(file string, l loads) {
	_, content, err := s.FS.find(file)
	if err == nil && (l.key != "files" || wholeConflict.Match(content)) { // kustomize reports the error
		s.reportConflicts(file, content)
	}
}
