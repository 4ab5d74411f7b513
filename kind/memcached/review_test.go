package memcached

import (
	"testing"

	"example.com/gatehouse/kind"
)

func TestReviewReportsLostContent(t *testing.T) {
	tests := []struct {
		name    string
		rollout kind.Rollout
		want    string
		isRisky bool
	}{
		{"the same", kind.Rollout{Before: 2, After: 2}, "", false},
		{"grows", kind.Rollout{Before: 2, After: 3}, CacheResized, false},
		{"shrinks", kind.Rollout{Before: 3, After: 2}, CacheResized, true},
		{"to nothing", kind.Rollout{Before: 1, After: 0}, CacheResized, true},
		{"other Pods", kind.Rollout{Before: 1, After: 1, Replaced: true}, CacheReplaced, true},
		{"more and other Pods", kind.Rollout{Before: 1, After: 2, Replaced: true}, CacheReplaced, true},
		{"fewer and other Pods", kind.Rollout{Before: 3, After: 2, Replaced: true}, CacheReplaced, true},
	}
	for _, test := range tests {
		e := kind.Effect{}
		if effects := reviewRollout(test.rollout); len(effects) > 0 {
			e = effects[0]
		}
		if e.Type != test.want || (e.Risk != "") != test.isRisky {
			t.Errorf("%s: got %q: %s; %s", test.name, e.Type, e.What, e.Risk)
		}
	}
}
