// Package pull writes fetched charts to the repository, with their locks.
package pull

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/regular"
	"example.com/gatehouse/render/source/charts"
	"example.com/gatehouse/render/source/fetched"
)

// Result lists the files of a pull, from the root.
type Result struct {
	Pulled []string `json:"pulled"`
	// Locked were there before, without a digest in the lock.
	Locked    []string `json:"locked"`
	Unchanged []string `json:"unchanged"`
	Removed   []string `json:"removed"`

	Problems []manifest.Problem `json:"-"`
}

// Run writes the missing charts of environments, and adds entries to the locks beside them. With all
// environments it removes locked charts that none of them names. An error of a chart leaves the others.
func Run(ctx context.Context, fetcher fetched.Fetcher, repository *render.Repository, selection render.Selection,
	progress func(string)) (*Result, error) {
	names, err := repository.Select(selection)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(repository.Dir())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	p := &puller{root: root, fetcher: fetcher, progress: progress, files: map[string]*lock{}, done: map[string]bool{},
		Result: &Result{Pulled: []string{}, Locked: []string{}, Unchanged: []string{}, Removed: []string{}}}
	for _, name := range names {
		if err := p.pullEnvironment(ctx, repository, name); err != nil {
			return nil, err
		}
	}
	if selection.All && !manifest.HasErrors(p.Problems) {
		p.removeUnused()
	}
	p.Problems = manifest.SortProblems(p.Problems)
	return p.Result, nil
}

// Fetch fetches the charts of environments, and returns the errors of these.
func Fetch(ctx context.Context, repository *render.Repository, selection render.Selection,
	progress func(string)) (errs []manifest.Problem, err error) {
	names, err := repository.Select(selection)
	if err != nil {
		return nil, err
	}
	found := make([][]manifest.Problem, len(names))
	parallel.Some(render.SideBySide, len(names), func(i int) {
		if ctx.Err() == nil {
			_, problems := repository.NeededCharts(names[i], func(step string) { progress(names[i] + ": " + step) })
			found[i], _ = manifest.SplitProblems(problems)
		}
	})
	return manifest.SortProblems(slices.Concat(found...)), ctx.Err()
}

// puller writes charts.
type puller struct {
	*Result
	root     *os.Root
	fetcher  fetched.Fetcher
	progress func(string)
	files    map[string]*lock // by folder
	done     map[string]bool  // archives
}

// lock is the lock of a folder.
type lock struct {
	file    string
	entries []charts.Locked
}

// pullEnvironment writes the charts of an environment. Its releases are known once its own charts are there.
func (p *puller) pullEnvironment(ctx context.Context, repository *render.Repository, name string) error {
	isDone := map[render.NeededChart]bool{}
	for {
		needed, problems := repository.NeededCharts(name, func(step string) { p.progress(name + ": " + step) })
		isNew := false
		for _, c := range needed {
			if err := ctx.Err(); err != nil {
				return err
			}
			if isDone[c] {
				continue
			}
			isDone[c] = true
			isPulled, file, err := p.pull(c)
			isNew = isNew || isPulled
			p.add(file, err)
		}
		if !isNew {
			p.Problems = append(p.Problems, problems...)
			return nil
		}
	}
}

var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)

// add records an error of a file.
func (p *puller) add(file string, err error) {
	if err != nil {
		p.Problems = append(p.Problems, manifest.Problem{Code: manifest.InvalidChart, File: file, Message: err.Error()})
	}
}

// pull makes sure that a chart is there and locked. It reports whether it wrote the chart.
func (p *puller) pull(c render.NeededChart) (isPulled bool, file string, err error) {
	chart := charts.LockedOf(nil, c.From)
	file = path.Join(c.Folder, chart.File())
	l, err := p.lockOf(c.Folder)
	if err != nil {
		return false, file, err
	}
	chart = charts.LockedOf(l.entries, c.From)
	file = path.Join(c.Folder, chart.File())
	if !word.MatchString(chart.Name) || len(strings.Fields(chart.Repository)) != 1 {
		return false, file, fmt.Errorf("%q is no name of a chart with a repository", chart.Name)
	}
	content, err := regular.ReadFile(p.root, file)
	if isPulled = errors.Is(err, fs.ErrNotExist); isPulled && c.IsThere { // as a folder
		p.take(file, &p.Unchanged)
		return false, file, nil
	}
	if isPulled {
		content, err = p.fetch(&chart, c.From)
		file = path.Join(c.Folder, chart.File())
	}
	if err == nil && p.done[file] {
		_, err = l.find(chart)
		return false, file, err
	}
	if err != nil {
		return false, file, err
	}
	return isPulled, file, p.lock(l, chart, file, content, isPulled)
}

