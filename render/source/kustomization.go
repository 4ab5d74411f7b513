package source

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	sigsyaml "sigs.k8s.io/yaml"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/source/text"
)

// parseKustomization parses a kustomization and checks its fields. It returns no node if kustomize
// cannot read it.
func (r folderReader) parseKustomization(content []byte) *yaml.Node {
	documents := r.readYAML(r.File, text.Split(content), loadField{is: loadYAML})
	switch {
	case manifest.HasErrors(r.problems), !r.isOnlyKustomization():
		return nil
	case len(documents) == 0:
		r.problems.add(r.File, 0, "is empty: list resources")
		return nil
	}
	root := documents[0].Node()
	if root.Kind != yaml.MappingNode {
		r.problems.add(r.File, root.Line,
			"a kustomization is a mapping: write resources: and below it the list of files")
		return nil
	}
	r.checkFields(r.File, root, content, reflect.TypeFor[types.Kustomization]())
	r.checkItems(root, "")
	err := r.Unmarshal(content)
	switch {
	case manifest.HasErrors(r.problems):
		return root // its entries may have problems, too
	case err != nil:
		r.problems.add(r.File, 0, "%v", err)
		return nil
	case r.IsEmpty():
		r.problems.add(r.File, root.Line, "is empty: list resources")
		return nil
	}
	r.checkType(root)
	return root
}

func (r folderReader) isOnlyKustomization() bool {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if file := path.Join(r.Folder, name); file != r.File && r.fs.Exists(file) {
			r.problems.add(file, 0, "a second kustomization in its folder, beside %s: remove one", path.Base(r.File))
			return false
		}
	}
	return true
}

// checkType reports a wrong kind or apiVersion of a kustomization.
func (r folderReader) checkType(root *yaml.Node) {
	fixed := r.Kustomization.Kustomization
	fixed.FixKustomization()
	for _, wrong := range fixed.EnforceFields() {
		field, _, _ := strings.Cut(wrong, " ")
		r.problems.add(r.File, node.Line(root, field), "%s, or left out", wrong)
	}
}

// checkFields reports unknown fields of a file, and values of the wrong type.
func (r folderReader) checkFields(file string, root *yaml.Node, content []byte, t reflect.Type) {
	j, err := sigsyaml.YAMLToJSON(content)
	var fields map[string]any
	if err != nil || json.Unmarshal(j, &fields) != nil {
		return // Unmarshal reports it
	}
	for _, wrong := range decoding.Find(fields, t, decoding.Options{FoldCase: true}) {
		keys := manifest.SplitField(manifest.JoinField(wrong.Path))
		_, value := node.Walk(root, keys, nil)
		r.problems.add(file, node.Line(root, keys...), "%s", fieldProblem(wrong, value))
	}
}

// fieldProblem returns the message for a field that kustomize does not know or cannot read. Its value
// is nil if it comes from a merge key.
func fieldProblem(wrong decoding.Misfit, value *yaml.Node) string {
	if wrong.Unknown {
		name := wrong.Path[len(wrong.Path)-1]
		return fmt.Sprintf("unknown field %q%s", name, manifest.DidYouMean(name, wrong.Siblings))
	}
	message := fmt.Sprintf("%s: has to be of type %s", manifest.JoinField(wrong.Path),
		strings.Join(wrong.Wants, " or "))
	if value != nil && value.Kind == yaml.ScalarNode && slices.Equal(wrong.Wants, []string{"string"}) {
		message += fmt.Sprintf(": write it in quotes, %q", value.Value)
	}
	return message
}

// checkItems reports empty items of lists. kustomize would stop at them without their position.
func (r folderReader) checkItems(parent *yaml.Node, field string) {
	parent = node.Deref(parent)
	for i, child := range parent.Content {
		switch {
		case parent.Kind == yaml.MappingNode && i%2 == 1:
			r.checkItems(child, strings.TrimPrefix(field+"."+parent.Content[i-1].Value, "."))
		case parent.Kind == yaml.SequenceNode:
			item := fmt.Sprintf("%s[%d]", field, i)
			if node.IsNull(node.Deref(child)) {
				r.problems.add(r.File, child.Line, "%s: is empty: remove it, or give it a value", item)
			}
			r.checkItems(child, item)
		}
	}
}

// checkGenerators reports generators without a name: an error of kustomize does not say which one.
func checkGenerators(k *Kustomization) (found problems) {
	for _, d := range generators(k.File, k.root) {
		if d.Name == "" && !node.IsNull(d.Node()) {
			found.add(k.File, d.Line(), "a generator of a %s has no name: write name, as in name: settings", d.Kind)
		}
	}
	return found
}

// checkPatches reports targets without a name in patchesJson6902, which kustomize takes only under
// patches, and patches with neither a path nor a text, or with both.
func checkPatches(k *Kustomization) (found problems) {
	for i, p := range k.PatchesJson6902 {
		if p.Target != nil && p.Target.Name == "" {
			found.add(k.File, node.Line(k.root, "patchesJson6902", strconv.Itoa(i), "target"),
				"a target in patchesJson6902 needs a name: write one, or list the patch under patches, where a "+
					"target may select by less, or everything")
		}
	}
	for field, patches := range map[string][]types.Patch{"patches": k.Patches, "patchesJson6902": k.PatchesJson6902} {
		for i, p := range patches {
			keys := []string{field, strconv.Itoa(i)}
			entry := node.At(k.root, keys, nil)
			isEmpty := entry == nil || node.IsNull(entry) // checkItems reports it
			if !isEmpty && (p.Path == "") == (p.Patch == "") {
				found.add(k.File, node.Line(k.root, keys...),
					"%s[%d]: has to have either path, of a file with the patch, or patch, the patch itself", field, i)
			}
		}
	}
	return found
}
