package oracle

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// scalar matches a value on a line of YAML.
var scalar = regexp.MustCompile(`(?:: |^\s*- |[{\[,] ?)["']?([^\s"'{}\[\],#&*|>:][^"'{}\[\],#:]*[^\s"'{}\[\],#:]|[\w.])["']?`)

// mutation changes a tree.
type mutation struct {
	*rand.Rand
	dir   string
	files []string // relative to dir
}

// apply makes one change, and says which.
func (m *mutation) apply() string {
	name := m.files[m.IntN(len(m.files))]
	at := filepath.Join(m.dir, name)
	content := must(os.ReadFile(at))
	lines := strings.SplitAfter(string(content), "\n")
	from, to := m.block(lines)
	said := fmt.Sprintf("%q", strings.TrimSpace(lines[from]))
	switch n := m.IntN(20); {
	case n < 8:
		said = m.changeScalar(lines)
	case n < 10:
		lines, said = slices.Delete(lines, from, to), "remove "+said
	case n < 11:
		again := slices.Clone(lines[from:to])
		m.changeScalar(again)
		lines, said = slices.Insert(lines, to, again...), "repeat "+said
	case n < 12:
		lines[from], said = "# "+lines[from], "comment out "+said
	case n < 13:
		lines, said = append(lines, "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: added, namespace: default}\n"), "add an object"
	case n < 14:
		lines, said = []string{strings.ReplaceAll(string(content), "\n", "\r\n")}, "change line ends"
	default:
		return m.moveFile(name) + " " + name
	}
	must(0, os.WriteFile(at, []byte(strings.Join(lines, "")), 0o600))
	return said + " in " + name
}

// block returns the bounds of a line and the lines that belong to it.
func (m *mutation) block(lines []string) (from, to int) {
	indent := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	from = m.IntN(len(lines))
	to = from + 1
	for to < len(lines) && indent(lines[to]) > indent(lines[from]) {
		to++
	}
	return from, to
}

// changeScalar changes a value: to another one of its type, or to one of the same file.
func (m *mutation) changeScalar(lines []string) string {
	type place struct{ line, from, to int }
	var places []place
	for i, line := range lines {
		for _, match := range scalar.FindAllStringSubmatchIndex(line, -1) {
			places = append(places, place{i, match[2], match[3]})
		}
	}
	if len(places) == 0 {
		return "change nothing"
	}
	p, other := places[m.IntN(len(places))], places[m.IntN(len(places))]
	was, is := lines[p.line][p.from:p.to], lines[other.line][other.from:other.to]
	number, err := strconv.Atoi(was)
	switch {
	case m.IntN(4) == 0: // keeps is
	case err == nil:
		is = strconv.Itoa(number + 1)
	case was == "true", was == "false":
		is = strconv.FormatBool(was == "false")
	default:
		is = was + "x"
	}
	lines[p.line] = lines[p.line][:p.from] + is + lines[p.line][p.to:]
	return fmt.Sprintf("write %s for %s", is, was)
}

// moveFile removes, renames, copies, links or hides a file.
func (m *mutation) moveFile(name string) string {
	at := filepath.Join(m.dir, name)
	beside := func(prefix string) string { return filepath.Join(filepath.Dir(at), prefix+filepath.Base(at)) }
	other := filepath.Dir(m.files[m.IntN(len(m.files))])
	switch m.IntN(8) {
	case 0:
		must(0, os.Remove(at))
		return "remove"
	case 1:
		must(0, os.Rename(at, beside("renamed-")))
		return "rename"
	case 2:
		must(0, os.Rename(at, at+".txt"))
		return "rename to .txt"
	case 3:
		must(0, os.WriteFile(beside("copy-"), must(os.ReadFile(at)), 0o600))
		return "copy"
	case 4:
		must(0, os.Rename(at, beside("target-")))
		must(0, os.Symlink("target-"+filepath.Base(at), at))
		return "link"
	case 5:
		must(0, os.Rename(at, filepath.Join(m.dir, other, filepath.Base(name))))
		return "move to " + other + ":"
	case 6:
		if filepath.Dir(name) != "." {
			must(0, os.Rename(filepath.Dir(at), filepath.Dir(at)+"-renamed"))
			return "rename the folder of"
		}
	}
	ignored := []string{name, filepath.Dir(name)}[m.IntN(2)]
	must(0, os.WriteFile(filepath.Join(m.dir, ".sourceignore"), []byte("/"+ignored+"\n"), 0o600))
	return "ignore " + ignored + " beside"
}
