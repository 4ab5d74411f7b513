package watchdog

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/gofrs/flock"
)

// scratch are the temporary folders of the process, with their locks.
var scratch struct {
	sync.Mutex
	folders map[string]*flock.Flock
}

const (
	scratchPrefix = "gatehouse-scratch-"
	scratchLock   = "lock"
)

// Scratch makes a temporary folder, which stays until remove, or until the process ends in any other way than by
// SIGKILL. The next process that makes one removes the folders of killed processes, whose locks are free.
func Scratch() (folder string, remove func(), err error) {
	removeAbandoned()
	scratch.Lock()
	defer scratch.Unlock()
	// Until it has its lock, the folder has another name.
	unlocked, err := os.MkdirTemp("", "gatehouse-new-")
	if err != nil {
		return "", nil, err
	}
	folder = filepath.Join(filepath.Dir(unlocked), scratchPrefix+filepath.Base(unlocked)[len("gatehouse-new-"):])
	lock := flock.New(filepath.Join(unlocked, scratchLock))
	_, err = lock.TryLock()
	if err == nil {
		err = os.Rename(unlocked, folder)
	}
	if err != nil {
		_ = lock.Unlock()
		_ = os.RemoveAll(unlocked)
		return "", nil, err
	}
	if scratch.folders == nil {
		scratch.folders = map[string]*flock.Flock{}
	}
	scratch.folders[folder] = lock
	return folder, func() {
		scratch.Lock()
		defer scratch.Unlock()
		removeScratch(folder)
	}, nil
}

func removeScratch(folder string) {
	if lock, isThere := scratch.folders[folder]; isThere {
		_ = lock.Unlock()
		_ = os.RemoveAll(folder)
		delete(scratch.folders, folder)
	}
}

func removeAbandoned() {
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), scratchPrefix+"*"))
	for _, folder := range folders {
		lock := flock.New(filepath.Join(folder, scratchLock), flock.SetFlag(os.O_RDONLY))
		if isFree, err := lock.TryLock(); err == nil && isFree {
			_ = lock.Unlock()
			_ = os.RemoveAll(folder)
		}
	}
}

// CleanUp removes the temporary folders of the process and ends its children, just before the process ends.
func CleanUp() {
	killChildren()
	scratch.Lock() // for good: no other goroutine makes a folder any more
	for folder := range scratch.folders {
		removeScratch(folder)
	}
}
