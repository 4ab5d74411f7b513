package kustomize

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/source"
)

// patch is an entry of a kustomization that patches objects.
type patch struct {
	types.Patch
	field     string // of the kustomization
	index     int    // in the field
	documents []source.Document
	// target is nil where the documents name what they patch.
	target *selector
	// err is set where kustomize is about to say what is wrong with the target.
	err error
}

// path returns the path of the entry, as patches[0].
func (p patch) path() string { return fmt.Sprintf("%s[%d]", p.field, p.index) }

// readPatches returns the patches of a kustomization.
func readPatches(k *source.Kustomization) (all []patch) {
	add := func(field string, i int, p types.Patch) {
		read := patch{Patch: p, field: field, index: i, documents: k.Documents[p.Path+p.Patch]}
		if p.Target != nil {
			read.target, read.err = newSelector(p.Target)
		}
		all = append(all, read)
	}
	for i, entry := range k.PatchesStrategicMerge {
		if k.Paths[string(entry)] != "" {
			add("patchesStrategicMerge", i, types.Patch{Path: string(entry)})
		} else {
			add("patchesStrategicMerge", i, types.Patch{Patch: string(entry)})
		}
	}
	for i, p := range k.Patches {
		add("patches", i, p)
	}
	for i, p := range k.PatchesJson6902 {
		add("patchesJson6902", i, p)
	}
	return all
}

// selects reports whether a patch may change a candidate.
func (p patch) selects(c candidate) bool {
	if p.target != nil {
		return p.target.selects(c)
	}
	return p.err != nil || slices.ContainsFunc(p.documents, func(d source.Document) bool {
		return d.Kind == c.gvk.Kind && d.Group == c.gvk.Group && c.isNamed(d.Name, d.Namespace)
	})
}

// changesIdentity reports whether a patch may change what tells an object from others,
// or whether it is there.
func (p patch) changesIdentity() bool {
	return p.renames() || slices.ContainsFunc(p.documents, func(d source.Document) bool {
		return isDirective(d.Node) || isDirective(source.Field(d.Node, "metadata"))
	})
}

// renames reports whether a patch may change what tells an object from others.
func (p patch) renames() bool {
	if p.Options != nil && (p.Options.AllowNameChange || p.Options.AllowKindChange) {
		return true
	}
	for _, d := range p.documents {
		for value := range d.Values() {
			if isForKustomize(value) {
				return true
			}
		}
	}
	return p.changes(isOfIdentity)
}

// isOfIdentity reports whether a field, by its keys, tells an object from others, or has
// kustomize do so.
func isOfIdentity(keys []string) bool {
	return slices.Contains([]string{"", "apiVersion", "kind"}, keys[0]) ||
		keys[0] == "metadata" && (len(keys) == 1 || strings.HasPrefix(keys[1], "name")) ||
		isForKustomize(keys[len(keys)-1])
}

// changes reports whether a JSON 6902 patch changes, or takes its values from, a field of
// some whose keys are.
func (p patch) changes(some func(keys []string) bool) bool {
	return slices.ContainsFunc(p.documents, func(d source.Document) bool {
		return d.Node.Kind == yaml.SequenceNode && slices.ContainsFunc(d.Node.Content, func(operation *yaml.Node) bool {
			return slices.ContainsFunc([]string{"path", "from"}, func(field string) bool {
				node := source.Field(operation, field)
				if node == nil {
					return false
				}
				_, pointer, _ := strings.Cut(node.Value, "/") // what is before is of no importance
				return some(source.JSONPointer("/" + pointer))
			})
		})
	})
}

// isDirective reports whether a mapping of a strategic merge patch removes or replaces
// what it is merged with.
func isDirective(mapping *yaml.Node) bool { return source.Field(mapping, "$patch") != nil }
