package source

import (
	"errors"
	"slices"
	"sync"

	"example.com/gatehouse/render/object"
)

// growth is by how many bytes the documents of a file grow when they are read, see
// measure, or why they cannot be.
type growth struct {
	bytes int
	err   error
}

// TooLargeError is why a file is not read.
type TooLargeError struct{ object.Problem }

func (e *TooLargeError) Error() string { return e.String() }

// vetted notes the growth of a file that was parsed, and is fit to be read.
func (d *disk) vetted(file string, bytes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.growths[file] = growth{bytes: bytes}
}

// trustTexts has files whose content is but the value of a key be read, whatever they are.
// Transformers that are built might make kustomize parse them.
func (s *Sources) trustTexts() {
	if slices.ContainsFunc(s.loads, func(l load) bool { return l.configures != nil && l.isDir }) {
		return
	}
	for _, file := range s.texts {
		s.FS.disk.vetted(file, 0)
	}
}

// vet returns the growth of a file.
func (d *disk) vet(file string, content []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g, known := d.growths[file]
	if !known {
		g = measureFile(file, content)
		d.growths[file] = g
	}
	return g.bytes, g.err
}

// TooLarge are the files that were asked for and were not read.
func (f *FileSystem) TooLarge() (problems []object.Problem) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	for _, g := range f.disk.growths {
		var tooLarge *TooLargeError
		if errors.As(g.err, &tooLarge) {
			problems = append(problems, tooLarge.Problem)
		}
	}
	return object.SortProblems(problems)
}

func measureFile(file string, content []byte) (g growth) {
	for _, p := range splitDocuments(content) {
		_, bytes, err := p.bomb()
		if err != nil {
			line, message := p.where(err)
			return growth{err: &TooLargeError{object.Problem{File: Relative(file), Line: line, Message: message}}}
		}
		g.bytes += bytes
	}
	return g
}

// maxReads is how many bytes may come of reading files again, and of what they grow by, in
// one build.
const maxReads = 4 * maxTotalGrowth

// reads counts what a build reads.
type reads struct {
	mu    sync.Mutex
	files map[string]bool
	bytes int
}

// Counted returns the file system for one build, which may not read without end.
func (f *FileSystem) Counted() *FileSystem {
	counted := *f
	counted.reads = &reads{files: map[string]bool{}}
	return &counted
}

// count counts a file that is read, and says whether that is too much.
func (r *reads) count(file string, length, growth int) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.files[file] {
		r.bytes += length
	}
	r.files[file] = true
	if r.bytes += growth; r.bytes > maxReads {
		return &TooLargeError{object.Problem{File: Relative(file), Message: "what is read, again and again, is too much with this file: load it less often"}}
	}
	return nil
}
