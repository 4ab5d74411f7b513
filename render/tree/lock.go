package tree

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// lockPoll is how often a run that waits for another looks again.
const lockPoll = 100 * time.Millisecond

// Lock waits until no other run holds the lock of a folder, and keeps others out
// until unlock. It leaves no file: the lock is on the folder itself.
func Lock(ctx context.Context, folder string) (unlock func(), err error) {
	return lock(ctx, folder, (*flock.Flock).TryLockContext)
}

// RLock is Lock for those who only read: they keep writers out, but not each other.
func RLock(ctx context.Context, folder string) (unlock func(), err error) {
	return lock(ctx, folder, (*flock.Flock).TryRLockContext)
}

func lock(ctx context.Context, folder string, wait func(*flock.Flock, context.Context, time.Duration) (bool, error)) (unlock func(), err error) {
	l := flock.New(folder, flock.SetFlag(os.O_RDONLY))
	if _, err := wait(l, ctx, lockPoll); err != nil {
		return nil, fmt.Errorf("lock %s: %w", folder, err)
	}
	return func() { _ = l.Unlock() }, nil
}
