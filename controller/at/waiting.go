package at

import (
	"context"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	kindat "example.com/gatehouse/kind/at"
)

// waiting counts the Ats of a cache that have not started, by the second when they are due.
type waiting struct {
	mu    sync.Mutex
	count map[int64]int
}

// countWaiting counts the Ats of a cache, and keeps the count current.
func countWaiting(ctx context.Context, ats cache.Informers) (*waiting, error) {
	informer, err := ats.GetInformer(ctx, &cnatv1alpha1.At{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	w := &waiting{count: map[int64]int{}}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { w.add(o, 1) },
		UpdateFunc: func(last, next any) { w.add(last, -1); w.add(next, 1) },
		DeleteFunc: func(o any) {
			if missed, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = missed.Obj
			}
			w.add(o, -1)
		},
	})
	return w, err
}

func (w *waiting) add(object any, n int) {
	at, ok := object.(*cnatv1alpha1.At)
	if !ok || hasStarted(at) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	second := dueSecond(at)
	if w.count[second] += n; w.count[second] == 0 {
		delete(w.count, second)
	}
}

// together returns the number of Ats that have not started and are due in the same second as at.
func (w *waiting) together(at *cnatv1alpha1.At) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count[dueSecond(at)]
}

func hasStarted(at *cnatv1alpha1.At) bool {
	return at.Status.Phase == cnatv1alpha1.AtRunning || at.Status.Phase == cnatv1alpha1.AtDone
}

// dueSecond returns the second when an At is due; the second of the zero time if its schedule is invalid.
func dueSecond(at *cnatv1alpha1.At) int64 {
	due, _ := kindat.Schedule(at.Spec)
	return due.Unix()
}
