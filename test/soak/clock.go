package main

import (
	"slices"
	"sync"
	"time"
)

// moment is the time since the soak began. Steps of the wall clock do not change it.
type moment = time.Duration

// clock is the wall clock of this machine, with a record of its steps. The controllers act by it.
type clock struct {
	start time.Time // has a monotonic reading, too

	mutex sync.Mutex
	steps []step
}

// step is the moment at which the wall clock was set, and how far it was ahead of the elapsed time
// from then on.
type step struct {
	from  moment
	ahead time.Duration
}

func newClock() *clock { return &clock{start: time.Now(), steps: []step{{}}} }

func (c *clock) now() moment { return time.Since(c.start) }

// setAhead sets the wall clock ahead of the elapsed time, or behind it.
func (c *clock) setAhead(ahead time.Duration) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	last := c.steps[len(c.steps)-1]
	if ahead == last.ahead {
		return nil
	}
	from := c.now()
	if err := setTime(c.start.Round(0).Add(from + ahead)); err != nil {
		return err
	}
	if ahead < last.ahead {
		from = c.now() // until here it may have been as late as before
	}
	c.steps = append(c.steps, step{from, ahead})
	return nil
}

// history returns the steps so far. The first one is at moment zero.
func (c *clock) history() history {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return history{c.start.Round(0), slices.Clone(c.steps)}
}

// history is the record of a wall clock's steps.
type history struct {
	start time.Time
	steps []step
}

// wall returns the time that the wall clock showed at a moment.
func (h history) wall(at moment) time.Time {
	ahead := h.steps[0].ahead
	for _, s := range h.steps {
		if s.from <= at {
			ahead = s.ahead
		}
	}
	return h.start.Add(at + ahead)
}

// reaches returns the first moment, not before from, at which the wall clock showed t or later.
func (h history) reaches(t time.Time, from moment) moment {
	for i, s := range h.steps {
		at := max(from, s.from, t.Sub(h.start)-s.ahead)
		if i == len(h.steps)-1 || at < h.steps[i+1].from {
			return at
		}
	}
	panic("a history has a step")
}

// steppedBetween reports whether the wall clock was set between two moments.
func (h history) steppedBetween(from, to moment) bool {
	return slices.ContainsFunc(h.steps[1:], func(s step) bool { return from <= s.from && s.from <= to })
}
