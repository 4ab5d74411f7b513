package main

import (
	"context"
	"expvar"
	"fmt"
	"io"
	"slices"
	"time"
)

// result is the verdict on the commands and statuses of all Ats.
type result struct {
	once, not, ambiguous int // ran once; did not run, rightly; was allowed to run, and did not
	restarts             int // of containers
	wrong                map[string][]string
	delays               []time.Duration // from due to started
}

// The kinds of findings.
const (
	double   = "started twice"
	lost     = "did not start"
	early    = "started early"
	unwanted = "started although withdrawn, suspended or past its deadline"
	misled   = "status says otherwise"
	letIn    = "Pod let in without its gate"
)

var wrongs = []string{double, lost, early, unwanted, misled, letIn}

// judgeAll returns the verdict on everything so far.
func (s *soak) judgeAll() result {
	return judgeTrials(s.trials, s.counter.startsOf, s.clock.history(), s.clock.now())
}

// judgeTrials compares the starts until a moment with the expected starts.
func judgeTrials(trials []*trial, startsOf func(command string) []start, h history, until moment) result {
	r := result{wrong: map[string][]string{}}
	for _, t := range trials {
		for _, v := range t.versions {
			r.judge(t, v, startsOf(v.command), h, until)
		}
		if t.over && t.wrong != "" {
			r.add(misled, t, "%s", t.wrong)
		}
		if t.letIn {
			r.add(letIn, t, "")
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

// addDelay notes how long after it was due a command started, if it was in the cluster by then.
func (r *result) addDelay(v *version, s start, h history) {
	w := v.windows[0]
	if due := h.reaches(v.due, 0); !w.held && len(v.windows) == 1 && w.offered.to != 0 && due > w.offered.to {
		r.delays = append(r.delays, max(0, s.at-h.reaches(v.due, w.offered.to)))
	}
}

func (r *result) add(finding string, t *trial, format string, args ...any) {
	r.wrong[finding] = append(r.wrong[finding], fmt.Sprintf("%s (%s): ", t.name, t.story)+fmt.Sprintf(format, args...))
}

// print prints counts, and a line for each thing that was wrong.
func (s *soak) print(out io.Writer, r result) {
	row := func(name string, value any) { fmt.Fprintf(out, "  %-62s %v\n", name, value) }
	fmt.Fprintf(out, "%d Ats in %s\n", len(s.trials), s.clock.now().Round(time.Second))
	row("ran exactly once", r.once)
	row("did not run, rightly", r.not)
	row("at most once, did not run", r.ambiguous)
	for _, finding := range wrongs {
		row(finding, len(r.wrong[finding]))
	}
	row("restarts of containers", r.restarts)
	if slices.Sort(r.delays); len(r.delays) > 0 {
		last := len(r.delays) - 1
		row("start after due", fmt.Sprintf("p50 %.1f s, p99 %.1f s, max %.1f s", r.delays[last/2].Seconds(),
			r.delays[last*99/100].Seconds(), r.delays[last].Seconds()))
	}
	s.counts.Do(func(count expvar.KeyValue) { row(count.Key, count.Value) })
	for _, finding := range wrongs {
		for _, line := range r.wrong[finding] {
			fmt.Fprintf(out, "%s: %s\n", finding, line)
		}
	}
}

// report logs a line about the progress every half a minute until ctx is done.
func (s *soak) report(ctx context.Context) {
	for pause(ctx, 30*time.Second) {
		s.mutex.Lock()
		over := 0
		wrong := 0
		r := s.judgeAll()
		for _, t := range s.trials {
			if t.over {
				over++
			}
		}
		for _, lines := range r.wrong {
			wrong += len(lines)
		}
		s.log("%s of %s: %d Ats, %d over, %d ran once, %d wrong, %s", s.clock.now().Round(time.Second), s.duration,
			len(s.trials), over, r.once, wrong, &s.counts)
		s.mutex.Unlock()
	}
}
