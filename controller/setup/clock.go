package setup

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"example.com/gatehouse/controller/status"
)

const (
	// narrowEnough is the distance of bounds at which a Clock sends no probe. Ats open late by up
	// to this.
	narrowEnough = 20 * time.Millisecond
	// clockDrift bounds how fast two clocks drift apart: by a second in so many.
	clockDrift = 5000
	// wrongClock is the least offset of the machine's clock that the log reports.
	wrongClock = 2 * time.Second
)

var clockOffset = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "gatehouse_clock_offset_seconds",
	Help: "How far the clock of this machine is ahead of the API server's; 0 as far as the two agree.",
})

func init() { metrics.Registry.MustRegister(clockOffset) }

// Clock tells the time of the API server. Each answer of the API server is dated to the second. A
// Clock keeps the bounds that all answers leave for the server's time, and counts on from there by
// elapsed time. It ignores the clock of the machine. A Clock implements clock.PassiveClock.
type Clock struct {
	// Elapsed returns the time since a fixed instant. Nil for the time since its first call.
	Elapsed func() time.Duration

	mu               sync.Mutex
	start            time.Time
	earliest, latest time.Time // bounds of the server's time when nothing had elapsed
	measured         time.Duration
}

func (c *Clock) elapsed() time.Duration {
	if c.Elapsed != nil {
		return c.Elapsed()
	}
	if c.start.IsZero() {
		c.start = time.Now()
	}
	return time.Since(c.start)
}

// Observe narrows the bounds by the date of an answer, a whole second. Sent and answered are
// instants of elapsed time. A date outside of the bounds replaces them: the server's clock was set, or
// this machine slept.
func (c *Clock) Observe(date time.Time, sent, answered time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	earliest := date.Add(-answered)
	latest := date.Add(time.Second - sent)
	before, after := c.bounds(answered)
	if !c.earliest.IsZero() && !earliest.After(after) && !latest.Before(before) {
		earliest = status.Latest(earliest, before)
		latest = status.Earliest(latest, after)
	}
	c.earliest = earliest
	c.latest = latest
	c.measured = answered
}

// bounds returns the bounds at an instant of elapsed time.
func (c *Clock) bounds(elapsed time.Duration) (earliest, latest time.Time) {
	drift := (elapsed - c.measured) / clockDrift
	return c.earliest.Add(-drift), c.latest.Add(drift)
}

// Now returns the lower bound: the API server's clock shows this time or a later one. Before the
// first answer it returns the beginning of 1970, when nothing is due.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.earliest.IsZero() {
		return time.Unix(0, 0)
	}
	elapsed := c.elapsed()
	earliest, _ := c.bounds(elapsed)
	return earliest.Add(elapsed)
}

// Since implements clock.PassiveClock.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Check returns an error before the first answer. It is a readiness check.
func (c *Clock) Check(*http.Request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.earliest.IsZero() {
		return errors.New("no answer of the API server has the header Date")
	}
	return nil
}

// Watch returns a configuration whose clients pass the dates of their answers to the Clock.
func (c *Clock) Watch(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return RoundTripper(func(request *http.Request) (*http.Response, error) {
			sent := c.timestamp()
			response, err := next.RoundTrip(request)
			if err != nil {
				return nil, err
			}
			if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
				c.Observe(date, sent, c.timestamp())
			}
			return response, nil
		})
	})
	return config
}

// timestamp returns the elapsed time.
func (c *Clock) timestamp() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.elapsed()
}

// Run keeps the bounds narrow until ctx is done. A probe is any short request to the API server. Run
// sends one when a second is about to begin there, and each answer halves the distance of the bounds.
func (c *Clock) Run(ctx context.Context, probe func(context.Context) error) error {
	var roundTrip time.Duration
	for isWrong := false; ; {
		wait, width := c.nextSecond()
		isNarrow := width <= max(narrowEnough, 2*roundTrip)
		if isNarrow {
			isWrong = c.report(isWrong)
			wait = time.Second
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		if isNarrow {
			continue
		}
		sent := c.timestamp()
		if err := probe(ctx); err != nil {
			ctrl.Log.WithName("clock").V(1).Info("The API server does not tell the time", "error", err.Error())
		}
		roundTrip = c.timestamp() - sent
	}
}

// nextSecond returns the probable time left of the current second at the API server, and the
// distance of the bounds.
func (c *Clock) nextSecond() (wait, width time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.earliest.IsZero() {
		return 0, time.Hour
	}
	elapsed := c.elapsed()
	earliest, latest := c.bounds(elapsed)
	width = latest.Sub(earliest)
	middle := earliest.Add(elapsed + width/2)
	return middle.Truncate(time.Second).Add(time.Second).Sub(middle), width
}

// report sets the metric, and logs when the clock of the machine becomes wrong or right.
func (c *Clock) report(wasWrong bool) (isWrong bool) {
	offset := c.offset(time.Now())
	clockOffset.Set(offset.Seconds())
	isWrong = offset.Abs() > wrongClock
	log := ctrl.Log.WithName("clock")
	switch {
	case isWrong && !wasWrong:
		log.Info("The clock of this machine is wrong: the controller follows the API server's", "ahead",
			offset.String())
	case wasWrong && !isWrong:
		log.Info("The clock of this machine agrees with the API server's")
	}
	return isWrong
}

// offset returns the distance of a local instant from the bounds: positive if the machine is ahead.
func (c *Clock) offset(local time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	elapsed := c.elapsed()
	earliest, latest := c.bounds(elapsed)
	switch at := local.Round(0).Add(-elapsed); {
	case at.Before(earliest):
		return at.Sub(earliest)
	case at.After(latest):
		return at.Sub(latest)
	}
	return 0
}

// RoundTripper is a function that sends requests.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r RoundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