// fetch returns the archive of a chart, and sets its version.
func (p *puller) fetch(chart *charts.Locked, from fetched.Source) ([]byte, error) {
	p.progress("fetching " + from.String())
	files, err := p.fetcher.Fetch(chart.Pin(from))
	if err != nil {
		return nil, err
	}
	if chart.Line == 0 && from.Version == "" {
		chart.Version = files.Resolved
	}
	return p.fetcher.ReadFile(strings.TrimPrefix(files.Path, "/"+fetched.Folder+"/"))
}

func (p *puller) take(file string, in *[]string) {
	if !p.done[file] {
		p.done[file] = true
		*in = append(*in, file)
	}
}

// lock adds a chart to its lock, and writes it if it is new.
func (p *puller) lock(l *lock, chart charts.Locked, file string, content []byte, isNew bool) error {
	p.done[file] = true // a wrong file stays
	at, err := l.find(chart)
	if err != nil {
		return err
	}
	chart.Digest = fmt.Sprintf("sha256:%x", sha256.Sum256(content))
	if at >= 0 && l.entries[at].Digest != chart.Digest {
		return fmt.Errorf("has the digest %s, and line %d of %s another: if the chart may change, remove that line",
			chart.Digest, l.entries[at].Line, l.file)
	}
	if err := check(chart, content); err != nil {
		return err
	}
	done := &p.Unchanged
	switch {
	case isNew:
		done = &p.Pulled
		err = regular.ReplaceFile(p.root, file, content)
	case at < 0:
		done = &p.Locked
	}
	if err == nil && at < 0 {
		chart.Line = len(l.entries) + 2
		l.entries = append(l.entries, chart)
		err = regular.ReplaceFile(p.root, l.file, charts.FormatLock(l.entries))
	}
	if err == nil {
		*done = append(*done, file)
	}
	return err
}

// find returns the index of the entry of a chart, or -1.
func (l *lock) find(c charts.Locked) (at int, err error) {
	at = slices.IndexFunc(l.entries, func(e charts.Locked) bool { return e.File() == c.File() })
	if at >= 0 && l.entries[at].Repository != c.Repository {
		return at,
			fmt.Errorf("%s line %d has this chart of %s, and not of %s: remove that line and the archive, or write "+
				"one repository", l.file, l.entries[at].Line, l.entries[at].Repository, c.Repository)
	}
	return at, nil
}

// check returns an error for an archive that is not the chart.
func check(l charts.Locked, content []byte) error {
	c, err := loader.LoadArchive(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("is no chart: %w", err)
	}
	if c.Name() != l.Name || !l.HasVersion(c.Metadata.Version) {
		return fmt.Errorf("is chart %s %s, and not %s %s", c.Name(), c.Metadata.Version, l.Name, l.Version)
	}
	return nil
}

// lockOf reads the lock of a folder once.
func (p *puller) lockOf(folder string) (*lock, error) {
	if l := p.files[folder]; l != nil {
		return l, nil
	}
	l := &lock{file: path.Join(folder, charts.LockFile)}
	content, err := regular.ReadReal(p.root, l.file)
	if err != nil {
		return nil, err
	}
	var problems []manifest.Problem
	if l.entries, problems = charts.ParseLock(l.file, content); len(problems) > 0 {
		return nil, errors.New(problems[0].String())
	}
	p.files[folder] = l
	return l, nil
}

// removeUnused removes the archives and entries of locks that no environment names.
func (p *puller) removeUnused() {
	if _, err := p.lockOf(charts.Folder); err != nil {
		p.add(path.Join(charts.Folder, charts.LockFile), err)
	}
	for folder, l := range p.files {
		var kept []charts.Locked
		for _, e := range l.entries {
			file := path.Join(folder, e.File())
			if p.done[file] {
				kept = append(kept, e)
				continue
			}
			if err := p.root.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				p.add(file, err)
				kept = append(kept, e)
				continue
			}
			p.Removed = append(p.Removed, file)
		}
		if len(kept) < len(l.entries) {
			p.add(l.file, regular.ReplaceFile(p.root, l.file, charts.FormatLock(kept)))
		}
	}
	slices.Sort(p.Removed)
}
