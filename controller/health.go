package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

const (
	// deadAfter is how long a watch fails before the cache counts as dead. Until then other types
	// are served, and a restarting API server may come back.
	deadAfter = 30 * time.Second
	// aliveAfter is how long after its last error a watch counts as working. A failed watch retries
	// at least as often.
	aliveAfter = 75 * time.Second
)

// watches records the failing watches of a cache, and the start of each failure.
type watches struct {
	cache   cache.Cache
	mu      sync.Mutex
	failing map[*toolscache.Reflector]failure
}

type failure struct {
	since, last time.Time
	err         error
}

func (w *watches) handleError(ctx context.Context, r *toolscache.Reflector, err error) {
	toolscache.DefaultWatchErrorHandler(ctx, r, err)
	if errors.Is(err, io.EOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // a normal end of a watch
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	f := w.failing[r]
	if now.Sub(f.last) > aliveAfter {
		f.since = now
	}
	f.last = now
	f.err = err
	w.failing[r] = f
}

// check returns an error if the cache is not filled yet, or is dead.
func (w *watches) check(request *http.Request) error {
	ctx, cancel := context.WithTimeout(request.Context(), time.Second/2)
	defer cancel()
	if !w.cache.WaitForCacheSync(ctx) {
		return errors.New("the cache is not filled yet")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for r, f := range w.failing {
		switch {
		case now.Sub(f.last) > aliveAfter:
			delete(w.failing, r)
		case now.Sub(f.since) > deadAfter:
			return fmt.Errorf("watch %s: fails since %s: %w", r.TypeDescription(),
				f.since.UTC().Format(time.RFC3339), f.err)
		}
	}
	return nil
}
