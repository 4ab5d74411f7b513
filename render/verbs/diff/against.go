package diff

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/tree"
)

// Against compares an environment with another one, as if the other one became it: Before is an object of
// the other environment. Names and namespaces that overlays give are no differences: each kustomization of
// the other environment is rendered with the namePrefix, nameSuffix and namespace of the kustomization at
// the same place below the environment's folder, and with its labels and annotations that name the environment.
func Against(repository *render.Repository, name, other string,
	progress func(environment, step string)) (*compare.Diff, error) {
	if _, err := repository.Select(render.Selection{Names: []string{name, other}}); err != nil {
		return nil, err
	}
	files, err := renamed(repository.Dir(), name, other)
	if err != nil {
		return nil, err
	}
	after := repository.Load(name, render.LoadOptions{Progress: func(step string) { progress(name, step) }})
	before := repository.With(files).Load(other,
		render.LoadOptions{Progress: func(step string) { progress(other, step) }})
	facts := compare.Facts{Name: name, Problems: slices.Concat(after.Problems, before.Problems)}
	var objects compare.Differences
	if after.Rendering != nil && before.Rendering != nil {
		was := inputOf(before, &facts.Problems)
		is := inputOf(after, &facts.Problems)
		was.Charts = nil
		is.Charts = nil
		objects = compare.Differ(repository.Kinds(), was, is)
		facts.Checker = after.Checker()
		facts.PostBuild = after.Rendering.PostBuild
	}
	return &compare.Diff{Against: other, Environments: []*compare.Comparison{objects.With(facts)}}, nil
}

// renamed returns the kustomizations of an environment, by path from the root, with the names that the
// kustomizations at the same place of another environment give.
func renamed(dir, from, environment string) (map[string][]byte, error) {
	ours, err := kustomizations(dir, from)
	if err != nil {
		return nil, err
	}
	theirs, err := kustomizations(dir, environment)
	if err != nil {
		return nil, err
	}
	namespaces := map[string]string{}
	for folder, k := range theirs {
		if ours[folder] != nil {
			namespaces[k.text("namespace")] = ours[folder].text("namespace")
		}
	}
	delete(namespaces, "")
	files := map[string][]byte{}
	for folder, k := range theirs {
		if our := ours[folder]; our != nil {
			for _, field := range []string{"namePrefix", "nameSuffix", "namespace"} {
				k.set(field, our.text(field))
			}
			k.setLabels(our, environment, from)
		} else if namespace := namespaces[k.text("namespace")]; namespace != "" {
			k.set("namespace", namespace)
		}
		if files[k.file], err = k.encode(); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// kustomization is a file and its YAML. A change keeps the lines of all fields, which problems name.
type kustomization struct {
	file  string
	lines []string
	root  *yaml.Node
}

func (k *kustomization) text(field string) string { return node.Text(k.root, field) }

// set sets a field to a text, or removes it if the text is empty.
func (k *kustomization) set(field, text string) {
	key, _ := node.Entry(k.root, field)
	switch {
	case k.text(field) == text:
	case key == nil:
		k.lines = append(k.lines, fmt.Sprintf("%s: %q", field, text), "")
		k.root.Content = append(k.root.Content, newText(field), newText(text))
	case text == "":
		k.lines[key.Line-1] = ""
		node.Remove(k.root, field)
	default:
		k.replace(k.root, slices.Index(k.root.Content, key)+1, text)
	}
}

// replace replaces a value of a mapping, which has an index in its content.
func (k *kustomization) replace(mapping *yaml.Node, index int, text string) {
	was := mapping.Content[index]
	line := &k.lines[was.Line-1]
	at := min(was.Column-1, len(*line))
	*line = (*line)[:at] + strings.Replace((*line)[at:], was.Value, text, 1)
	mapping.Content[index] = newText(text)
}

func newText(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
}

// setLabels gives labels and annotations the values of another kustomization that differ only in the name of the
// environment.
func (k *kustomization) setLabels(other *kustomization, environment, name string) {
	labels := map[string]string{}
	for _, pairs := range other.labels() {
		for key, value := range node.Entries(pairs) {
			labels[key.Value] = value.Value
		}
	}
	for _, pairs := range k.labels() {
		for i := 1; i < len(pairs.Content); i += 2 {
			was := pairs.Content[i].Value
			now := strings.ReplaceAll(was, environment, name)
			if now != was && now == labels[pairs.Content[i-1].Value] {
				k.replace(pairs, i, now)
			}
		}
	}
}

// labels returns the mappings of labels and annotations that the kustomization adds to objects.
func (k *kustomization) labels() (all []*yaml.Node) {
	for _, entry := range node.Items(node.Field(k.root, "labels")) {
		all = append(all, node.Field(entry, "pairs"))
	}
	all = append(all, node.Field(k.root, "commonLabels"), node.Field(k.root, "commonAnnotations"))
	return slices.DeleteFunc(all, func(pairs *yaml.Node) bool { return pairs == nil || pairs.Kind != yaml.MappingNode })
}

// encode returns the file, or its YAML in another layout if its lines are no longer that YAML.
func (k *kustomization) encode() ([]byte, error) {
	content := []byte(strings.Join(k.lines, "\n"))
	var edited, fields any
	if yaml.Unmarshal(content, &edited) == nil && k.root.Decode(&fields) == nil && reflect.DeepEqual(edited, fields) {
		return content, nil
	}
	return yaml.Marshal(k.root)
}

// kustomizations returns the kustomizations below the folder of an environment, by their folder there.
// Rendering reports a kustomization that is unreadable or malformed.
func kustomizations(dir, environment string) (map[string]*kustomization, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	folder := path.Join(tree.EnvironmentsFolder, environment)
	all := map[string]*kustomization{}
	err = fs.WalkDir(root.FS(), folder, func(file string, entry fs.DirEntry, walked error) error {
		isKustomization := walked == nil && entry.Type().IsRegular() &&
			slices.Contains(konfig.RecognizedKustomizationFileNames(), entry.Name())
		if !isKustomization {
			return nil
		}
		content, unreadable := fs.ReadFile(root.FS(), file)
		var document yaml.Node
		isMapping := unreadable == nil && yaml.Unmarshal(content, &document) == nil &&
			document.Kind == yaml.DocumentNode && document.Content[0].Kind == yaml.MappingNode
		if isMapping {
			within, _ := filepath.Rel(folder, path.Dir(file))
			all[within] = &kustomization{"/" + file, strings.Split(string(content), "\n"), document.Content[0]}
		}
		return nil
	})
	return all, err
}
