package command

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/fatih/color"
	"github.com/mitchellh/go-wordwrap"
	"golang.org/x/term"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/gatehouse/render/manifest"
)

// found has the problems of an environment, or of none.
type found struct {
	environment string
	problems    []manifest.Problem
}

// cause has problems of one cause, in the order of their files, and the environments that have any of them.
type cause struct {
	problems     []manifest.Problem
	environments []string
}

// grouping selects the problems that are one line.
type grouping int

const (
	// each is a line for each problem.
	each grouping = iota
	// byCause is a line for the problems that name the same cause, or have one place and message: elsewhere than on a
	// terminal, where editors and programs look for the others by their files.
	byCause
	// alike is byCause, and a line for the problems with one message, or of one field of the items of a list.
	alike
)

// groupingOf returns the grouping of what is printed to w.
func (f selected) groupingOf(w io.Writer) grouping {
	switch {
	case f.isVerbose:
		return each
	case widthOf(w) == 0:
		return byCause
	}
	return alike
}

// causesOf groups problems by their causes, without the same problem of a shared base. The order is by environment,
// those with errors first; then errors before warnings, and of each what the API server refuses, Secrets in plain text,
// conflicts, and the others.
func causesOf(all []found, by grouping) (causes []*cause) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b found) int {
		return -compareBools(manifest.HasErrors(a.problems), manifest.HasErrors(b.problems))
	})
	byKey := map[string]*cause{}
	rank := map[string]int{}
	for i, e := range all {
		rank[e.environment] = i
		for _, p := range e.problems {
			line := p.String()
			keys := slices.Concat([]string{line}, causeKeys(p, by))
			var c *cause
			for _, key := range keys {
				c = cmp.Or(c, byKey[key])
			}
			if c == nil {
				c = &cause{}
				causes = append(causes, c)
			}
			if byKey[line] == nil {
				c.problems = append(c.problems, p)
			}
			for _, key := range keys {
				byKey[key] = cmp.Or(byKey[key], c)
			}
			if !slices.Contains(c.environments, e.environment) {
				c.environments = append(c.environments, e.environment)
			}
		}
	}
	slices.SortStableFunc(causes, func(a, b *cause) int {
		first := a.problems[0]
		second := b.problems[0]
		return cmp.Or(
			cmp.Compare(rank[a.environments[0]], rank[b.environments[0]]),
			compareBools(first.Warning, second.Warning),
			cmp.Compare(classOf(first), classOf(second)),
			slices.Compare(a.environments, b.environments))
	})
	return causes
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// causeKeys returns keys; problems that share one are one line.
func causeKeys(p manifest.Problem, by grouping) (keys []string) {
	start := fmt.Sprintf("%s %t ", p.Code, p.Warning)
	switch {
	case by == each:
		return nil
	case p.Cause != "":
		return []string{start + p.Cause}
	case by == byCause && p.Line > 0: // of a component, perhaps, with objects of many namespaces
		return []string{start + p.Position() + " " + p.Message}
	case by == byCause:
		return nil
	}
	keys = []string{start + "message " + p.Message}
	if p.Object != "" && p.Field != "" {
		keys = append(keys, start+p.Object+" "+manifest.FieldOfItems(p.Field))
	}
	return keys
}

// ofServer are the codes of problems with an object that the API server, or a tool before it, refuses.
var ofServer = []metav1.CauseType{metav1.CauseTypeForbidden, metav1.CauseTypeFieldValueRequired,
	metav1.CauseTypeFieldValueInvalid, metav1.CauseTypeFieldValueNotSupported, metav1.CauseTypeFieldValueDuplicate,
	metav1.CauseTypeFieldValueNotFound, metav1.CauseTypeTypeInvalid, metav1.CauseTypeTooLong, metav1.CauseTypeTooMany,
	"FieldValueTooFew", manifest.FieldUnknown, manifest.InvalidObject, manifest.PolicyDenied, manifest.InvalidVariable,
	manifest.MissingDefinition, manifest.ClusterRefused}

// classOf orders problems by the haste that they need.
func classOf(p manifest.Problem) int {
	isForbidden := p.Code == metav1.CauseTypeForbidden
	switch {
	case isForbidden && p.Subject.Unstructured != nil && manifest.IsSecret(p.Subject.Unstructured):
		return 1
	case slices.Contains(ofServer, p.Code):
		return 0
	case p.Code == manifest.DuplicateObject, p.Code == manifest.ScaledTwice:
		return 2
	}
	return 3
}

// isHidden reports whether some problems show only as a number.
func isHidden(causes []*cause) bool {
	return slices.ContainsFunc(causes, func(c *cause) bool { return len(c.problems) > 1 })
}

// rest counts the problems but the first, with the first of their places.
func (c *cause) rest(most int) string {
	if len(c.problems) == 1 {
		return ""
	}
	var places []string
	for _, p := range c.problems {
		place := cmp.Or(p.Position(), p.Object)
		if p.Position() == c.problems[0].Position() {
			place = p.Object // of a generator
		}
		if place != "" && !slices.Contains(places, place) && place != c.problems[0].Object {
			places = append(places, place)
		}
	}
	text := fmt.Sprintf("%d more", len(c.problems)-1)
	if len(places) > most {
		places = append(places[:most], "…")
	}
	if len(places) > 0 {
		text += ": " + strings.Join(places, ", ")
	}
	return text
}

// printCauses prints problems: on a terminal below the names of their environments, in colors and no wider than it, and
// elsewhere a cause a line, as editors read it.
func printCauses(w io.Writer, causes []*cause) {
	const mostPlaces = 3
	width := widthOf(w)
	before := ""
	for _, c := range causes {
		if names := manifest.FirstOf(mostPlaces, c.environments); width > 0 && names != before {
			paint(w, names+"\n", color.Bold)
			before = names
		}
		first := c.problems[0]
		text := first.String()
		if rest := c.rest(mostPlaces); rest != "" {
			text += "; " + rest
		}
		text = wrapped(text, width)
		if first.Warning { // as String says
			start, end, _ := strings.Cut(text, "warning:")
			fmt.Fprint(w, start)
			paint(w, "warning:", color.FgYellow)
			text = end
		}
		fmt.Fprintln(w, text)
	}
}

// widthOf returns the width of a terminal, and 0 of anything else.
func widthOf(w io.Writer) int {
	file, isFile := raw(w).(*os.File)
	if !isFile || !isTerminal(w) {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return max(width, 40)
}

// wrapped breaks a text at a width, with later lines indented. Without a width it stays as it is.
func wrapped(text string, width int) string {
	const indent = "    "
	if width == 0 {
		return text
	}
	return strings.ReplaceAll(wordwrap.WrapString(text, uint(width-len(indent))), "\n", "\n"+indent)
}
