package main

import (
	"slices"
	"sync"
	"time"
)

// moment is time that passed since the soak began, whatever the wall clock was set to.
type moment = time.Duration

// clock is the wall clock of this machine, which the controllers here go by, and what
// it was set to when.
type clock struct {
	start time.Time // carries elapsed time, too
	set   func(time.Time) error

	mutex sync.Mutex
	steps []step
}

// step is a moment from which on the wall clock was ahead of the elapsed time.
type step struct {
	from  moment
	ahead time.Duration
}

func newClock(set func(time.Time) error) *clock {
	return &clock{start: time.Now(), set: set, steps: []step{{}}}
}

func (c *clock) now() moment { return time.Since(c.start) }

// setAhead sets the wall clock ahead of the elapsed time, or behind it.
func (c *clock) setAhead(ahead time.Duration) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	last := c.steps[len(c.steps)-1]
	if ahead == last.ahead {
		return nil
	}
	before := c.now()
	if err := c.set(c.start.Round(0).Add(before + ahead)); err != nil {
		return err
	}
	from := before
	if ahead < last.ahead {
		from = c.now() // until here it may have been as late as before
	}
	c.steps = append(c.steps, step{from, ahead})
	return nil
}

// history returns all steps so far, the first at moment zero.
func (c *clock) history() history {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return history{c.start.Round(0), slices.Clone(c.steps)}
}

// history is what a wall clock was set to when.
type history struct {
	start time.Time
	steps []step
}

// wall is what the wall clock said at a moment.
func (h history) wall(at moment) time.Time {
	ahead := h.steps[0].ahead
	for _, s := range h.steps {
		if s.from <= at {
			ahead = s.ahead
		}
	}
	return h.start.Add(at + ahead)
}

// reaches is the first moment from a given one on at which the wall clock said a time
// or a later one.
func (h history) reaches(t time.Time, from moment) moment {
	for i, s := range h.steps {
		at := max(from, s.from, t.Sub(h.start)-s.ahead)
		if i == len(h.steps)-1 || at < h.steps[i+1].from {
			return at
		}
	}
	panic("a history has a step")
}

// steppedBetween says whether the wall clock was set between two moments.
func (h history) steppedBetween(from, to moment) bool {
	return slices.ContainsFunc(h.steps[1:], func(s step) bool { return from <= s.from && s.from <= to })
}
