package buildpath

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
)

// Patch is an entry of a kustomization that patches objects.
type Patch struct {
	types.Patch
	Field     string // of the kustomization
	Index     int    // in the field
	Documents []source.Document
	// Selector is nil if the documents name their targets.
	Selector *Selector
	// Err is the reason why kustomize refuses the target.
	Err error
}

// Entry returns the position of the patch in its kustomization, as patches[0].
func (p Patch) Entry() string { return fmt.Sprintf("%s[%d]", p.Field, p.Index) }

func findPatches(k *source.Kustomization) (all []Patch) {
	add := func(field string, i int, p types.Patch) {
		patch := Patch{Patch: p, Field: field, Index: i, Documents: k.Documents[p.Path+p.Patch]}
		if p.Target != nil {
			patch.Selector, patch.Err = NewSelector(p.Target)
		}
		all = append(all, patch)
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

// PatchesIn returns the patches of transformers. Load returns the documents of a file.
func PatchesIn(transformers []source.Document, load func(file string) []source.Document) (all []Patch) {
	for _, d := range transformers {
		var k struct {
			Kind, Patch, JSONOp, Path string
			Paths                     []string
			Target                    *types.Selector
		}
		if d.Node().Decode(&k) != nil || !strings.HasPrefix(k.Kind, "Patch") {
			continue
		}
		add := func(documents []source.Document) {
			p := Patch{Documents: documents}
			if k.Target != nil {
				p.Selector, p.Err = NewSelector(k.Target)
			}
			all = append(all, p)
		}
		for _, field := range []string{"patch", "jsonOp", "patches"} {
			add(d.Inside(field))
		}
		for _, file := range append(k.Paths, k.Path) {
			add(load(file))
		}
	}
	return all
}

// Each returns a patch for each document of the patch.
func (p Patch) Each() (all []Patch) {
	for _, d := range p.Documents {
		p.Documents = []source.Document{d}
		all = append(all, p)
	}
	return all
}

// Selects reports whether the patch may change a candidate.
func (p Patch) Selects(c Candidate) bool {
	if p.Selector != nil {
		return p.Selector.Selects(c)
	}
	return p.Err != nil || slices.ContainsFunc(p.Documents, func(d source.Document) bool {
		return d.Kind == c.GVK.Kind && d.Group == c.GVK.Group && c.isNamed(d.Name, d.Namespace)
	})
}

// Changes reports whether the patch may change a candidate when kustomize applies it: before the other fields of the
// kustomization, unless it is of patchesJson6902.
func (p Patch) Changes(c Candidate) bool {
	if p.Field != "patchesJson6902" {
		c.transformed = c.Index
	}
	return p.Selects(c)
}

// Copies reports whether an operation of the patch takes its value from another field.
func (p Patch) Copies() bool {
	return slices.ContainsFunc(p.Documents, func(d source.Document) bool {
		return slices.ContainsFunc(node.Items(d.Node()), func(operation *yaml.Node) bool {
			return node.Field(operation, "from") != nil
		})
	})
}

// ChangesIdentity reports whether the patch may rename or remove objects.
func (p Patch) ChangesIdentity() bool {
	return p.Renames() || slices.ContainsFunc(p.Documents, func(d source.Document) bool {
		return hasDirective(d.Node()) || hasDirective(node.Field(d.Node(), "metadata"))
	})
}

// hasDirective reports whether a mapping of a strategic merge patch removes or replaces its target.
func hasDirective(mapping *yaml.Node) bool { return node.Field(mapping, "$patch") != nil }

// Renames reports whether the patch may change the ID of an object.
func (p Patch) Renames() bool {
	if p.Options != nil && (p.Options.AllowNameChange || p.Options.AllowKindChange) {
		return true
	}
	for _, d := range p.Documents {
		for value := range d.Values() {
			if MayRename(value) {
				return true
			}
		}
		if d.Node().Kind == yaml.SequenceNode && slices.ContainsFunc(d.Node().Content, operatesOnIdentity) {
			return true
		}
	}
	return false
}

// operatesOnIdentity reports whether an operation of a JSON 6902 patch changes a field of the ID, or
// takes its value from one.
func operatesOnIdentity(operation *yaml.Node) bool {
	return slices.ContainsFunc([]string{"path", "from"}, func(field string) bool {
		value := node.Field(operation, field)
		if value == nil {
			return false
		}
		_, pointer, _ := strings.Cut(value.Value, "/") // kustomize ignores the text before
		return IsIdentity(node.JSONPointer("/" + pointer))
	})
}

// IsIdentity reports whether the field with some keys is a part of an object's ID, or an annotation
// that MayRename the object.
func IsIdentity(keys []string) bool {
	return slices.Contains([]string{"", "apiVersion", "kind"}, keys[0]) ||
		keys[0] == "metadata" && (len(keys) == 1 || strings.HasPrefix(keys[1], "name")) ||
		MayRename(keys[len(keys)-1])
}

// MayRename reports whether an annotation with a key may make kustomize rename an object. The key of
// local configuration does not: it drops the object from the result.
func MayRename(key string) bool {
	return key != konfig.IgnoredByKustomizeAnnotation &&
		(strings.Contains(key, "config.kubernetes.io/") || strings.Contains(key, "kustomize.config.k8s.io/"))
}
