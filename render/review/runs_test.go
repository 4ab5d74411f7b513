package review

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/diff"
)

func TestRunEffect(t *testing.T) {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	at := func(schedule string, change func(*run)) *run {
		due, err := time.Parse(time.RFC3339, schedule)
		if err != nil {
			t.Fatal(err)
		}
		r := &run{schedule: schedule, due: due, command: "a", digest: schedule + "a", pod: schedule}
		if change != nil {
			change(r)
		}
		return r
	}
	const past, justPast, exactly, future = "2026-05-31T12:00:00Z", "2026-06-01T11:59:00Z", "2026-06-01T12:00:00Z", "2026-06-02T12:00:00Z"
	suspended := func(r *run) { r.suspended = true }
	deadline := func(r *run) { r.deadline = 60 }
	another := func(r *run) { r.command, r.digest, r.pod = "b", r.digest+"b", "b" }
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
		want          Type // none where nothing is said
		isRisky       bool
	}{
		{"new", nil, at(future, nil), RunPlanned, false},
		{"new and due now", nil, at(exactly, nil), RunAtOnce, true},
		{"new and past", nil, at(past, nil), RunAtOnce, true},
		{"new, past and suspended", nil, at(past, suspended), RunSuspended, false},
		{"new, and past its deadline", nil, at(past, deadline), RunMissed, true},
		{"new, past its deadline and suspended", nil, at(past, both(deadline, suspended)), RunMissed, true},
		{"new, and within its deadline", nil, at(justPast, deadline), RunAtOnce, true},
		{"removed before it ran", at(future, nil), nil, RunCanceled, false},
		{"removed after it ran", at(past, nil), nil, RunDone, false},
		{"removed while it was suspended", at(past, suspended), nil, RunCanceled, false},
		{"another command", at(future, nil), at(future, another), RunPlanned, false},
		{"another command after it ran", at(past, nil), at(past, another), RunAgain, true},
		{"another command of one that was suspended", at(past, suspended), at(past, another), RunAtOnce, true},
		{"another command, suspended", at(past, nil), at(past, both(another, suspended)), RunSuspended, false},
		{"later", at(future, nil), at("2026-06-03T12:00:00Z", nil), RunPlanned, false},
		{"later after it ran", at(past, nil), at(future, nil), RunAgain, true},
		{"to the past", at(future, nil), at(past, nil), RunAtOnce, true},
		{"to the past, past its deadline", at(future, nil), at(past, deadline), RunMissed, true},
		{"suspended", at(future, nil), at(future, suspended), RunSuspended, false},
		{"suspended after it ran", at(past, nil), at(past, suspended), "", false},
		{"resumed", at(future, suspended), at(future, nil), RunPlanned, false},
		{"resumed after its time", at(past, suspended), at(past, nil), RunAtOnce, true},
		{"resumed after its deadline", at(past, both(suspended, deadline)), at(past, deadline), RunMissed, true},
		{"resumed without the deadline that it missed", at(past, both(suspended, deadline)), at(past, nil), RunMissed, true},
		{"a deadline that passed while it is suspended", at(past, suspended), at(past, both(suspended, deadline)), RunMissed, true},
		{"suspended beyond its deadline", at(past, both(suspended, deadline)), at(past, both(suspended, deadline)), "", false},
		{"a deadline", at(future, nil), at(future, deadline), "", false},
		{"another Pod", at(future, nil), at(future, func(r *run) { r.pod = "b" }), RunPlanned, false},
		{"another Pod after it ran", at(past, nil), at(past, func(r *run) { r.pod = "b" }), "", false},
		{"a Pod of no At", nil, nil, "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e, ok := runEffect(test.before, test.after, now)
			if !ok {
				e = Effect{}
			}
			if e.Type != test.want || (e.Risk != "") != test.isRisky {
				t.Errorf("got %q: %s; %s", e.Type, e.What.Plain(), e.Risk.Plain())
			}
			if planned := e.Time != nil; planned && !e.Time.After(now) {
				t.Errorf("is to happen at %s", e.Time)
			}
		})
	}
}

func TestCacheEffect(t *testing.T) {
	tests := []struct {
		name    string
		rollout rollout
		want    Type
		isRisky bool
	}{
		{"the same", rollout{from: 2, to: 2}, "", false},
		{"grows", rollout{from: 2, to: 3}, CacheResized, false},
		{"shrinks", rollout{from: 3, to: 2}, CacheResized, true},
		{"to nothing", rollout{from: 1, to: 0}, CacheResized, true},
		{"other Pods", rollout{from: 1, to: 1, isReplaced: true}, CacheReplaced, true},
		{"more and other Pods", rollout{from: 1, to: 2, isReplaced: true}, CacheReplaced, true},
		{"fewer and other Pods", rollout{from: 3, to: 2, isReplaced: true}, CacheReplaced, true},
	}
	for _, test := range tests {
		if e := cacheEffect(test.rollout); e.Type != test.want || (e.Risk != "") != test.isRisky {
			t.Errorf("%s: got %q: %s; %s", test.name, e.Type, e.What, e.Risk)
		}
	}
}

// A cluster knows what ran: a Pod that comes back afterwards does not run again. What git does
// not have, and stays, has no effect.
func TestEffectsOfCluster(t *testing.T) {
	e := diff.Environment{Kinds: gatehouse.All(), Name: "prod", Changes: []diff.Change{
		{After: objectOf(t, `{apiVersion: v1, kind: Pod, metadata: {name: a-1, namespace: ns, labels: {cnat.programming-kubernetes.info/at: a}, annotations: {gatehouse.example.com/digest: "sha256:1"}}}`)},
		{IsStray: true, Before: objectOf(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: ns}, spec: {replicas: 3}}`)},
	}}
	const at = `{apiVersion: cnat.programming-kubernetes.info/v1alpha1, kind: At, metadata: {name: a, namespace: ns}, spec: {schedule: "2020-01-01T00:00:00Z", command: c}`
	for status, want := range map[string]string{
		`}`: "runs again, at once",
		`, status: {phase: DONE, run: {digest: "sha256:1"}}}`:                       "",
		`, status: {phase: PENDING, run: {digest: "sha256:2"}, ran: ["sha256:1"]}}`: "",
		`, status: {phase: PENDING, run: {digest: "sha256:1"}}}`:                    "runs again, at once",
	} {
		e.Unchanged = []*unstructured.Unstructured{objectOf(t, at+status)}
		reviewed := New([]diff.Environment{e}, time.Now()).Environments[0]
		got := ""
		for _, effect := range reviewed.Effects {
			got += string(effect.What)
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
		if reviewed.Counts != (Counts{Added: 1, Stray: 1}) || reviewed.Counts.String() != "1 added, 1 not in git" {
			t.Errorf("%+v", reviewed.Counts)
		}
	}
}

func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}
