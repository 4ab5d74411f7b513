package build

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
	kind      *regexp.Regexp // of its target; nil where its documents name what they patch
}

// readPatches reads the patches of every kustomization, and says whether all that may
// select specs, or what those refer to, leave alone what tells one from another.
func (d *division) readPatches() bool {
	d.patches = map[string]patches{}
	for folder, k := range d.reached {
		var merge []types.Patch
		for _, entry := range k.PatchesStrategicMerge {
			p := types.Patch{Patch: string(entry)}
			if k.Paths[string(entry)] != "" {
				p = types.Patch{Path: string(entry)}
			}
			merge = append(merge, p)
		}
		read := make([][]patch, 3)
		for i, list := range [][]types.Patch{merge, k.Patches, k.PatchesJson6902} {
			for _, p := range list {
				one, err := readPatch(d.sources.FS, k, p)
				if err != nil || one.changesIdentity() && one.maySelect(append(d.referents.kinds, specKinds...)) {
					return false
				}
				read[i] = append(read[i], one)
			}
		}
		d.patches[folder] = patches{strategicMerge: read[0], targeted: read[1], json6902: read[2]}
	}
	return true
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
	selector, err := types.NewSelectorRegex(p.Target)
	if err != nil || selector == nil {
		return patch{}, err
	}
	read.kind = regexp.MustCompile("")
	if p.Target.Kind != "" {
		read.kind, err = regexp.Compile("^(?:" + p.Target.Kind + ")$")
	}
	return read, err
}

// maySelect says whether a patch may change an object of one of some kinds.
func (p patch) maySelect(kinds []string) bool {
	if p.kind != nil {
		return slices.ContainsFunc(kinds, p.kind.MatchString)
	}
	return slices.ContainsFunc(p.documents, func(d source.Document) bool { return slices.Contains(kinds, d.Kind) })
}

// awaitedNames are the names of specs that a kustomization wants to be there: it has
// a patch without a target, or a number of replicas, for each.
func (d *division) awaitedNames() map[string]bool {
	names := map[string]bool{}
	for folder, k := range d.reached {
		for _, r := range k.Replicas {
			names[r.Name] = true
		}
		for _, p := range d.patches[folder].all() {
			for _, document := range p.documents {
				if p.kind == nil && slices.Contains(specKinds, document.Kind) {
					names[document.Name] = true
				}
			}
		}
	}
	return names
}

// changesIdentity says whether a patch may change what tells an object from others,
// or whether it is there.
func (p patch) changesIdentity() bool {
	if p.Options != nil && (p.Options.AllowNameChange || p.Options.AllowKindChange) {
		return true
	}
	return slices.ContainsFunc(p.documents, func(d source.Document) bool {
		asks := false
		d.Values(func(value string) {
			asks = asks || mentionsKustomize(map[string]string{value: ""})
		})
		if d.Node.Kind == yaml.SequenceNode {
			return asks || slices.ContainsFunc(d.Node.Content, operationChangesIdentity)
		}
		return asks || isDirective(d.Node) || isDirective(source.Field(d.Node, "metadata"))
	})
}

// operationChangesIdentity says the same of an operation of a JSON 6902 patch.
func operationChangesIdentity(operation *yaml.Node) bool {
	for _, field := range []string{"path", "from"} {
		node := source.Field(operation, field)
		if node == nil {
			continue
		}
		keys := source.JSONPointer(node.Value)
		switch {
		case slices.Contains([]string{"", "apiVersion", "kind"}, keys[0]),
			keys[0] == "metadata" && (len(keys) == 1 || strings.HasPrefix(keys[1], "name")):
			return true
		}
	}
	return false
}

// isDirective says whether a mapping of a strategic merge patch removes or replaces
// what it is merged with.
func isDirective(mapping *yaml.Node) bool { return source.Field(mapping, "$patch") != nil }
