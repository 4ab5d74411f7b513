package controller

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sightings are the first times at which a watch showed objects in a wanted state, by name.
type sightings struct {
	mutex    sync.Mutex
	first    map[string]time.Time
	modified atomic.Int64 // versions of all objects after their first
}

// watch watches the objects of a namespace until the benchmark ends. nameOf returns the name under
// which an object is counted, and nothing unless the object is in the wanted state.
func (b *bench) watch(list client.ObjectList, nameOf func(client.Object) string) *sightings {
	b.Helper()
	watcher, err := b.Watch(b.Context(), list, client.InNamespace(b.namespace))
	must(b, err)
	s := &sightings{first: map[string]time.Time{}}
	go func() {
		for event := range watcher.ResultChan() {
			object, ok := event.Object.(client.Object)
			if !ok {
				continue
			}
			if event.Type == watch.Modified {
				s.modified.Add(1)
			}
			s.see(nameOf(object))
		}
	}()
	return s
}

func (s *sightings) see(name string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, seen := s.first[name]; name != "" && !seen {
		s.first[name] = time.Now()
	}
}

// await waits until n objects were in the wanted state.
func (b *bench) await(s *sightings, state string, n int) {
	b.Helper()
	for deadline := time.Now().Add(10 * time.Minute); s.count() < n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatalf("%s: %d of %d", state, s.count(), n)
		}
	}
}

func (s *sightings) count() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.first)
}

// since returns the delay from an instant until each object was in the wanted state.
func (s *sightings) since(instant time.Time) []time.Duration {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delays := make([]time.Duration, 0, len(s.first))
	for _, first := range s.first {
		delays = append(delays, first.Sub(instant))
	}
	return delays
}

// nameIf returns the name of an object if a condition holds.
func nameIf(o client.Object, holds bool) string {
	if !holds {
		return ""
	}
	return o.GetName()
}
