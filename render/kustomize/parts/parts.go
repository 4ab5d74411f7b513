// Package parts builds a large environment in parts. kustomize compares each object with all others,
// many times, so its time grows with the square of their number.
//
// The invariant: the parts together build the same objects as one build of everything, byte for
// byte, and they fail if that build fails.
//
// It holds because kustomize's result for an object depends on few others: on the reference targets
// that the object may name, and on the entries of kustomizations that may change the object, with the
// objects that these entries copy from. A part has its own objects and, as context, all that they
// depend on. It is built by the same kustomizations, without their other documents and entries. Divide
// returns nil if the dependencies are unknown, and Build fails with ErrOverlap if they prove wrong: then
// everything is built at once.
//
// TestDivision and TestRandomDivision in the folder above test the invariant, the second with random
// repositories and parts of one, two and three objects:
//
//	go test ./render/kustomize -run TestRandomDivision -rapid.checks=1000
package parts

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/source"
)

// Size is the number of objects in a part: in smaller parts kustomize spends most of its time on
// starting, in larger ones on comparing. A build of fewer than minParts parts is not divided.
const (
	Size     = 32
	minParts = 3
)

// ErrOverlap reports that parts built unexpected or duplicate objects.
var ErrOverlap = errors.New("the parts of a build overlap")

// BuildFunc builds a folder of a file system with kustomize.
type BuildFunc func(fs *source.FileSystem, folder string) ([]manifest.Object, error)

// Len returns the number of parts, 0 if d is nil.
func (d *Division) Len() int {
	if d == nil {
		return 0
	}
	return len(d.parts)
}

// IsWorthwhile reports whether kustomize compares fewer pairs of objects in the parts than in one build.
func (d *Division) IsWorthwhile() bool {
	count := 0
	for _, p := range d.parts {
		size := 0
		for n := range p.nodes {
			size += len(n.paths)
		}
		count += size * size
	}
	return count < len(d.paths.All)*len(d.paths.All)
}

// Build builds the parts concurrently. It returns the objects of all parts in order, or the error of the
// first part that fails. The memo keeps the objects, so they must not be changed.
func (d *Division) Build(m *memo.Memo, build BuildFunc) ([]manifest.Object, error) {
	built := make([][]manifest.Object, len(d.parts))
	errs := make([]error, len(d.parts))
	parallel.For(len(d.parts), func(i int) { built[i], errs[i] = d.buildPart(d.parts[i], m, build) })
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	objects := slices.Concat(built...)
	isKnown := make(map[buildpath.NamedID]bool, len(objects))
	for _, o := range objects {
		id := buildpath.IDOf(o)
		if isKnown[id] {
			return nil, ErrOverlap
		}
		isKnown[id] = true
	}
	return objects, nil
}

// buildPart builds a part and returns its own objects. It builds again as long as the result shows
// new references to objects outside of the part.
func (d *Division) buildPart(p *part, m *memo.Memo, build BuildFunc) ([]manifest.Object, error) {
	for {
		objects, err := d.buildOnce(p, m, build)
		if err == nil {
			objects, err = d.ownObjects(p, objects)
		}
		missing := d.missingTargets(p, objects)
		if err != nil || len(missing) == 0 {
			return objects, err
		}
		p.addContext(d.links, missing)
	}
}

// buildOnce builds a part with its context, if possible by way of the memo.
func (d *Division) buildOnce(p *part, m *memo.Memo, build BuildFunc) ([]manifest.Object, error) {
	if m != nil {
		if objects, ok := d.buildShared(p, m, build); ok {
			return objects, nil
		}
	}
	fs, _, err := d.prune(p, &standIns{isOff: true})
	if err != nil {
		return nil, err
	}
	return build(fs, d.paths.Folder)
}

// buildKey is the key of a built part in the memo: a hash of all files that kustomize reads.
type buildKey [sha256.Size]byte

// buildShared builds a part with stand-ins, unless the memo has the result. It fails without an error,
// since the error has to name the values.
func (d *Division) buildShared(p *part, m *memo.Memo, build BuildFunc) (objects []manifest.Object, ok bool) {
	s := &standIns{without: map[string]bool{}, isOff: d.noStandIns}
	fs, hash, err := d.standIn(p, s)
	if err != nil {
		return nil, false
	}
	built := memo.Get(m, hash, func() []manifest.Object {
		objects, err := build(fs, d.paths.Folder)
		if err != nil {
			return nil
		}
		return objects
	})
	for _, o := range built {
		objects = append(objects, s.restore(o))
	}
	return objects, len(objects) > 0
}

// standIn prunes the files of a part with as many stand-ins as possible.
func (d *Division) standIn(p *part, s *standIns) (fs *source.FileSystem, key buildKey, err error) {
	for isDone := false; !isDone; {
		isDone = true
		s.values = nil
		s.placed = 0
		var files []string
		if fs, files, err = d.prune(p, s); err != nil {
			return fs, key, err
		}
		hash := sha256.New()
		for _, file := range files {
			text, err := fs.ReadFile(file)
			if err != nil {
				return fs, key, err
			}
			isDone = s.check(string(text)) && isDone
			if !s.isOff {
				file = strings.TrimPrefix(file, d.paths.Folder+"/")
			}
			fmt.Fprintf(hash, "%s\x00%d\x00%s", file, len(text), text)
		}
		key = buildKey(hash.Sum(nil))
	}
	return fs, key, nil
}

// ownObjects returns the built objects of a part without its context.
func (d *Division) ownObjects(p *part, built []manifest.Object) (own []manifest.Object, err error) {
	for _, o := range built {
		path := d.paths.FindExact(o)
		if path == nil {
			return nil, ErrOverlap
		}
		isOwn, isThere := p.nodes[d.nodes.of[path.Document.Tree]]
		if !isThere {
			return nil, ErrOverlap
		}
		if isOwn {
			own = append(own, o)
		}
	}
	return own, nil
}
