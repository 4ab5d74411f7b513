package at

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
)

// page shows the command and image of each Pod, after the overrides.
func page(v kind.View[cnatv1alpha1.At]) kind.Page {
	p := kind.Page{Columns: []kind.Column{{Name: "Runs"}, {Name: "Image", Shared: "All in the table run in %s."},
		{Name: "Notes"}}}
	for _, at := range v.Objects {
		p.Rows = append(p.Rows, kind.Row{Cells: pageCells(at)})
	}
	return p
}

func pageCells(at kind.Rendered[*cnatv1alpha1.At]) []kind.Cell {
	rendered := at.Child("", "Pod")
	if rendered == nil {
		return []kind.Cell{{kind.Plain("nothing: it has no Pod")}}
	}
	p := pod.Read(rendered)
	var notes kind.Cell
	add := func(note kind.Text) {
		if len(notes) > 0 {
			notes = append(notes, kind.Plain(", "))
		}
		notes = append(notes, note)
	}
	if at.Object.Spec.Suspend {
		add(kind.Bold("suspended"))
	}
	if seconds := ptr.Deref(at.Object.Spec.StartingDeadlineSeconds, 0); seconds > 0 {
		add(kind.Plain("starts at most " + duration(seconds) + " late"))
	}
	if seconds := ptr.Deref(p.Spec.ActiveDeadlineSeconds, 0); seconds > 0 {
		add(kind.Plain("runs at most " + duration(seconds)))
	}
	add(kind.Link("Pod", rendered))
	command := pod.Container(p, CommandContainer)
	return []kind.Cell{commandCell(command), {kind.Code(command.Image)}, notes}
}

// duration formats seconds in larger units: 1h30m.
func duration(seconds int64) string {
	var b strings.Builder
	for _, unit := range []struct {
		name    string
		seconds int64
	}{{"d", 24 * 60 * 60}, {"h", 60 * 60}, {"m", 60}, {"s", 1}} {
		if n := seconds / unit.seconds; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, unit.name)
		}
		seconds %= unit.seconds
	}
	return b.String()
}

// maxCode is the length at which the page cuts code, in characters.
const maxCode = 72

// preamble matches empty lines, comments and set commands of a script.
var preamble = regexp.MustCompile(`^\s*(#.*|set [-+].*)?$`)

// commandCell shows the command of a container: the script of a shell, or all words. Of several lines
// it shows the first after the preamble, and the number of lines.
func commandCell(container corev1.Container) kind.Cell {
	words := slices.Concat(container.Command, container.Args)
	if len(words) == 3 && words[0] == "sh" && words[1] == "-c" {
		words = words[2:]
	}
	script := strings.TrimSpace(strings.ReplaceAll(strings.Join(words, " "), "$$", "$"))
	lines := strings.Split(script, "\n")
	if len(lines) == 1 {
		return kind.Cell{kind.Code(script)}
	}
	first := max(0, slices.IndexFunc(lines, func(line string) bool { return !preamble.MatchString(line) }))
	howMany := fmt.Sprintf(" (%d lines)", len(lines))
	shown := []rune(strings.TrimSpace(lines[first]) + " …")
	if most := maxCode - len(howMany); len(shown) > most {
		shown = append(shown[:most-1], '…')
	}
	return kind.Cell{kind.Code(string(shown) + howMany)}
}
