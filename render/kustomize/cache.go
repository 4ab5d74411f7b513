package kustomize

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
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

// load returns what was made of the files that kustomize reads for a part of a folder, or else what
// build makes of them now. Nobody may change it.
func (c *Cache) load(fs *source.FileSystem, read []string, folder string, build func() ([]manifest.Object, error)) ([]manifest.Object, error) {
	if c == nil {
		return build()
	}
	content := sha256.New()
	for _, file := range read {
		text, err := fs.ReadFile(file)
		if err != nil {
			return build() // which says what is wrong
		}
		for _, field := range [][]byte{[]byte(file), text} {
			content.Write(binary.AppendUvarint(nil, uint64(len(field))))
			content.Write(field)
		}
	}
	key := contentKey(content.Sum(nil))
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
