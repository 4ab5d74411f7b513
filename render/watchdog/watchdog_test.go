package watchdog

import (
	"testing"
	"time"

	"example.com/gatehouse/render/manifest"
)

func TestRunExceedsItsLimits(t *testing.T) {
	const mib = 1 << 20
	for name, test := range map[string]struct {
		run    run
		limits Limits
		want   string // the flag
	}{
		"nothing":                       {},
		"the least CPU time":            {run: run{now: usage{cpu: 7 * time.Second}}},
		"more CPU time":                 {run: run{now: usage{cpu: 8 * time.Second}}, want: "--max-cpu"},
		"more, of a large input":        {run: run{input: 1_000_000, now: usage{cpu: 20 * time.Second}}},
		"much more, of a large input":   {run: run{input: 1_000_000, now: usage{cpu: 24 * time.Second}}, want: "--max-cpu"},
		"more, and allowed":             {run: run{now: usage{cpu: 8 * time.Second}}, limits: Limits{CPU: 9 * time.Second}},
		"more, and paid for":            {run: run{before: usage{cpu: 30 * time.Second}, now: usage{cpu: 34 * time.Second}}},
		"the least memory":              {run: run{now: usage{memory: 800 * mib}}},
		"more memory":                   {run: run{now: usage{memory: 801 * mib}}, want: "--max-memory"},
		"more memory, of a large input": {run: run{input: 20_000_000, now: usage{memory: 2000 * mib}}},
		"more memory, and allowed":      {run: run{now: usage{memory: 900 * mib}}, limits: Limits{Memory: 1000 * mib}},
		"more memory, of others":        {run: run{before: usage{live: 300 * mib}, now: usage{memory: 1000 * mib}}},
		"25 environments":               {run: run{done: 6, all: 25, steps: 6 * 12_000, before: usage{cpu: 6 * time.Second}, now: usage{cpu: 7 * time.Second}}},
		"600 environments":              {run: run{done: 6, all: 600, steps: 6 * 12_000, before: usage{cpu: 6 * time.Second}, now: usage{cpu: 8 * time.Second}}, want: "--max-cpu"},
		"600 environments, and allowed": {run: run{done: 6, all: 600, steps: 6 * 12_000, before: usage{cpu: 6 * time.Second}, now: usage{cpu: 7 * time.Second}}, limits: Limits{CPU: 5 * time.Second}},
		"600 environments of files":     {run: run{input: 1_000_000, done: 6, all: 600, steps: 6 * 12_000, now: usage{cpu: 10 * time.Second}}},
		"600 environments, at first":    {run: run{done: 1, all: 600, steps: 12_000, now: usage{cpu: time.Second}}},
	} {
		description, flag := test.run.excess(test.limits)
		if flag != test.want || (description == "") != (flag == "") {
			t.Errorf("%s: %q, %q, want %q", name, description, flag, test.want)
		}
	}
}

func TestProgressPaysForUsage(t *testing.T) {
	r := &run{}
	r.advance(usage{cpu: 3 * time.Second}, 1000)
	if want := 1500 * time.Millisecond; r.before.cpu != want {
		t.Errorf("1000 steps pay for %s, want %s", r.before.cpu, want)
	}
	r.advance(usage{cpu: 4 * time.Second}, 1_000_000)
	if r.before.cpu != r.now.cpu {
		t.Errorf("steps pay for %s of %s: they must not pay in advance", r.before.cpu, r.now.cpu)
	}
}

// An environment pays for itself when another one begins: a run ends at the one that exceeds the limits.
func TestProblemNamesTheOldestWork(t *testing.T) {
	var ended []manifest.Problem
	Arm(Limits{CPU: time.Second}, func(p manifest.Problem) { ended = append(ended, p) })
	_, done := Environment("dev")
	check(usage{cpu: time.Second})
	done()
	step, _ := Environment("prod")
	step("building")
	defer Part(func() manifest.Problem {
		return manifest.Problem{File: "environments/prod/a.yaml", Line: 3, Message: "chart a"}
	})()
	defer Part(func() manifest.Problem { return manifest.Problem{Message: "later"} })()
	check(usage{cpu: 2 * time.Second})
	if len(ended) > 0 {
		t.Fatalf("ends with %s", ended)
	}
	check(usage{cpu: 3 * time.Second})
	const want = "environments/prod/a.yaml:3: prod: building: chart a: takes over 1s of CPU time: reduce its work or, if you trust it, raise --max-cpu"
	if len(ended) != 1 || ended[0].String() != want {
		t.Errorf("ends with %s, want %s", ended, want)
	}
	Disarm()
	check(usage{cpu: time.Hour})
	if len(ended) != 1 {
		t.Error("ends a run that writes")
	}
}
