package overview

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	kindat "example.com/gatehouse/kind/at"
)

// at is an At, and its Pod once overrides are done with it.
type at struct {
	placed
	owner         owner
	schedule      string // as it is written
	due           time.Time
	suspended     bool
	startDeadline int64 // seconds; 0 where there is none
	pod           *placed
}

// readAts reads Ats with their Pods. They are in the order in which they are due.
func readAts(written []placed, pods map[owner]placed) []*at {
	ats := make([]*at, len(written))
	for i, p := range written {
		a := &at{placed: p, owner: p.owner()}
		content := p.Object.Object
		a.schedule, _, _ = unstructured.NestedString(content, "spec", "schedule")
		a.due, _ = kindat.Schedule(cnatv1alpha1.AtSpec{Schedule: a.schedule}) // an At that was rendered has one
		a.suspended, _, _ = unstructured.NestedBool(content, "spec", "suspend")
		a.startDeadline, _, _ = unstructured.NestedInt64(content, "spec", "startingDeadlineSeconds")
		if pod, ok := pods[a.owner]; ok {
			a.pod = &pod
		}
		ats[i] = a
	}
	slices.SortFunc(ats, func(a, b *at) int { return cmp.Or(a.due.Compare(b.due), compareOwners(a.owner, b.owner)) })
	return ats
}

func (e *environment) writeAts(page *bytes.Buffer) {
	if len(e.ats) == 0 {
		return
	}
	fmt.Fprintf(page, "\n## Ats\n\n")
	writeTimeline(page, e.ats)

	shown := e.ats[:min(len(e.ats), maxRows)]
	specs := make([]*corev1.PodSpec, len(shown))
	var images []string
	for i, a := range shown {
		if a.pod != nil {
			specs[i] = &podOf(a.pod.Object.Object).Spec
			images = append(images, commandContainer(specs[i]).Image)
		}
	}
	image := common(images)
	if image != "" {
		fmt.Fprintf(page, " All in the table run in %s.", code(image))
	}
	page.WriteString("\n\n")
	t := table{columns: []string{"Schedule", "Namespace", "At", "Runs", "Notes"}}
	for i, a := range shown {
		t.add(a.cells(specs[i], image)...)
	}
	t.more(len(e.ats), "Ats")
	t.write(page)
}

// cells are the row of an At, with its image unless that is the one of all.
func (a *at) cells(spec *corev1.PodSpec, image string) []string {
	cells := []string{a.times(), word(a.owner.namespace), a.link(word(a.owner.name))}
	if spec == nil {
		return append(cells, "nothing: it has no Pod")
	}
	command := commandContainer(spec)
	runs := code(short(commandOf(command)))
	if image == "" {
		runs += " in " + code(command.Image)
	}
	return append(cells, runs, strings.Join(a.notes(spec), ", "))
}

// times are the schedule as it is written, and in UTC.
func (a *at) times() string {
	if _, offset := written(a.schedule).Zone(); offset == 0 {
		return code(a.schedule)
	}
	return code(a.schedule) + "<br>" + stamp(a.due) + " UTC"
}

// written is a schedule in its own time zone.
func written(schedule string) time.Time {
	t, _ := time.Parse(time.RFC3339, schedule)
	return t
}

// stamp is a time to the minute or, where that is not all, to its last digit.
func stamp(t time.Time) string { return t.Format("2006-01-02 " + clock(t)) }

// clock is the layout of the time of a day.
func clock(t time.Time) string {
	switch {
	case t.Nanosecond() != 0:
		return "15:04:05.999999999"
	case t.Second() != 0:
		return "15:04:05"
	}
	return "15:04"
}

// notes are what else decides whether and how long the command runs, and the Pod.
func (a *at) notes(spec *corev1.PodSpec) (notes []string) {
	if a.suspended {
		notes = append(notes, "**suspended**")
	}
	if a.startDeadline > 0 {
		notes = append(notes, "starts at most "+duration(a.startDeadline)+" late")
	}
	if seconds := ptr.Deref(spec.ActiveDeadlineSeconds, 0); seconds > 0 {
		notes = append(notes, "runs at most "+duration(seconds))
	}
	return append(notes, a.pod.link("Pod"))
}

// duration is a number of seconds in larger units.
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

// commandContainer is the container of a Pod that runs the command.
func commandContainer(spec *corev1.PodSpec) corev1.Container {
	for _, container := range spec.Containers {
		if container.Name == kindat.CommandContainer {
			return container
		}
	}
	return corev1.Container{}
}

// commandOf is what a container runs: the script of a shell, or all words.
func commandOf(container corev1.Container) string {
	words := slices.Concat(container.Command, container.Args)
	if len(words) == 3 && words[0] == "sh" && words[1] == "-c" {
		words = words[2:]
	}
	return strings.ReplaceAll(strings.Join(words, " "), "$$", "$")
}

// preamble matches lines of a script that say nothing of what it does.
var preamble = regexp.MustCompile(`^\s*(#.*|set [-+].*)?$`)

// short is the first line of a script that does something, and how many lines there are.
func short(script string) string {
	lines := strings.Split(strings.TrimSpace(script), "\n")
	if len(lines) == 1 {
		return lines[0]
	}
	first := lines[0]
	if i := slices.IndexFunc(lines, func(line string) bool { return !preamble.MatchString(line) }); i >= 0 {
		first = strings.TrimSpace(lines[i])
	}
	howMany := fmt.Sprintf(" (%d lines)", len(lines))
	return cut(first+" …", maxCode-len(howMany)) + howMany
}
