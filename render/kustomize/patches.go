package kustomize

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/source"
)

// patches are those of a kustomization, by its fields.
type patches struct {
	strategicMerge []patch // patchesStrategicMerge
	targeted       []patch // patches
	json6902       []patch // patchesJson6902
}

func (p patches) all() []patch { return slices.Concat(p.strategicMerge, p.targeted, p.json6902) }

// patch is a patch and what it holds.
type patch struct {
	types.Patch
	documents []source.Document
	// target is nil where the documents name what they patch, and so is its kind.
	target *types.SelectorRegex
	kind   *regexp.Regexp
}

// readPatches reads the patches of every kustomization, and reports whether all that may
// select specs, or what those refer to, leave alone what tells one from another.
func (d *division) readPatches() bool {
	d.patches = map[string]patches{}
	for folder, k := range d.reached {
		merge := make([]types.Patch, 0, len(k.PatchesStrategicMerge))
		for _, entry := range k.PatchesStrategicMerge {
			merge = append(merge, strategicMerge(k, entry))
		}
		read := make([][]patch, 3)
		for i, list := range [][]types.Patch{merge, k.Patches, k.PatchesJson6902} {
			for _, p := range list {
				one, err := readPatch(d.sources.FS, k, p)
				if err != nil || one.changesKind() || one.changesIdentity() && one.maySelect(slices.Concat(d.referents.kinds, d.specKinds)) {
					return false
				}
				if len(one.documents) > 1 && one.target == nil && one.maySelect(d.referents.kinds) {
					return false // a part may lack what another document names
				}
				read[i] = append(read[i], one)
			}
		}
		d.patches[folder] = patches{strategicMerge: read[0], targeted: read[1], json6902: read[2]}
	}
	return true
}

// strategicMerge returns an entry of patchesStrategicMerge as one of patches.
func strategicMerge(k *source.Kustomization, entry types.PatchStrategicMerge) types.Patch {
	if k.Paths[string(entry)] != "" {
		return types.Patch{Path: string(entry)}
	}
	return types.Patch{Patch: string(entry)}
}

func readPatch(fs *source.FileSystem, k *source.Kustomization, p types.Patch) (patch, error) {
	content := []byte(p.Patch)
	if p.Path != "" {
		var err error
		if content, err = fs.ReadFile(k.Paths[p.Path]); err != nil {
			return patch{}, err
		}
	}
	read := patch{Patch: p, documents: source.Parse(content)}
	if p.Target == nil {
		return read, nil
	}
	var err error
	if read.target, err = types.NewSelectorRegex(p.Target); err != nil {
		return patch{}, err
	}
	read.kind = regexp.MustCompile("")
	if p.Target.Kind != "" {
		read.kind, err = regexp.Compile("^(?:" + p.Target.Kind + ")$")
	}
	return read, err
}

// maySelect reports whether a patch may change an object of one of some kinds.
func (p patch) maySelect(kinds []string) bool {
	if p.kind != nil {
		return slices.ContainsFunc(kinds, p.kind.MatchString)
	}
	return slices.ContainsFunc(p.documents, func(d source.Document) bool { return slices.Contains(kinds, d.Kind) })
}

// referencedNames returns the names of specs without which a kustomization fails: it has a patch
// without a target, or a number of replicas, for each.
func (d *division) referencedNames() map[string]bool {
	names := map[string]bool{}
	for folder, k := range d.reached {
		for _, r := range k.Replicas {
			names[r.Name] = true
		}
		for _, p := range d.patches[folder].all() {
			for _, document := range p.documents {
				if p.kind == nil && slices.Contains(d.specKinds, document.Kind) {
					names[document.Name] = true
				}
			}
		}
	}
	return names
}

// changesKind reports whether a patch may make of any object one of another kind: of a
// spec, or of what specs refer to.
func (p patch) changesKind() bool {
	return p.Options != nil && p.Options.AllowKindChange ||
		p.changes(func(keys []string) bool { return slices.Contains([]string{"", "kind"}, keys[0]) })
}

// changesIdentity reports whether a patch may change what tells an object from others,
// or whether it is there.
func (p patch) changesIdentity() bool {
	if p.Options != nil && (p.Options.AllowNameChange || p.Options.AllowKindChange) {
		return true
	}
	return slices.ContainsFunc(p.documents, func(d source.Document) bool {
		asks := false
		d.Values(func(value string) {
			asks = asks || isForKustomize(value)
		})
		return asks || isDirective(d.Node) || isDirective(source.Field(d.Node, "metadata"))
	}) || p.changes(isOfIdentity)
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
