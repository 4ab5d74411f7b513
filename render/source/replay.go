package source

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
)

// Replay looks at the paths that other readings noted, and reads the files that they read. The result is a hash of all
// that they could see: readings with the same hash of their notes get the same content.
func (f *FileSystem) Replay(noted *Looks) (seen [sha256.Size]byte) {
	noted.mu.Lock()
	names := slices.Sorted(maps.Keys(noted.paths))
	noted.mu.Unlock()
	hash := sha256.New()
	for _, name := range names {
		resolved, isDir, err := f.Resolve(name)
		fmt.Fprintf(hash, "%q %q %t %t ", name, resolved, isDir, err == nil)
		if isDir || err != nil || !f.isStandIn(resolved) && !noted.Consumes(Relative(resolved)) {
			continue
		}
		content, err := f.ReadAny(name)
		fmt.Fprintf(hash, "%d %t %s", len(content), err == nil, content)
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

// isStandIn reports whether a file has content that the revision does not have at its path.
func (f *FileSystem) isStandIn(name string) bool {
	_, isStandIn := f.standIns[name]
	_, isLink := f.links[name]
	return isStandIn || isLink
}
