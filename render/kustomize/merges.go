package kustomize

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/references"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
)

// unmeantMerges warns of strategic merge patches that merge lists otherwise than they say: a misspelled container is
// added to an object, and items that share a merge key are lost, even if the patch names none of them.
func unmeantMerges(paths *Paths, built []manifest.Object) (warnings []manifest.Problem) {
	merging := map[string][]buildpath.Patch{} // each with one document
	for folder, patches := range paths.Patches {
		for _, p := range patches {
			for _, p := range p.Each() {
				if isMerge(p.Documents[0]) {
					merging[folder] = append(merging[folder], p)
				}
			}
		}
	}
	if len(merging) == 0 {
		return nil
	}
	for _, o := range built {
		path := paths.Find(o)
		if path == nil || path.IsGenerated {
			continue
		}
		d := path.Document
		lost := lostItems(d.Node(), d.File, o)
		for i, folder := range path.Folders {
			c := paths.Candidate(path, i)
			for _, p := range merging[folder] {
				if !p.Changes(c) {
					continue
				}
				warnings = append(warnings, misspelledContainers(d, p.Documents[0])...)
				if len(lost) == 0 {
					lost = lostItems(p.Documents[0].Node(), p.Documents[0].File, o)
				}
				if len(lost) > 0 && !hasRemovals(paths, *path) {
					by := fmt.Sprintf("%s of %s", p.Entry(), source.Relative(folder))
					warnings = append(warnings, lost[0].problem(d, by))
					lost = nil
				}
			}
		}
	}
	return warnings
}

func isMerge(d source.Document) bool { return d.Node() != nil && d.Node().Kind == yaml.MappingNode }

// containersOf returns the containers of a list in the Pod template of an object, or of a patch of it.
func containersOf(kind string, root *yaml.Node, list string) []*yaml.Node {
	template, ok := manifest.PodTemplatePath(kind)
	if !ok || root == nil || root.Kind != yaml.MappingNode {
		return nil
	}
	_, containers := node.Walk(root, slices.Concat(template, []string{"spec", list}), nil)
	return node.Items(containers)
}

// misspelledContainers warns of containers that a patch adds to an object, with the name of one that the object has,
// but for a typing error.
func misspelledContainers(d, patch source.Document) (warnings []manifest.Problem) {
	for _, list := range []string{"containers", "initContainers"} {
		var names []string
		for _, container := range containersOf(d.Kind, d.Node(), list) {
			names = append(names, node.Text(container, "name"))
		}
		for _, container := range containersOf(d.Kind, patch.Node(), list) {
			name := node.Text(container, "name")
			meant := references.Misspelled(name, names)
			if slices.Contains(names, name) || meant == "" {
				continue
			}
			warnings = append(warnings, manifest.Problem{
				Code:   manifest.LostItem,
				Object: d.String(), File: source.Relative(patch.File), Line: container.Line, Warning: true,
				Message: fmt.Sprintf("the patch adds container %q to %s: did you mean %q?", name, list, meant),
			})
		}
	}
	return warnings
}

// mergeKeys are the keys by which kustomize merges lists whose items may share one.
var mergeKeys = map[string]string{
	"ports": "containerPort", "hostAliases": "ip", "topologySpreadConstraints": "topologyKey",
}

// lostItem is an item of a list that an object lost to another with the same merge key.
type lostItem struct {
	list, key, value string
	before, after    int // items with the value
	file             string
	line             int
}

func (l lostItem) problem(d source.Document, by string) manifest.Problem {
	return manifest.Problem{Code: manifest.LostItem,
		Object: d.String(), File: source.Relative(l.file), Line: l.line, Warning: true,
		Message: fmt.Sprintf("%s: %d items have %s %s, and kustomize merges them into %d because %s patches the "+
			"object: give each another %[3]s, or write the patch as JSON 6902 operations", l.list, l.before, l.key,
			l.value, l.after, by)}
}

