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
)

// parseKustomization parses the content of a kustomization into k. It reports all that is
// wrong with its fields, and returns no node if kustomize could not read it.
func (s *Sources) parseKustomization(k *Kustomization, content []byte) *yaml.Node {
	before := len(s.Problems)
	documents := s.readYAML(k.File, splitDocuments(content), loads{is: loadYAML})
	switch {
	case len(s.Problems) > before, !s.isOnlyKustomization(k):
		return nil
	case len(documents) == 0:
		s.report(k.File, 0, "is empty: list resources")
		return nil
	}
	root := documents[0].Node
	if root.Kind != yaml.MappingNode {
		s.report(k.File, root.Line, "a kustomization is a mapping: write resources: and below it the list of files")
		return nil
	}
	s.checkFields(k.File, root, content, reflect.TypeFor[types.Kustomization]())
	s.checkItems(k.File, root, "")
	s.refuseHelm(k.File, root)
	err := k.Unmarshal(content)
	switch {
	case len(s.Problems) > before:
		return root // to report what is wrong with its entries, too
	case err != nil:
		s.report(k.File, 0, "%v", err)
		return nil
	case k.IsEmpty():
		s.report(k.File, root.Line, "is empty: list resources")
		return nil
	}
	s.checkType(k, root)
	return root
}

// isOnlyKustomization reports whether a folder has no other kustomization than k.
func (s *Sources) isOnlyKustomization(k *Kustomization) bool {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if file := path.Join(k.Folder, name); file != k.File && s.FS.Exists(file) {
			s.report(file, 0, "a second kustomization in its folder, beside %s: remove one", path.Base(k.File))
			return false
		}
	}
	return true
}

// checkType reports a kind and apiVersion that are not those of a kustomization.
func (s *Sources) checkType(k *Kustomization, root *yaml.Node) {
	fixed := k.Kustomization
	fixed.FixKustomization()
	for _, wrong := range fixed.EnforceFields() {
		field, _, _ := strings.Cut(wrong, " ")
		s.report(k.File, lineAt(root, []string{field}), "%s, or left out", wrong)
	}
}

// checkFields reports fields that the type of a file does not have, and values of a wrong type.
func (s *Sources) checkFields(file string, root *yaml.Node, content []byte, t reflect.Type) {
	j, err := sigsyaml.YAMLToJSON(content)
	var fields map[string]any
	if err != nil || json.Unmarshal(j, &fields) != nil {
		return // Unmarshal says why
	}
	for _, wrong := range decoding.Find(fields, t, decoding.Options{FoldCase: true}) {
		keys := manifest.SplitField(manifest.JoinField(wrong.Path))
		_, value := walkKeys(root, keys, nil)
		s.report(file, lineAt(root, keys), "%s", wrongField(wrong, value))
	}
}

// wrongField returns what is wrong with a field that kustomize does not know or cannot read. Its
// node is nil where it is merged.
func wrongField(wrong decoding.Misfit, node *yaml.Node) string {
	if wrong.Unknown {
		name := wrong.Path[len(wrong.Path)-1]
		return fmt.Sprintf("unknown field %q%s", name, manifest.DidYouMean(name, wrong.Siblings))
	}
	message := fmt.Sprintf("%s: has to be of type %s", manifest.JoinField(wrong.Path), strings.Join(wrong.Wants, " or "))
	if node != nil && node.Kind == yaml.ScalarNode && slices.Equal(wrong.Wants, []string{"string"}) {
		message += fmt.Sprintf(": write it in quotes, %q", node.Value)
	}
	return message
}

// checkItems reports empty items of lists, at which kustomize would stop without a word of
// where they are.
func (s *Sources) checkItems(file string, node *yaml.Node, field string) {
	node = dereferenced(node)
	for i, child := range node.Content {
		switch {
		case node.Kind == yaml.MappingNode && i%2 == 1:
			s.checkItems(file, child, strings.TrimPrefix(field+"."+node.Content[i-1].Value, "."))
		case node.Kind == yaml.SequenceNode:
			item := fmt.Sprintf("%s[%d]", field, i)
			if dereferenced(child).ShortTag() == "!!null" {
				s.report(file, child.Line, "%s: is empty: remove it, or write what it is to be", item)
			}
			s.checkItems(file, child, item)
		}
	}
}

// checkPatches reports targets in patchesJson6902 without a name, which kustomize takes only under
// patches, and patches that are nowhere, or in two places.
func (s *Sources) checkPatches(k *Kustomization) {
	for i, p := range k.PatchesJson6902 {
		if p.Target != nil && p.Target.Name == "" {
			s.report(k.File, lineAt(k.root, []string{"patchesJson6902", strconv.Itoa(i), "target"}), "a target in patchesJson6902 needs a name: write one, or list the patch under patches, where a target may select by less, or everything")
		}
	}
	for field, patches := range map[string][]types.Patch{"patches": k.Patches, "patchesJson6902": k.PatchesJson6902} {
		for i, p := range patches {
			keys := []string{field, strconv.Itoa(i)}
			node := nodeAt(k.root, keys, nil)
			isEmpty := node == nil || node.ShortTag() == "!!null" // which checkItems reports
			if !isEmpty && (p.Path == "") == (p.Patch == "") {
				s.report(k.File, lineAt(k.root, keys), "%s[%d]: has to have either path, of a file with the patch, or patch, the patch itself", field, i)
			}
		}
	}
}

const noHelm = "rendering runs no Helm: write what `helm template` prints into a file, and list that under resources"

// refuseHelm reports fields that ask for Helm.
func (s *Sources) refuseHelm(file string, root *yaml.Node) {
	for key := range entries(root) {
		if strings.HasPrefix(strings.ToLower(key.Value), "helm") {
			s.report(file, key.Line, "%s: %s", key.Value, noHelm)
		}
	}
}
