package source

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// maxSpread is how many bytes one field of a kustomization may add to all objects
	// together, and minSpread is what it may always add to one.
	maxSpread = 24 << 20
	minSpread = 16 << 10

	// maxPatched is how many objects patches that select by no name may change, each
	// counted for each patch, where there are more than fewPatches of them.
	maxPatched = 25_000
	fewPatches = 20
)

// spread is what a kustomization may add to every object.
type spread struct {
	line int
	size int
	what string

	patched int // how many objects it changes, of a patch that selects by no name
}

// spreadsTooMuch notes what a kustomization adds to so many objects that it is too much.
func (s *Sources) spreadsTooMuch(root string) bool {
	waysTo, objects := s.waysOf(root), 0
	for _, m := range s.Manifests {
		for _, text := range m.Texts {
			objects += waysTo(m.File).count * len(text.Objects)
		}
	}
	patches, patched := 0, 0
	for _, folder := range slices.Sorted(maps.Keys(s.Kustomizations)) {
		k := s.Kustomizations[folder]
		if waysTo(folder).count == 0 {
			continue
		}
		for _, spread := range s.spreads(k) {
			if patched += spread.patched; spread.patched > 0 {
				patches++
			}
			if patches > fewPatches && patched > maxPatched {
				s.problem(k.File, spread.line, "%d patches that name no object change %d objects together: make one patch of those with the same target", patches, patched)
				return true
			}
			if spread.size > minSpread && spread.size*objects > maxSpread {
				s.problem(k.File, spread.line, "%s: takes %d KiB, and there are %d objects that it may be added to: make it smaller, or select fewer in a kustomization of their own",
					spread.what, spread.size>>10, objects)
				return true
			}
		}
	}
	return false
}

// spreads are what a kustomization may add to every object that it has.
func (s *Sources) spreads(k *Kustomization) (spreads []spread) {
	content, err := s.FS.disk.read(k.File)
	if err != nil {
		return nil
	}
	var root yaml.Node
	if yaml.Unmarshal(content, &root) != nil || len(root.Content) == 0 {
		return nil
	}
	for _, field := range []string{"commonAnnotations", "commonLabels", "namePrefix", "nameSuffix", "namespace"} {
		for _, value := range valuesAt(root.Content[0], field) {
			spreads = append(spreads, spread{line: value.Line, size: sizeOf(value), what: field})
		}
	}
	for _, field := range []string{"labels", "images", "patches", "patchesJson6902", "replacements"} {
		for _, list := range valuesAt(root.Content[0], field) {
			for _, entry := range list.Content {
				spreads = append(spreads, spread{entry.Line, s.sizeOfEntry(k, field, dereferenced(entry)), field, s.patchedBy(field, dereferenced(entry))})
			}
		}
	}
	return spreads
}

// sizeOfEntry is how much an entry of a list may add to an object.
func (s *Sources) sizeOfEntry(k *Kustomization, field string, entry *yaml.Node) int {
	switch {
	case strings.HasPrefix(field, "patches"):
		if _, target := mappingEntry(entry, "target"); target == nil {
			return 0 // it is of one object
		}
		return s.sizeOfPatch(k, entry)
	case field == "replacements":
		return s.sizeOfSource(entry)
	}
	return sizeOf(entry)
}

// patchedBy is how many objects an entry of a list of patches changes, if it selects them
// by no name.
func (s *Sources) patchedBy(field string, entry *yaml.Node) (objects int) {
	_, target := mappingEntry(entry, "target")
	if !strings.HasPrefix(field, "patches") || target == nil || textAt(target, "name") != "" {
		return 0
	}
	kind := textAt(target, "kind")
	for _, m := range s.Manifests {
		for _, d := range s.documents[m.File] {
			if kind == "" || d.Kind == kind {
				objects++
			}
		}
	}
	return objects
}

// sizeOfPatch is the size of a patch, in text or in a file.
func (s *Sources) sizeOfPatch(k *Kustomization, entry *yaml.Node) (size int) {
	content := []byte(textAt(entry, "patch"))
	if file := k.Paths[textAt(entry, "path")]; file != "" {
		content, _ = s.FS.content(file) // it was read before
	}
	for _, d := range Parse(content) {
		size += sizeOf(d.Node)
	}
	return size
}

// sizeOfSource is the size of the largest value that may be the source of a replacement.
func (s *Sources) sizeOfSource(entry *yaml.Node) (largest int) {
	kind, name := textAt(entry, "source", "kind"), textAt(entry, "source", "name")
	field := textAt(entry, "source", "fieldPath")
	for _, m := range s.Manifests {
		for _, d := range s.documents[m.File] {
			if kind != "" && d.Kind != kind || name != "" && !strings.Contains(name, d.Name) || d.Name == "" {
				continue
			}
			if _, value := walkKeys(d.Node, strings.Split(field, "."), nil); value != nil {
				largest = max(largest, sizeOf(value))
			}
		}
	}
	return largest
}

// sizeOf is what a node takes, its aliases expanded.
func sizeOf(node *yaml.Node) int {
	m := &measurement{anchors: map[*yaml.Node]extent{}, open: map[*yaml.Node]bool{}}
	e, err := m.extent(node, 0)
	if err != nil {
		return maxSpread
	}
	return e.size()
}
