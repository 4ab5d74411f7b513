package memo

import (
	"strings"
	"testing"

	"example.com/gatehouse/render/fault"
)

func TestForgetDropsWhatWasNotUsedSince(t *testing.T) {
	type key struct{ name string }
	m := &Memo{}
	computed := 0
	get := func(name string) { Get(m, key{name}, func() int { computed++; return computed }) }
	for _, step := range []struct {
		names     []string
		hasFailed bool
		want      int // computed in the step
	}{
		{[]string{"a", "b", "b"}, false, 2},
		{[]string{"a"}, true, 0}, // the stage that uses b did not run
		{[]string{"a", "b"}, false, 0},
		{[]string{"a"}, false, 0},
		{[]string{"a", "b"}, false, 1},
		{[]string{"c", "d"}, true, 2}, // twice as much as before
		{[]string{"c", "d"}, false, 0},
		{[]string{"a"}, false, 1},
	} {
		before := computed
		for _, name := range step.names {
			get(name)
		}
		m.Forget(step.hasFailed)
		if got := computed - before; got != step.want {
			t.Errorf("%v: %d computed, want %d", step.names, got, step.want)
		}
	}
}

// Whoever gets the value of a computation that panicked for another one learns which function did.
func TestAPanicIsOneForAllThatGetTheValue(t *testing.T) {
	type key struct{}
	m := &Memo{}
	for range 2 {
		var err error
		func() {
			defer fault.Catch(&err)
			Get(m, key{}, panics)
		}()
		if err == nil || !strings.HasPrefix(err.Error(), "example.com/gatehouse/render/memo.panics panics") {
			t.Error(err)
		}
	}
}

func panics() int { panic("") }
