package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
)

// result is what came of the commands of all Ats.
type result struct {
	once, not, ambiguous int // ran once; did not run, rightly; may have run, and did not
	restarts             int // of containers
	wrong                map[string][]string
	delays               []time.Duration
}

// The ways to be wrong, in the order in which they are printed.
const (
	double   = "double"
	lost     = "lost"
	early    = "early"
	unwanted = "unwanted" // a start of what was withdrawn or suspended, or after its deadline
	misled   = "statuses that say otherwise"
)

var wrongs = []string{double, lost, early, unwanted, misled}

// judgeAll compares what happened with what should have.
func judgeAll(trials []*trial, startsOf func(string) []start, h history, until moment) result {
	r := result{wrong: map[string][]string{}}
	for _, t := range trials {
		for _, v := range t.versions {
			r.judge(t, v, startsOf(v.command), h, until)
		}
		if t.over && t.wrong != "" {
			r.add(misled, t, "%s", t.wrong)
		}
	}
	return r
}

func (r *result) judge(t *trial, v *version, starts []start, h history, until moment) {
	expected, ran := v.expect(h, starts, until), runs(starts)
	r.restarts += len(starts) - len(ran)
	switch {
	case len(ran) > 1 || len(starts) > 1 && v.does != restarts:
		r.add(double, t, "%s: %+v", v.command, starts)
	case len(ran) == 0 && expected == once:
		r.add(lost, t, "%s, due at %s", v.command, v.due)
	case len(ran) == 0 && expected == never:
		r.not++
	case len(ran) == 0:
		r.ambiguous++
	case v.isEarly(starts[0], t.pods[starts[0].pod], h):
		r.add(early, t, "%s: due at %s, started at %s", v.command, v.due, h.wall(starts[0].at))
	case expected == never:
		r.add(unwanted, t, "%s: due at %s, started at %s", v.command, v.due, h.wall(starts[0].at))
	default:
		r.once++
		r.addDelay(v, starts[0], h)
	}
}

// addDelay takes down how long after it was due a command started, if it was there in
// time.
func (r *result) addDelay(v *version, s start, h history) {
	w := v.windows[0]
	if due := h.reaches(v.due, 0); !w.held && len(v.windows) == 1 && w.offered.to != 0 && due > w.offered.to {
		r.delays = append(r.delays, max(0, s.at-h.reaches(v.due, w.offered.to)))
	}
}

func (r *result) add(what string, t *trial, format string, args ...any) {
	r.wrong[what] = append(r.wrong[what], fmt.Sprintf("%s (%s): ", t.name, t.kind)+fmt.Sprintf(format, args...))
}

// failed says whether anything was wrong.
func (r *result) failed() bool { return len(r.wrong) > 0 }

// print prints the table, and what was wrong.
func (s *soak) print(out io.Writer, r result) {
	row := func(name, format string, values ...any) {
		fmt.Fprintf(out, "  %-34s "+format+"\n", append([]any{name}, values...)...)
	}
	fmt.Fprintf(out, "%d Ats in %s, by %s\n", len(s.trials), s.clock.now().Round(time.Second), s.delivery)
	row("ran exactly once", "%d", r.once)
	row("did not run, rightly", "%d", r.not)
	row("at most once, did not run", "%d", r.ambiguous)
	for _, what := range wrongs {
		row(what, "%d", len(r.wrong[what]))
	}
	row("restarts of containers", "%d", r.restarts)
	row("start after due", "p50 %.1f s, p99 %.1f s, max %.1f s", percentile(r.delays, 0.5).Seconds(), percentile(r.delays, 0.99).Seconds(), percentile(r.delays, 1).Seconds())
	for _, what := range slices.Sorted(maps.Keys(s.counts.all())) {
		row(what, "%d", s.counts.all()[what])
	}
	row("syncs", "%d, p50 %.1f s, max %.1f s", len(s.rounds), percentile(s.rounds, 0.5).Seconds(), percentile(s.rounds, 1).Seconds())
	for _, request := range slices.Sorted(maps.Keys(s.writes.total)) {
		n := s.writes.total[request]
		row("requests "+request, "%.0f, %.2f an At", n, n/float64(max(1, len(s.trials))))
	}
	for _, what := range wrongs {
		for _, line := range r.wrong[what] {
			fmt.Fprintf(out, "%s: %s\n", what, line)
		}
	}
}

// String says how it delivers.
func (d *delivery) String() string {
	if d.flux == "" {
		return "server-side apply, without Flux: set E2E_FLUX to have Flux sync"
	}
	return "Flux"
}

// line says how far the soak is.
func (s *soak) line() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	over := 0
	for _, t := range s.trials {
		if t.over {
			over++
		}
	}
	r := judgeAll(s.trials, s.counter.of, s.clock.history(), s.clock.now())
	parts := []string{fmt.Sprintf("%s of %s: %d Ats, %d over, %d ran once", s.clock.now().Round(time.Second), s.duration, len(s.trials), over, r.once)}
	for _, what := range wrongs {
		parts = append(parts, fmt.Sprintf("%d %s", len(r.wrong[what]), what))
	}
	return strings.Join(append(parts, s.counts.String()), ", ")
}

// progress prints a line over and over on a terminal, and every half a minute elsewhere.
type progress struct {
	last    time.Time
	pending bool // on a terminal, in a line that has not ended
}

// end ends the line.
func (p *progress) end() {
	if p.pending {
		fmt.Fprintln(os.Stderr)
		p.pending = false
	}
}

func (p *progress) print(line func() string) {
	width, _, err := term.GetSize(int(os.Stderr.Fd())) // #nosec G115 -- a file descriptor
	switch {
	case err == nil:
		text := line()
		p.pending = true
		fmt.Fprint(os.Stderr, "\r\033[K"+text[:max(0, min(len(text), width-1))])
	case time.Since(p.last) >= 30*time.Second:
		fmt.Fprintln(os.Stderr, line())
		p.last = time.Now()
	}
}
