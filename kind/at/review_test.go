package at

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind"
)

func TestReviewReportsRuns(t *testing.T) {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	at := func(schedule string, change func(*run)) *run {
		due, err := time.Parse(time.RFC3339, schedule)
		if err != nil {
			t.Fatal(err)
		}
		r := &run{AtSpec: cnatv1alpha1.AtSpec{Schedule: schedule, Command: "a"}, due: due, digest: schedule + "a", pod: schedule}
		if change != nil {
			change(r)
		}
		return r
	}
	const (
		past     = "2026-05-31T12:00:00Z"
		justPast = "2026-06-01T11:59:00Z"
		exactly  = "2026-06-01T12:00:00Z"
		future   = "2026-06-02T12:00:00Z"
	)
	suspended := func(r *run) { r.Suspend = true }
	deadline := func(r *run) { r.StartingDeadlineSeconds = ptr.To(int64(60)) }
	another := func(r *run) {
		r.Command = "b"
		r.digest += "b"
		r.pod = "b"
	}
	both := func(changes ...func(*run)) func(*run) {
		return func(r *run) {
			for _, change := range changes {
				change(r)
			}
		}
	}
	tests := []struct {
		name          string
		before, after *run
		want          string // empty for no effect
		isRisky       bool
	}{
		{"new", nil, at(future, nil), kind.RunPlanned, false},
		{"new and due now", nil, at(exactly, nil), kind.RunAtOnce, true},
		{"new and past", nil, at(past, nil), kind.RunAtOnce, true},
		{"new, past and suspended", nil, at(past, suspended), kind.RunSuspended, false},
		{"new, and past its deadline", nil, at(past, deadline), RunMissed, true},
		{"new, past its deadline and suspended", nil, at(past, both(deadline, suspended)), RunMissed, true},
		{"new, and within its deadline", nil, at(justPast, deadline), kind.RunAtOnce, true},
		{"removed before it ran", at(future, nil), nil, kind.RunCanceled, true},
		{"removed after it ran", at(past, nil), nil, RunDone, false},
		{"removed while it was suspended", at(past, suspended), nil, kind.RunCanceled, false},
		{"another command", at(future, nil), at(future, another), kind.RunPlanned, false},
		{"another command after it ran", at(past, nil), at(past, another), RunAgain, true},
		{"another command of one that was suspended", at(past, suspended), at(past, another), kind.RunAtOnce, true},
		{"another command, suspended", at(past, nil), at(past, both(another, suspended)), kind.RunSuspended, false},
		{"later", at(future, nil), at("2026-06-03T12:00:00Z", nil), kind.RunPlanned, false},
		{"later after it ran", at(past, nil), at(future, nil), RunAgain, true},
		{"to the past", at(future, nil), at(past, nil), kind.RunAtOnce, true},
		{"to the past, past its deadline", at(future, nil), at(past, deadline), RunMissed, true},
		{"suspended", at(future, nil), at(future, suspended), kind.RunSuspended, false},
		{"suspended after it ran", at(past, nil), at(past, suspended), "", false},
		{"resumed", at(future, suspended), at(future, nil), kind.RunPlanned, false},
		{"resumed after its time", at(past, suspended), at(past, nil), kind.RunAtOnce, true},
		{"resumed after its deadline", at(past, both(suspended, deadline)), at(past, deadline), RunMissed, true},
		{"resumed without the deadline that it missed", at(past, both(suspended, deadline)), at(past, nil), RunMissed, true},
		{"a deadline that passed while it is suspended", at(past, suspended), at(past, both(suspended, deadline)), RunMissed, true},
		{"suspended beyond its deadline", at(past, both(suspended, deadline)), at(past, both(suspended, deadline)), "", false},
		{"a deadline", at(future, nil), at(future, deadline), "", false},
		{"another Pod", at(future, nil), at(future, func(r *run) { r.pod = "b" }), kind.RunPlanned, false},
		{"another Pod after it ran", at(past, nil), at(past, func(r *run) { r.pod = "b" }), "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := reviewRun(test.before, test.after, now)
			if e.Type != test.want || (e.Risk != "") != test.isRisky {
				t.Errorf("got %q: %s; %s", e.Type, e.What.Plain(), e.Risk.Plain())
			}
			if planned := e.Time != nil; planned && !e.Time.After(now) {
				t.Errorf("is to happen at %s", e.Time)
			}
		})
	}
}

func TestAnotherProgramIsUnknown(t *testing.T) {
	of := func(command, image string) *run {
		return &run{AtSpec: cnatv1alpha1.AtSpec{Command: command, Image: image}}
	}
	for _, test := range []struct {
		name          string
		before, after *run
		want          bool
	}{
		{"new", nil, of("a", "i"), true},
		{"removed", of("a", "i"), nil, true},
		{"another command", of("a", "i"), of("b", "i"), true},
		{"another image", of("a", "i"), of("a", "j"), true},
		{"another time", of("a", "i"), of("a", "i"), false},
	} {
		if got := isAnother(test.before, test.after); got != test.want {
			t.Errorf("%s: got %t", test.name, got)
		}
	}
}
