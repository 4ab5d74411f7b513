package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sightings are the first times at which a watch showed things to be as wanted, by
// their keys.
type sightings struct {
	mutex    sync.Mutex
	first    map[string]time.Time
	modified atomic.Int64 // versions of all objects after their first
}

// watch watches a namespace. key names what an object stands for if it is as
// wanted, and is empty if it is not.
func (b *bench) watch(ctx context.Context, kind client.Object, namespace string, key func(client.Object) string) (*sightings, error) {
	informers, err := cache.New(b.Config, cache.Options{Scheme: b.Scheme(), DefaultNamespaces: map[string]cache.Config{namespace: {}}})
	if err != nil {
		return nil, err
	}
	informer, err := informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	s := &sightings{first: map[string]time.Time{}}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { s.add(object.(client.Object), key) },
		UpdateFunc: func(_, object any) {
			s.add(object.(client.Object), key)
			s.modified.Add(1)
		},
	})
	if err != nil {
		return nil, err
	}
	go func() { _ = informers.Start(ctx) }()
	if !informers.WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("watch namespace %s: %w", namespace, ctx.Err())
	}
	return s, nil
}

func (s *sightings) add(object client.Object, key func(client.Object) string) {
	now, name := time.Now(), key(object)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, seen := s.first[name]; name != "" && !seen {
		s.first[name] = now
	}
}

// await waits until n things are as wanted.
func (s *sightings) await(ctx context.Context, what string, n int) error {
	for deadline := time.Now().Add(10 * time.Minute); s.count() < n; {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: %d of %d", what, s.count(), n)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

func (s *sightings) count() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.first)
}

// after are how long after an instant things were as wanted.
func (s *sightings) after(instant time.Time) []time.Duration {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delays := make([]time.Duration, 0, len(s.first))
	for _, first := range s.first {
		delays = append(delays, first.Sub(instant))
	}
	return delays
}

// nameIf is the name of an object if a condition holds.
func nameIf(o client.Object, holds bool) string {
	if !holds {
		return ""
	}
	return o.GetName()
}