// lostItems returns the first items of each list in a source object, or in a patch, that the built object lacks.
func lostItems(root *yaml.Node, file string, o manifest.Object) (lost []lostItem) {
	add := func(within *yaml.Node, list, key string, built any) {
		lost = append(lost, lostOf(node.Field(within, list), lostItem{list: list, key: key, file: file},
			decoding.At(built, []string{list}))...)
	}
	template, ok := manifest.PodTemplatePath(o.GetKind())
	if !ok {
		add(node.Field(root, "spec"), "ports", "port", o.Object["spec"])
		return lost
	}
	spec := slices.Concat(template, []string{"spec"})
	_, within := node.Walk(root, spec, nil)
	if within == nil {
		return nil
	}
	is := decoding.At(o.Object, spec)
	for _, list := range []string{"hostAliases", "topologySpreadConstraints"} {
		add(within, list, mergeKeys[list], is)
	}
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := decoding.At(is, []string{list}).([]any)
		for _, was := range node.Items(node.Field(within, list)) {
			for _, is := range containers {
				if decoding.At(is, []string{"name"}) == node.Text(was, "name") {
					add(was, "ports", mergeKeys["ports"], is)
				}
			}
		}
	}
	return lost
}

// hasRemovals reports whether a patch of an object has a directive, or an operation on a list.
func hasRemovals(paths *Paths, path Path) bool {
	for i, folder := range path.Folders {
		for _, p := range paths.Patches[folder] {
			for _, d := range p.Documents {
				for value := range d.Values() {
					if strings.HasPrefix(value, "$") || strings.HasPrefix(value, "/") {
						if p.Changes(paths.Candidate(&path, i)) {
							return true
						}
						break
					}
				}
			}
		}
	}
	return false
}

// lostOf returns the first item of a list in a source object that shares its merge key with another, if the built list
// has fewer of them.
func lostOf(list *yaml.Node, l lostItem, built any) []lostItem {
	count := map[string]int{}
	now, _ := built.([]any)
	for _, item := range now {
		count[fmt.Sprint(decoding.At(item, []string{l.key}))]++
	}
	items := map[string][]*yaml.Node{}
	for _, item := range node.Items(list) {
		value := node.Text(item, l.key)
		items[value] = append(items[value], item)
	}
	for _, item := range node.Items(list) {
		l.value = node.Text(item, l.key)
		same := items[l.value]
		l.before = len(same)
		l.after = count[l.value]
		if l.value != "" && l.before > 1 && l.after > 0 && l.after < l.before {
			l.line = same[1].Line
			return []lostItem{l}
		}
	}
	return nil
}

// deletesAll returns the problem of a build without objects: at the first patch that deletes objects, if there is one.
func deletesAll(paths *Paths) manifest.Problem {
	s := paths.Sources
	for _, folder := range slices.Sorted(maps.Keys(paths.Loaded)) {
		k := s.Kustomizations[folder]
		for _, p := range paths.Patches[folder] {
			for _, d := range p.Documents {
				if node.Text(d.Node(), "$patch") == "delete" {
					return manifest.Problem{File: source.Relative(k.File), Code: manifest.NoObjects,
						Line: s.Line(k.File, p.Field, strconv.Itoa(p.Index)),
						Message: p.Entry() + ": the patch deletes every object, as its target excludes none: write " +
							"the kind and name of what to delete into the target"}
				}
			}
		}
	}
	return manifest.Problem{File: source.Relative(paths.Loaded[paths.Folder].File), Code: manifest.NoObjects,
		Message: "builds to nothing: list resources"}
}

// explainOperation adds the object to the problem of an operation on a field that it does not have. To add a field, an
// object needs the field around it.
func explainOperation(paths *Paths, p manifest.Problem, operation, path string) manifest.Problem {
	keys := node.JSONPointer(path)
	if operation == "add" {
		keys = keys[:len(keys)-1]
	}
	for i := range paths.All {
		of := &paths.All[i]
		for n, folder := range of.Folders {
			for _, patch := range paths.Patches[folder] {
				if !slices.ContainsFunc(patch.Documents, func(d source.Document) bool { return operatesOn(d, path) }) ||
					!patch.Changes(paths.Candidate(of, n)) || of.IsGenerated {
					continue
				}
				if _, value := node.Walk(of.Document.Node(), keys, nil); value == nil {
					p.Object = of.Document.String()
					return p
				}
			}
		}
	}
	return p
}

func operatesOn(d source.Document, path string) bool {
	return d.Node() != nil && d.Node().Kind == yaml.SequenceNode &&
		slices.ContainsFunc(node.Items(d.Node()), func(operation *yaml.Node) bool {
			return node.Text(operation, "path") == path
		})
}
