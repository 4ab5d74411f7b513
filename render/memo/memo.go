// Package memo keeps what functions return, so that rendering again calls only those whose input
// changed.
package memo

import (
	"maps"
	"sync"
)

// Memo keeps values in memory, by what they were computed from. A nil Memo keeps nothing. Its
// methods may be called concurrently.
type Memo struct {
	mu    sync.Mutex
	kept  map[any]*kept
	least int // values that Forget left
}

type kept struct {
	value  any
	isUsed bool // since Forget
}

// Get returns the value that is kept for a key, or else what compute returns now, and keeps that.
// The key has all that the value depends on, in a type that no other function uses. Nobody may
// change the value.
func Get[V any](m *Memo, key any, compute func() V) V {
	if m == nil {
		return compute()
	}
	if value, isKept := m.find(key); isKept {
		return value.(V)
	}
	value := compute()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[any]*kept{}
	}
	m.kept[key] = &kept{value: value, isUsed: true}
	return value
}

func (m *Memo) find(key any) (value any, isKept bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.kept[key]
	if k == nil {
		return nil, false
	}
	k.isUsed = true
	return k.value, true
}

// Forget drops what was not used since it last did. After a rendering that failed, of which later
// stages did not run, it does so only where there is twice as much as before.
func (m *Memo) Forget(hasFailed bool) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if hasFailed && len(m.kept) < 2*m.least {
		return
	}
	defer func() { m.least = len(m.kept) }()
	maps.DeleteFunc(m.kept, func(_ any, k *kept) bool {
		isUnused := !k.isUsed
		k.isUsed = false
		return isUnused
	})
}
