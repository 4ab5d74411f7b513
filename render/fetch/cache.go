package fetch

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"example.com/gatehouse/render/regular"
	"example.com/gatehouse/render/source/fetched"
)

// A cache is a folder that all repositories of a user share. files/DIGEST/ has what was fetched, by the SHA-256 of its
// archive, and sources/ a file for each source that never moves, with its digest.
type cache struct {
	root     *os.Root
	dir      string
	unpacked atomic.Int64 // bytes, in this run
}

// Bounds of the cache. A used entry is young again.
const (
	maxAge  = 30 * 24 * time.Hour
	maxSize = 4 << 30
)

// openCache opens the cache, and creates it if it is not there.
func openCache(dir string) (*cache, error) {
	for _, folder := range []string{"files", "sources"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			return nil, fmt.Errorf("create the cache: %w", err)
		}
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	return &cache{root: root, dir: dir}, err
}

func digestOf(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

var isDigest = regexp.MustCompile("^sha256:[0-9a-f]{64}$")

// folderOf returns the folder of a digest. Its first 96 bits are enough to tell files apart, and short to read.
func folderOf(digest string) string { return strings.TrimPrefix(digest, "sha256:")[:24] }

// known is the entry of a source.
type known struct{ Resolved, Digest string }

func sourceFile(from fetched.Source) string {
	key, _ := json.Marshal([]any{from.Repository, from.Chart, from.Version, from.Manifest, from.IsGit, from.IsPlain})
	return path.Join("sources", fmt.Sprintf("%x", sha256.Sum256(key)))
}

// find returns the entry of a source, or an empty one.
func (c *cache) find(from fetched.Source) (k known) {
	content, err := c.root.ReadFile(sourceFile(from))
	if err != nil || json.Unmarshal(content, &k) != nil || !isDigest.MatchString(k.Digest) {
		return known{}
	}
	c.touch(sourceFile(from))
	return k
}

func (c *cache) remember(from fetched.Source, k known) error {
	content, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return c.write(sourceFile(from), content)
}

// write creates or replaces a file. Other runs, and other sources of this one, may write at the same time.
func (c *cache) write(name string, content []byte) error {
	file, err := os.CreateTemp(c.dir, "new-")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Close())
	staged := filepath.Base(file.Name())
	if err == nil {
		err = c.root.Rename(staged, name)
	}
	if err != nil {
		_ = c.root.Remove(staged)
	}
	return err
}

// archive returns the only file of a digest, if it is there and whole.
func (c *cache) archive(digest string) (name string, content []byte) {
	if !isDigest.MatchString(digest) {
		return "", nil
	}
	folder := path.Join("files", folderOf(digest))
	entries, _ := fs.ReadDir(c.root.FS(), folder)
	for _, entry := range entries {
		content, err := regular.ReadFile(c.root, path.Join(folder, entry.Name()))
		if err == nil && digestOf(content) == digest {
			c.touch(folder)
			return entry.Name(), content
		}
	}
	return "", nil
}

// keep writes an archive.
func (c *cache) keep(name string, content []byte) error {
	folder := path.Join("files", folderOf(digestOf(content)))
	if err := c.root.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return c.write(path.Join(folder, name), content)
}

// keepTree unpacks an archive, unless it is unpacked already.
func (c *cache) keepTree(digest, name string, content []byte) error {
	folder := path.Join("files", folderOf(digest))
	if _, err := c.root.Lstat(path.Join(folder, name)); err == nil {
		return nil
	}
	if c.unpacked.Load() > maxAnswers {
		return fmt.Errorf("over %d MiB are unpacked in a run", maxAnswers>>20)
	}
	dir, err := os.MkdirTemp(filepath.Join(c.dir, folder), "new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	to, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	size, err := unpack(to, content)
	c.unpacked.Add(size)
	_ = to.Close()
	if err != nil {
		return err
	}
	err = os.Rename(dir, filepath.Join(c.dir, folder, name))
	if _, statErr := c.root.Lstat(path.Join(folder, name)); statErr == nil {
		return nil // another run was first
	}
	return err
}

// touch makes an entry young.
func (c *cache) touch(name string) {
	info, err := c.root.Lstat(name)
	if err == nil && time.Since(info.ModTime()) > 24*time.Hour {
		_ = c.root.Chtimes(name, time.Now(), time.Now())
	}
}

// cleanDaily cleans the cache once a day: that looks at each file.
func (c *cache) cleanDaily() {
	const done = "cleaned"
	info, err := c.root.Lstat(done)
	if err == nil && time.Since(info.ModTime()) < 24*time.Hour {
		return
	}
	if c.write(done, nil) == nil {
		c.clean(time.Now())
	}
}

// clean removes old entries, and the oldest ones of a large cache. Another run may do the same.
func (c *cache) clean(now time.Time) {
	type entry struct {
		name string
		at   time.Time
		size int64
	}
	var all []entry
	total := int64(0)
	for _, folder := range []string{"files", "sources", "."} {
		entries, _ := fs.ReadDir(c.root.FS(), folder)
		if folder == "." { // what a killed run has left
			isOther := func(e fs.DirEntry) bool {
				return !strings.HasPrefix(e.Name(), "git-") && !strings.HasPrefix(e.Name(), "new-")
			}
			entries = slices.DeleteFunc(entries, isOther)
		}
		for _, of := range entries {
			info, err := of.Info()
			if err != nil {
				continue
			}
			e := entry{name: path.Join(folder, of.Name()), at: info.ModTime()}
			_ = fs.WalkDir(c.root.FS(), e.name, func(_ string, d fs.DirEntry, err error) error {
				if info, infoErr := d.Info(); err == nil && infoErr == nil {
					e.size += info.Size()
				}
				return nil
			})
			total += e.size
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return a.at.Compare(b.at) })
	for _, e := range all {
		if now.Sub(e.at) > maxAge || total > maxSize {
			_ = c.root.RemoveAll(e.name)
			total -= e.size
		}
	}
}
