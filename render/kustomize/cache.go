package kustomize

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"sync"

	"example.com/gatehouse/render/manifest"
)

// Cache keeps what kustomize makes of parts, in memory, by the content of all files that it reads
// for them. A nil Cache keeps nothing. Its methods may be called concurrently.
type Cache struct {
	mu       sync.Mutex
	byFolder map[string]*generations
}

// generations has the parts of the last build of a folder, and those of the one that runs.
type generations struct {
	last, now map[contentKey][]manifest.Object
}

type contentKey [sha256.Size]byte

// start has the cache forget the parts of a folder that its last build did not have.
func (c *Cache) start(folder string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byFolder == nil {
		c.byFolder = map[string]*generations{}
	}
	g := &generations{now: map[contentKey][]manifest.Object{}}
	if last := c.byFolder[folder]; last != nil {
		g.last = last.now
	}
	c.byFolder[folder] = g
}

// load returns what was made of a part, or else what build makes of it now. Nobody may change it.
func (c *Cache) load(folder string, key contentKey, build func() ([]manifest.Object, error)) ([]manifest.Object, error) {
	if c == nil {
		return build()
	}
	c.mu.Lock()
	objects, isKnown := c.byFolder[folder].last[key]
	c.mu.Unlock()
	if !isKnown {
		var err error
		if objects, err = build(); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byFolder[folder].now[key] = objects
	return objects, nil
}

// copied returns copies of objects that the cache keeps.
func (c *Cache) copied(objects []manifest.Object) []manifest.Object {
	if c == nil {
		return objects
	}
	copies := slices.Clone(objects)
	for i, o := range objects {
		copies[i].Unstructured = o.DeepCopy()
		if o.Written == o.Unstructured {
			copies[i].Written = copies[i].Unstructured
		}
	}
	return copies
}

// writeField adds a text to a hash, with its length: no two lists of texts have the same hash.
func writeField(to hash.Hash, text []byte) {
	to.Write(binary.AppendUvarint(nil, uint64(len(text))))
	to.Write(text)
}
