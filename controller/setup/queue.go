package setup

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// shares is how many namespaces may use their whole share of the workers at a time.
const shares = 25

// fairQueue hands out at most share requests of a namespace at a time. If the requests of a
// namespace hang, for example at a webhook, other namespaces keep the other workers.
type fairQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	share int

	mu   sync.Mutex
	busy map[string]int // number of requests handed out, by namespace
	// waiting are the requests of namespaces that use their whole share, by priority.
	waiting map[string]map[int][]reconcile.Request
}

// newFairQueue returns the constructor of fair queues for the options of a controller.
func newFairQueue(share int) func(string,
	workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return func(name string,
		limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		return &fairQueue{
			PriorityQueue: priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) {
				o.RateLimiter = limiter
			}),
			share: share, busy: map[string]int{}, waiting: map[string]map[int][]reconcile.Request{},
		}
	}
}

// Get implements workqueue.TypedInterface.
func (q *fairQueue) Get() (reconcile.Request, bool) {
	request, _, shutdown := q.GetWithPriority()
	return request, shutdown
}

// GetWithPriority implements priorityqueue.PriorityQueue.
func (q *fairQueue) GetWithPriority() (reconcile.Request, int, bool) {
	for {
		request, priority, shutdown := q.PriorityQueue.GetWithPriority()
		if shutdown || q.admit(request, priority) {
			return request, priority, shutdown
		}
	}
}

// admit counts a request as handed out, or has it wait.
func (q *fairQueue) admit(r reconcile.Request, priority int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.busy[r.Namespace] >= q.share {
		if q.waiting[r.Namespace] == nil {
			q.waiting[r.Namespace] = map[int][]reconcile.Request{}
		}
		q.waiting[r.Namespace][priority] = append(q.waiting[r.Namespace][priority], r)
		return false
	}
	q.busy[r.Namespace]++
	return true
}

// Done implements workqueue.TypedInterface. The most urgent request that waits for a share returns
// to the queue.
func (q *fairQueue) Done(request reconcile.Request) {
	q.PriorityQueue.Done(request)
	if next, priority, ok := q.release(request.Namespace); ok {
		q.PriorityQueue.Done(next)
		q.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, next)
	}
}

// release returns the first of the most urgent requests that wait for a share of a namespace.
func (q *fairQueue) release(namespace string) (next reconcile.Request, priority int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.busy[namespace]--; q.busy[namespace] == 0 {
		delete(q.busy, namespace)
	}
	waiting := q.waiting[namespace]
	if len(waiting) == 0 {
		delete(q.waiting, namespace)
		return next, 0, false
	}
	priority = slices.Max(slices.Collect(maps.Keys(waiting)))
	next = waiting[priority][0]
	if waiting[priority] = waiting[priority][1:]; len(waiting[priority]) == 0 {
		delete(waiting, priority)
	}
	return next, priority, true
}
