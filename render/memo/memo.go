// Package memo keeps results of functions, so that rendering again computes only those whose
// input changed.
package memo

import (
	"maps"
	"sync"

	"example.com/gatehouse/render/fault"
)

// Memo keeps values in memory by their input. A nil Memo keeps nothing. Its methods may be called
// concurrently.
type Memo struct {
	mu     sync.Mutex
	values map[any]*entry
	least  int // values that the last Forget kept
}

type entry struct {
	value  func() any // once
	isUsed bool       // since Forget
}

// Get returns the value of a key. For a new key it calls compute and keeps the result; others wait for it. The key
// holds everything that the value depends on, in a type that no other function uses. Callers must
// not change the value.
func Get[V any](m *Memo, key any, compute func() V) V {
	if m == nil {
		return compute()
	}
	return m.find(key, func() any { return compute() })().(V)
}

// Len returns the number of values.
func (m *Memo) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.values)
}

func (m *Memo) find(key any, compute func() any) (value func() any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.values[key]
	if e == nil {
		e = &entry{value: sync.OnceValue(func() any {
			defer fault.Raise() // others wait for it
			return compute()
		})}
		if m.values == nil {
			m.values = map[any]*entry{}
		}
		m.values[key] = e
	}
	e.isUsed = true
	return e.value
}

// Forget drops the values that were not used since the last Forget. A failed rendering skips stages
// and so leaves values unused: after it, Forget drops them only if their number has doubled.
func (m *Memo) Forget(hasFailed bool) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if hasFailed && len(m.values) < 2*m.least {
		return
	}
	maps.DeleteFunc(m.values, func(_ any, e *entry) bool {
		isUnused := !e.isUsed
		e.isUsed = false
		return isUnused
	})
	m.least = len(m.values)
}

// Clear drops all values.
func (m *Memo) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values = nil
	m.least = 0
}
