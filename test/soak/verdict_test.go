package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind/condition"
)

// begin is the start of a soak.
var begin = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// sec returns a moment.
func sec(n int) moment { return moment(n) * time.Second }

// two returns a span of two seconds.
func two(n int) span { return span{sec(n), sec(n + 2)} }

func history0(steps ...step) history { return history{begin, append([]step{{}}, steps...)} }

func startedAt(moments ...int) (starts []start) {
	for _, n := range moments {
		starts = append(starts, start{pod: "p", id: time.Duration(n).String(), at: sec(n)})
	}
	return starts
}

func TestExpectedStarts(t *testing.T) {
	forward := history0(step{sec(50), 8 * time.Second}, step{sec(52), 0})
	for name, test := range map[string]struct {
		version version // due at second 100
		history history
		starts  []start
		until   int
		want    expectation
	}{
		"offered in time":                     {version: version{windows: []window{{offered: two(10)}}}, until: 300, want: once},
		"not for long":                        {version: version{windows: []window{{offered: two(10)}}}, until: 150, want: atMostOnce},
		"not synced yet":                      {version: version{windows: []window{{offered: span{from: sec(10)}}}}, until: 300, want: atMostOnce},
		"withdrawn before":                    {version: version{windows: []window{{offered: two(10), withdrawn: two(90)}}}, until: 300, want: never},
		"withdrawn while it becomes due":      {version: version{windows: []window{{offered: two(10), withdrawn: two(99)}}}, until: 300, want: atMostOnce},
		"withdrawn before, but not by clock":  {version: version{windows: []window{{offered: two(10), withdrawn: two(90)}}}, history: history0(step{sec(50), 60 * time.Second}, step{sec(51), 0}), until: 300, want: atMostOnce},
		"the clock was not that far ahead":    {version: version{windows: []window{{offered: two(10), withdrawn: two(90)}}}, history: forward, until: 300, want: never},
		"held":                                {version: version{windows: []window{{offered: two(10), held: true}}}, until: 300, want: never},
		"resumed":                             {version: version{windows: []window{{offered: two(10), held: true, resumed: two(120)}}}, until: 300, want: once},
		"resumed late":                        {version: version{windows: []window{{offered: two(10), held: true, resumed: two(220)}}}, until: 300, want: atMostOnce},
		"offered late":                        {version: version{windows: []window{{offered: two(120)}}}, until: 300, want: once},
		"expired":                             {version: version{deadline: 10 * time.Second, windows: []window{{offered: two(120)}}}, until: 300, want: never},
		"expired or not, by the clock":        {version: version{deadline: 15 * time.Second, windows: []window{{offered: two(120)}}}, until: 300, want: atMostOnce},
		"short deadline":                      {version: version{deadline: 10 * time.Second, windows: []window{{offered: two(10)}}}, until: 300, want: atMostOnce},
		"long deadline":                       {version: version{deadline: 300 * time.Second, windows: []window{{offered: two(10)}}}, until: 300, want: once},
		"disturbed long before":               {version: version{windows: []window{{offered: two(10)}}, disturbs: []moment{sec(30)}}, until: 300, want: once},
		"disturbed shortly before":            {version: version{windows: []window{{offered: two(10)}}, disturbs: []moment{sec(80)}}, until: 300, want: atMostOnce},
		"disturbed after the start":           {version: version{windows: []window{{offered: two(10)}}, disturbs: []moment{sec(110)}}, starts: startedAt(101), until: 300, want: once},
		"withdrawn and brought back":          {version: version{windows: []window{{offered: two(10), withdrawn: two(20)}, {offered: two(30)}}}, until: 300, want: once},
		"withdrawn and brought back when due": {version: version{windows: []window{{offered: two(10), withdrawn: two(90)}, {offered: two(95)}}}, until: 300, want: atMostOnce},
	} {
		t.Run(name, func(t *testing.T) {
			if test.history.steps == nil {
				test.history = history0()
			}
			test.version.due = begin.Add(sec(100))
			if got := test.version.expect(test.history, test.starts, sec(test.until)); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestJudgeFindsWhatIsWrong(t *testing.T) {
	plain := version{windows: []window{{offered: two(10)}}}
	withdrawn := version{windows: []window{{offered: two(10), withdrawn: two(50)}}}
	ahead := history0(step{sec(60), 8 * time.Second}, step{sec(96), 0})
	for name, test := range map[string]struct {
		version version // due at second 100
		history history
		starts  []start
		pod     *seenPod
		want    string
	}{
		"started":                                {version: plain, starts: startedAt(101)},
		"never started":                          {version: plain, want: lost},
		"started in two Pods":                    {version: plain, starts: []start{{pod: "p", at: sec(101)}, {pod: "q", at: sec(130)}}, want: double},
		"started twice in a Pod":                 {version: plain, starts: startedAt(101, 103), want: double},
		"restarted":                              {version: version{does: restarts, windows: plain.windows}, starts: startedAt(101, 103)},
		"early":                                  {version: plain, starts: startedAt(99), want: early},
		"early by elapsed time alone":            {version: plain, history: ahead, starts: startedAt(95)},
		"early by either":                        {version: plain, history: ahead, starts: startedAt(90), want: early},
		"started before it was resumed":          {version: version{windows: []window{{offered: two(10), held: true, resumed: two(150)}}}, starts: startedAt(120), want: early},
		"opened early":                           {version: plain, starts: startedAt(101), pod: &seenPod{scheduled: begin.Add(sec(99))}, want: early},
		"opened in time":                         {version: plain, starts: startedAt(101), pod: &seenPod{scheduled: begin.Add(sec(100))}},
		"withdrawn":                              {version: withdrawn},
		"withdrawn, and started nonetheless":     {version: withdrawn, starts: startedAt(101), want: unwanted},
		"suspended when it was to start":         {version: version{windows: []window{{offered: two(10), withdrawn: two(99), closed: sec(110)}, {offered: two(99), held: true}}}, starts: startedAt(105)},
		"started once its status said suspended": {version: version{windows: []window{{offered: two(10), withdrawn: two(99), closed: sec(110)}, {offered: two(99), held: true, resumed: two(150)}}}, starts: startedAt(115), want: early},
		"held, and started nonetheless":          {version: version{windows: []window{{offered: two(10), held: true}}}, starts: startedAt(101), want: early},
	} {
		t.Run(name, func(t *testing.T) {
			if test.history.steps == nil {
				test.history = history0()
			}
			test.version.due = begin.Add(sec(100))
			one := &trial{versions: []*version{&test.version}, pods: map[string]*seenPod{"p": test.pod}}
			r := judgeTrials([]*trial{one}, func(string) []start { return test.starts }, test.history, sec(300))
			for _, finding := range wrongs {
				if got, want := len(r.wrong[finding]) > 0, finding == test.want; got != want {
					t.Errorf("%s: %t, want %t: %v", finding, got, want, r.wrong)
				}
			}
		})
	}
}

func TestDisagreementOfStatusAndStarts(t *testing.T) {
	offered := []window{{offered: two(10)}}
	for name, test := range map[string]struct {
		version version
		starts  []start
		phase   cnatv1alpha1.AtPhase
		reason  string
		exit    *int32
		agrees  bool
	}{
		"lost, with no record":       {version{windows: offered, disturbs: []moment{sec(99)}}, nil, "DONE", "PodLost", nil, false},
		"ran":                        {version{windows: offered}, startedAt(101), "DONE", "Complete", ptr.To[int32](0), true},
		"ran, not done":              {version{windows: offered}, startedAt(101), "RUNNING", "Running", nil, false},
		"ran, no exit code":          {version{windows: offered}, startedAt(101), "DONE", "Complete", nil, false},
		"ran, said to be lost":       {version{windows: offered}, startedAt(101), "DONE", "PodLost", nil, false},
		"ran, said not to":           {version{windows: offered}, startedAt(101), "DONE", "DeadlineMissed", nil, false},
		"did not run, said to":       {version{windows: offered}, nil, "DONE", "Complete", ptr.To[int32](0), false},
		"failed":                     {version{does: fails, windows: offered}, startedAt(101), "DONE", "CommandFailed", ptr.To[int32](3), true},
		"failed, said to succeed":    {version{does: fails, windows: offered}, startedAt(101), "DONE", "Complete", ptr.To[int32](0), false},
		"failed otherwise":           {version{does: fails, windows: offered}, startedAt(101), "DONE", "CommandFailed", ptr.To[int32](1), false},
		"evicted":                    {version{windows: offered, disturbs: []moment{sec(102)}}, startedAt(101), "DONE", "PodLost", nil, true},
		"evicted before it could":    {version{windows: offered, disturbs: []moment{sec(99)}}, nil, "DONE", "PodLost", nil, true},
		"evicted before it counted":  {version{windows: offered, disturbs: []moment{sec(100)}}, nil, "DONE", "CommandFailed", ptr.To[int32](137), true},
		"pruned while it ran":        {version{windows: append(slices.Clone(offered), window{offered: two(103)})}, startedAt(101), "DONE", "PodLost", nil, true},
		"suspended":                  {version{suspend: true, windows: offered}, nil, "PENDING", "Suspended", nil, true},
		"missed":                     {version{deadline: time.Second, windows: offered}, nil, "DONE", "DeadlineMissed", nil, true},
		"missed without a deadline":  {version{windows: offered}, nil, "DONE", "DeadlineMissed", nil, false},
		"ran before it was reverted": {version{windows: append(slices.Clone(offered), window{offered: two(200)})}, startedAt(101), "DONE", "AlreadyRan", nil, true},
		"ran after it was reverted":  {version{windows: append(slices.Clone(offered), window{offered: two(50)})}, startedAt(101), "DONE", "AlreadyRan", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			said := cnatv1alpha1.AtStatus{
				Phase:      test.phase,
				Conditions: []metav1.Condition{{Type: condition.Ready, Reason: test.reason}},
				Run:        &cnatv1alpha1.AtRun{ExitCode: test.exit},
			}
			if !strings.Contains(name, "no record") {
				said.Run.OpenedTime = ptr.To(metav1.Now())
			}
			if got := test.version.disagreement(said, test.starts); (got == "") != test.agrees {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestReachesFollowsClockSteps(t *testing.T) {
	h := history0(step{sec(10), 5 * time.Second}, step{sec(20), 0}, step{sec(30), -5 * time.Second})
	for _, test := range []struct{ due, from, want int }{
		{5, 0, 5}, {5, 7, 7}, {12, 0, 10}, {17, 0, 12}, {26, 0, 26}, {24, 0, 19}, {24, 20, 24}, {40, 0, 45},
	} {
		if got := h.reaches(begin.Add(sec(test.due)), sec(test.from)); got != sec(test.want) {
			t.Errorf("%d from %d: %s, want %d", test.due, test.from, got, test.want)
		}
	}
}
