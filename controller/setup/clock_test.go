package setup

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
	"pgregory.net/rapid"
)

// The server's time is never before the time that the Clock shows, and at most a second after it, with
// any delay of requests and any drift of this machine's timers.
func TestClockIsNeverAhead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		server := time.Unix(1e9, rapid.Int64Range(0, 1e9).Draw(t, "start"))
		elapsed := time.Duration(0)
		drift := rapid.Int64Range(-100, 100).Draw(t, "drift in ppm")
		pass := func(d time.Duration) {
			server = server.Add(d)
			elapsed += d + d*time.Duration(drift)/1e6
		}
		c := &Clock{Elapsed: func() time.Duration { return elapsed }}
		delay := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(2*time.Second)).Draw(t, name))
		}
		for range rapid.IntRange(1, 20).Draw(t, "answers") {
			pass(delay("pause"))
			sent := elapsed
			pass(delay("request"))
			date := server.Truncate(time.Second)
			back := delay("answer")
			pass(back)
			c.Observe(date, sent, elapsed)
			late := server.Sub(c.Now())
			if late < 0 || late > time.Second+back+time.Millisecond {
				t.Fatalf("the clock shows %s, the server %s", c.Now(), server)
			}
		}
	})
}

// A date outside of the bounds replaces them: the server's clock was set, forward or back.
func TestClockFollowsTheServer(t *testing.T) {
	c := &Clock{Elapsed: func() time.Duration { return 0 }}
	for _, date := range []time.Time{time.Unix(1000, 0), time.Unix(5000, 0), time.Unix(2000, 0)} {
		c.Observe(date, 0, 0)
		if now := c.Now(); !now.Equal(date) {
			t.Errorf("the clock shows %s, the server %s", now, date)
		}
	}
}

// Before the first answer nothing is due, and the replica is not ready.
func TestClockIsNotReadyBeforeFirstAnswer(t *testing.T) {
	c := &Clock{}
	if now := c.Now(); now.Year() != 1970 {
		t.Errorf("the clock shows %s", now)
	}
	if c.Check(nil) == nil {
		t.Error("it is ready")
	}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	httpClient, err := rest.HTTPClientFor(c.Watch(&rest.Config{Host: server.URL}))
	if err != nil {
		t.Fatal(err)
	}
	response, err := httpClient.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if err := c.Check(nil); err != nil {
		t.Error(err)
	}
	if late := time.Since(c.Now()); late < 0 || late > 2*time.Second {
		t.Errorf("the clock is %s late", late)
	}
}

// Some probes bring the bounds together, and then few are sent.
func TestClockBecomesNarrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := &Clock{}
		probes := 0
		time.Sleep(345678 * time.Microsecond)
		go func() {
			_ = c.Run(ctx, func(context.Context) error {
				sent := c.timestamp()
				time.Sleep(time.Millisecond)
				date := time.Now().Truncate(time.Second)
				time.Sleep(time.Millisecond)
				c.Observe(date, sent, c.timestamp())
				probes++
				return nil
			})
		}()
		time.Sleep(15 * time.Second)
		if late := time.Since(c.Now()); late < 0 || late > narrowEnough {
			t.Errorf("the clock is %s late after %d probes", late, probes)
		}
		first := probes
		time.Sleep(10 * time.Minute)
		if more := probes - first; more > 60 {
			t.Errorf("%d probes in ten minutes", more)
		}
		t.Logf("%d probes, then %d in ten minutes", first, probes-first)
		if late := time.Since(c.Now()); late < 0 || late > 2*narrowEnough {
			t.Errorf("the clock is %s late in the end", late)
		}
	})
}
