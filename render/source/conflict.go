package source

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// conflictMark matches a line that git leaves in a file that it could not merge. In YAML no
// line is like that: text is indented there.
var conflictMark = regexp.MustCompile(`^(?:<{7}|\|{7}|={7}|>{7})(?:[ \t]|\r?\n?$)`)

// conflict is a merge that nobody finished, by its lines, from 1. The other marks are
// missing where it was finished in part.
type conflict struct {
	mark             string // the first
	line, last       int
	isSplit, isWhole bool   // whether both sides are there, and the end
	unless           string // what to do where it is none
}

// conflicts are those in a file.
func conflicts(content []byte) (found []conflict) {
	number, isOpen := 0, false
	for line := range bytes.Lines(content) {
		number++
		if !strings.ContainsRune("<|=>", rune(line[0])) || !conflictMark.Match(line) {
			continue
		}
		mark := line[:len("<<<<<<<")]
		if mark[0] == '<' || !isOpen {
			found = append(found, conflict{mark: string(mark), line: number})
			isOpen = mark[0] == '<'
		}
		c := &found[len(found)-1]
		c.last = number
		switch {
		case !isOpen:
		case mark[0] == '=':
			c.isSplit = true
		case mark[0] == '>':
			c.isWhole, isOpen = c.isSplit, false
		}
	}
	return found
}

// reportConflicts notes the conflicts in a file, and says whether there are any.
func (s *Sources) reportConflicts(file string, found []conflict) bool {
	for _, c := range found {
		if c.last == c.line {
			s.problem(file, c.line, "%s is left of a merge conflict: remove the line, and see whether what is around it is right", c.mark)
			continue
		}
		s.problem(file, c.line, "an unresolved merge conflict, to line %d: keep what is right of it, and remove the lines of <<<<<<<, ======= and >>>>>>>%s", c.last, c.unless)
	}
	return len(found) > 0
}

// isConflicted says whether a file that a generator reads has conflicts, and notes them. In
// what may be any text a line of ======= is a heading: there a conflict is all that git
// writes, one after the other.
func (s *Sources) isConflicted(file string, l loads) bool {
	content, err := s.FS.content(file)
	if err != nil {
		return false // the build says so
	}
	found := conflicts(content)
	if l.key != "files" {
		return s.reportConflicts(file, found)
	}
	found = slices.DeleteFunc(found, func(c conflict) bool { return !c.isWhole })
	for i := range found {
		found[i].unless = "; a text that is to have them goes into the manifest of a ConfigMap, where it is indented"
	}
	return s.reportConflicts(file, found)
}
