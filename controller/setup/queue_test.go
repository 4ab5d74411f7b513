package setup

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func newTestQueue(t *testing.T, share int) *fairQueue {
	limiter := workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()
	q := newFairQueue(share)(t.Name(), limiter).(*fairQueue)
	t.Cleanup(q.ShutDown)
	return q
}

func requestIn(namespace string, i int) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(i)}}
}

// A namespace whose requests are never done holds its share, and no more.
func TestFairQueueBoundsANamespace(t *testing.T) {
	q := newTestQueue(t, 3)
	for i := range 60 {
		q.Add(requestIn("hangs", i))
	}
	for i := range 5 {
		q.Add(requestIn("waits", i))
	}
	hanging := 0
	others := 0
	for range 8 {
		request, _ := q.Get()
		if request.Namespace == "hangs" {
			hanging++
			continue
		}
		others++
		q.Done(request)
	}
	if hanging != 3 || others != 5 {
		t.Errorf("%d requests of the namespace that hangs, %d of the other", hanging, others)
	}
}

// Every request of a namespace comes, once and in order, and an urgent one before the others that wait.
func TestFairQueueHandsOutEveryRequest(t *testing.T) {
	q := newTestQueue(t, 2)
	for i := range 100 {
		q.Add(requestIn("n", i))
	}
	first, _ := q.Get()
	second, _ := q.Get()
	go func() { // waits for a share, as all workers of a controller do
		time.Sleep(50 * time.Millisecond)
		urgent := 100
		q.AddWithOpts(priorityqueue.AddOpts{Priority: &urgent}, requestIn("n", 1000))
		time.Sleep(50 * time.Millisecond)
		q.Done(first)
		q.Done(second)
	}()
	last := 0
	seen := map[reconcile.Request]bool{first: true, second: true}
	for i := range 99 {
		request, _ := q.Get()
		if seen[request] {
			t.Fatalf("%s comes twice", request)
		}
		number, err := strconv.Atoi(request.Name)
		if err != nil || number < last {
			t.Fatalf("%s comes after number %d: %v", request, last, err)
		}
		if number < 1000 {
			last = number
		}
		if seen[request] = true; i > 5 && !seen[requestIn("n", 1000)] {
			t.Fatal("the urgent request does not come first")
		}
		q.Done(request)
	}
}
