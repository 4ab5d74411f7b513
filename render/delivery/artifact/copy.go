package artifact

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	helmloader "helm.sh/helm/v4/pkg/chart/v2/loader"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/source"
)

// staging makes an artifact of the files of sources, as cp does (internal/builder/builder.go of source-watcher).
type staging struct {
	sources map[string]Files
	read    func(name string) ([]byte, error)
	made    Files
	folders map[string]bool // of made
}

// copy does an operation (applyCopyOperation).
func (s *staging) copy(op operation) error {
	alias, pattern, _ := strings.Cut(strings.TrimPrefix(op.From, "@"), "/")
	files, isThere := s.sources[alias]
	if !isThere {
		return fmt.Errorf("from: no source has the alias %s", alias)
	}
	for i, exclude := range op.Exclude {
		if !doublestar.ValidatePattern(exclude) {
			return fmt.Errorf("exclude[%d]: %s is no pattern", i, exclude)
		}
	}
	if op.Strategy == "Extract" {
		return fmt.Errorf("spec.artifacts: what an archive has %w", errUnknown)
	}
	to := strings.TrimPrefix(op.To, "@artifact/")
	if !strings.ContainsAny(pattern, "*?[]") {
		return s.copyOne(op, files, path.Clean(pattern), to)
	}
	matches, err := files.matching(pattern)
	if err != nil {
		return err
	}
	base := path.Join(slices.Collect(literals(pattern))...)
	isMatch := len(matches) > 0
	matches = slices.DeleteFunc(matches, func(name string) bool { return op.excludes(name, base) })
	switch {
	case !isMatch:
		return fmt.Errorf("from: no file of the source matches %s: source-watcher makes no artifact", pattern)
	case len(matches) == 0:
		return fmt.Errorf("exclude: leaves no file of %s: source-watcher makes no artifact", pattern)
	}
	for _, name := range matches {
		within := name
		if prefix, isBelow := strings.CutSuffix(pattern, "/**"); isBelow {
			within = strings.TrimPrefix(name, prefix+"/")
		}
		if err := s.copyAny(op, files, name, path.Join(to, within), base); err != nil {
			return err
		}
	}
	return nil
}

// copyOne copies a file or a folder that is named as a whole (applySingleSourceCopy).
func (s *staging) copyOne(op operation, files Files, name, to string) error {
	_, isFile := files[name]
	switch {
	case !isFile && !files.isFolder(name):
		return fmt.Errorf("from: the source has no %s: source-watcher makes no artifact", name)
	case !isFile:
		return s.copyAny(op, files, name, path.Join(to, path.Base(name)), name)
	case op.excludes(name, "."):
		return nil
	case strings.HasSuffix(op.To, "/") || s.folders[path.Clean(to)]:
		to = path.Join(to, path.Base(name))
	}
	return s.copyAny(op, files, name, path.Clean(to), ".")
}

// copyAny copies a file, or a folder without the files that are excluded (copyFileWithRoots).
func (s *staging) copyAny(op operation, files Files, name, to, base string) error {
	if file, isFile := files[name]; isFile {
		if before, isThere := s.made[to]; isThere && op.Strategy == "Merge" {
			return s.merge(before, file, to)
		}
		return s.put(to, file)
	}
	err := s.addFolder(path.Clean(to))
	for _, each := range files.below(name) {
		within := each
		if name != "." {
			within = strings.TrimPrefix(each, name+"/")
		}
		if err == nil {
			err = s.copyBelow(op, name, within, to, base, files[each])
		}
	}
	return err
}

// copyBelow copies a file below a folder, and makes the folders between, down to an excluded one.
func (s *staging) copyBelow(op operation, folder, within, to, base string, file source.Link) error {
	parts := strings.Split(within, "/")
	for i, part := range parts {
		folder = path.Join(folder, part)
		to = path.Join(to, part)
		if op.excludes(folder, base) {
			return nil
		}
		if i == len(parts)-1 {
			break
		}
		if err := s.addFolder(to); err != nil {
			return err
		}
	}
	return s.put(to, file)
}

// put adds a file to the artifact.
func (s *staging) put(to string, file source.Link) error {
	if err := s.addFolder(path.Dir(to)); err != nil {
		return err
	}
	if s.folders[to] {
		return fmt.Errorf("to: %s is a folder of the artifact", to)
	}
	s.made[to] = file
	return nil
}

// addFolder adds a folder to the artifact, and those above it.
func (s *staging) addFolder(name string) error {
	if name == ".." || strings.HasPrefix(name, "../") || strings.HasPrefix(name, "/") {
		return fmt.Errorf("to: %s leads out of the artifact", name)
	}
	for at := name; !s.folders[at]; at = path.Dir(at) {
		if _, isFile := s.made[at]; isFile {
			return fmt.Errorf("to: %s is a file of the artifact", at)
		}
		s.folders[at] = true
	}
	return nil
}

// merge puts the YAML of a file over another one's, as values of charts (internal/builder/merge.go).
func (s *staging) merge(before, file source.Link, to string) error {
	below, err := s.load(before)
	if err != nil {
		return err
	}
	above, err := s.load(file)
	if err != nil {
		return err
	}
	content, err := yaml.Marshal(helmloader.MergeMaps(below, above))
	s.made[to] = source.Link{From: slices.Concat(before.From, file.From), Content: content}
	return err
}

// load returns the documents of a file as one mapping.
func (s *staging) load(file source.Link) (map[string]any, error) {
	content := file.Content
	if content == nil {
		var err error
		if content, err = s.read(file.From[0]); err != nil {
			return nil, err
		}
	}
	all := map[string]any{}
	for reader := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader(content))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		one := map[string]any{}
		if err == nil {
			err = yaml.Unmarshal(document, &one)
		}
		if err != nil {
			return nil, fmt.Errorf("strategy: %s is merged and no YAML: %w", file.From[0], err)
		}
		all = helmloader.MergeMaps(all, one)
	}
}

// matching returns the files and folders that a pattern matches, as fs.Glob finds them: a star is of one folder.
func (f Files) matching(pattern string) (names []string, err error) {
	for _, name := range append(f.folders(), slices.Collect(maps.Keys(f))...) {
		isMatch, err := path.Match(pattern, name)
		if err != nil {
			return nil, fmt.Errorf("from: %s: %w", pattern, err)
		}
		if isMatch {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// below returns the files below a folder, in order.
func (f Files) below(folder string) (names []string) {
	for name := range f {
		if folder == "." || strings.HasPrefix(name, folder+"/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (f Files) isFolder(name string) bool { return name == "." || len(f.below(name)) > 0 }

// literals returns the parts of a pattern before the first star (sourceSelectionRoot).
func literals(pattern string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for part := range strings.SplitSeq(path.Clean(pattern), "/") {
			if strings.ContainsAny(part, "*?[]") || !yield(part) {
				return
			}
		}
	}
}

// excludes reports whether a path is excluded: from the source, or from the folder that is selected
// (shouldExcludePath).
func (op operation) excludes(name, base string) bool {
	paths := []string{name}
	if within, isBelow := strings.CutPrefix(name, base+"/"); isBelow {
		paths = append(paths, within)
	}
	for _, pattern := range op.Exclude {
		for _, each := range paths {
			if doublestar.MatchUnvalidated(pattern, each) ||
				!strings.Contains(pattern, "/") && doublestar.MatchUnvalidated(pattern, path.Base(each)) {
				return true
			}
		}
	}
	return false
}
