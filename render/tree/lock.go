package tree

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// lockPoll is the time between two attempts to take a lock.
const lockPoll = 100 * time.Millisecond

// Lock waits for the exclusive lock of a folder, and holds it until unlock. It leaves no file in the
// repository.
func Lock(ctx context.Context, folder string) (unlock func(), err error) {
	return lock(ctx, folder, (*flock.Flock).TryLockContext)
}

// RLock is like Lock, but shares the lock with other readers.
func RLock(ctx context.Context, folder string) (unlock func(), err error) {
	return lock(ctx, folder, (*flock.Flock).TryRLockContext)
}

func lock(ctx context.Context, folder string,
	wait func(*flock.Flock, context.Context, time.Duration) (bool, error)) (unlock func(), err error) {
	l := newLock(folder)
	if _, err := wait(l, ctx, lockPoll); err != nil {
		return nil, fmt.Errorf("lock %s: %w", folder, err)
	}
	return func() { _ = l.Unlock() }, nil
}

// newLock returns the lock of a folder. Windows locks only files: there, it is an empty file in the
// user's temporary folder, named after the folder.
func newLock(folder string) *flock.Flock {
	if runtime.GOOS != "windows" {
		return flock.New(folder, flock.SetFlag(os.O_RDONLY))
	}
	name := fmt.Sprintf("gatehouse-%x.lock", sha256.Sum256([]byte(strings.ToLower(folder))))
	return flock.New(filepath.Join(os.TempDir(), name))
}
