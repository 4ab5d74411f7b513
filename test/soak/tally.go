package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// tally counts what happened.
type tally struct {
	mutex  sync.Mutex
	counts map[string]int
}

func (t *tally) add(what string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[what]++
}

func (t *tally) all() map[string]int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return maps.Clone(t.counts)
}

func (t *tally) String() string {
	counts := t.all()
	parts := make([]string, 0, len(counts))
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[what], what))
	}
	return strings.Join(parts, ", ")
}
