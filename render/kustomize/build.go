package kustomize

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/openapi"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/source"
)

// Build builds the folder whose ways it has. Nobody may change the objects, as the memo keeps them.
func (w *Ways) Build(m *memo.Memo) ([]manifest.Object, []manifest.Problem) {
	k := w.loaded[w.folder]
	var objects []manifest.Object
	var err error
	isolate(w.sources, func() { objects, err = w.buildObjects(m) })
	switch {
	case err != nil:
		p := kustomizeProblem(w.sources, k.File, err)
		if isDuplicate.MatchString(err.Error()) {
			p = w.explainCollision(p)
		}
		return nil, []manifest.Problem{p}
	case len(objects) == 0:
		return nil, []manifest.Problem{{File: source.Relative(k.File), Message: "builds to nothing: list resources"}}
	}
	w.setOrigins(objects)
	return objects, nil
}

// mostBuiltTwice is how many objects are built as a whole where a part fails, so that the error is the
// one that kustomize stops at. More take it too long.
const mostBuiltTwice = 1000

// buildObjects builds a folder in parts, or as a whole where it has none.
func (w *Ways) buildObjects(m *memo.Memo) ([]manifest.Object, error) {
	if d := divide(w, partSize); d != nil && d.isWorthwhile() {
		objects, err := d.buildAll(m)
		if err == nil || len(w.All) > mostBuiltTwice && !errors.Is(err, errEntangled) {
			return objects, err
		}
	}
	return buildFolder(w.sources.FS, w.folder)
}

// errEntangled is the error of a part whose objects are not those that were expected, or of two
// that have the same.
var errEntangled = errors.New("the parts of a build are not what they seem")

// buildAll builds the parts, several at a time. It returns the first error in their order.
func (d *division) buildAll(m *memo.Memo) ([]manifest.Object, error) {
	d.warn()
	openapi.Schema() // its first use is not safe for several at a time
	objects, err := buildConcurrently(len(d.parts), func(i int) ([]manifest.Object, error) { return d.buildPart(d.parts[i], m) })
	isThere := make(map[namedID]bool, len(objects))
	for _, o := range objects {
		gvk := gvkOf(o.GroupVersionKind())
		id := namedID{gvk, newIdentity(gvk, o.GetName(), o.GetNamespace())}
		if isThere[id] {
			return nil, errEntangled
		}
		isThere[id] = true
	}
	return objects, err
}

// buildPart builds a part. It returns the objects that are to be taken from it.
func (d *division) buildPart(p *part, m *memo.Memo) ([]manifest.Object, error) {
	for {
		fs, read, err := d.prune(p)
		if err != nil {
			return nil, err
		}
		objects, err := buildOnce(m, fs, read, d.folder)
		if err == nil {
			objects, err = d.taken(p, objects)
		}
		missing := d.missing(p, objects)
		if err != nil || len(missing) == 0 {
			return objects, err
		}
		p.add(missing)
	}
}

// builtPart is what a part is built from: a folder, and the content of all files that kustomize reads.
type builtPart struct {
	folder  string
	content [sha256.Size]byte
}

// buildOnce builds a folder of a file system, unless the memo knows what comes of the files that
// kustomize reads for it.
func buildOnce(m *memo.Memo, fs *source.FileSystem, read []string, folder string) ([]manifest.Object, error) {
	if m == nil {
		return buildFolder(fs, folder)
	}
	content := sha256.New()
	for _, file := range read {
		text, err := fs.ReadFile(file)
		if err != nil {
			return buildFolder(fs, folder) // which says what is wrong
		}
		for _, field := range [][]byte{[]byte(file), text} {
			content.Write(binary.AppendUvarint(nil, uint64(len(field))))
			content.Write(field)
		}
	}
	type result struct {
		objects []manifest.Object
		err     error
	}
	r := memo.Get(m, builtPart{folder, [sha256.Size]byte(content.Sum(nil))}, func() result {
		objects, err := buildFolder(fs, folder)
		return result{objects, err}
	})
	return r.objects, r.err
}

// taken returns the objects that are to be taken from a part, of all that were built.
func (d *division) taken(p *part, objects []manifest.Object) (taken []manifest.Object, err error) {
	for _, o := range objects {
		way := d.findExact(o)
		if way == nil {
			return nil, errEntangled
		}
		isTaken, isThere := p.nodes[d.nodeOf[way.Document.Node]]
		if !isThere {
			return nil, errEntangled
		}
		if isTaken {
			taken = append(taken, o)
		}
	}
	return taken, nil
}

// buildConcurrently calls build for each of n parts, several at a time. It returns the objects of
// all, or the error of the first part that fails.
func buildConcurrently(n int, build func(i int) ([]manifest.Object, error)) ([]manifest.Object, error) {
	defer mute()()
	built, errs := make([][]manifest.Object, n), make([]error, n)
	parallel.For(n, func(i int) { built[i], errs[i] = build(i) })
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	return slices.Concat(built...), nil
}

// warn prints what kustomize has against fields of the kustomizations that it loads.
func (d *division) warn() {
	for _, folder := range d.order {
		if warnings := d.loaded[folder].CheckDeprecatedFields(); warnings != nil {
			for _, warning := range *warnings {
				fmt.Fprintln(os.Stderr, warning)
			}
		}
	}
}

// mute keeps kustomize from printing the same warnings for each part.
func mute() (unmute func()) {
	stderr := os.Stderr
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return func() {}
	}
	os.Stderr = null
	return func() {
		os.Stderr = stderr
		_ = null.Close()
	}
}
