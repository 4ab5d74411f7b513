package compare

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/tree"
)

// Against compares an environment with another one, as if the other one became it: Before is an object of
// the other environment. Names and namespaces that overlays give are no differences: each kustomization of
// the other environment is rendered with the namePrefix, nameSuffix and namespace of the kustomization at
// the same place below the environment's folder, and with its labels and annotations that name the environment.
func Against(repository *render.Repository, name, other string,
	progress func(environment, step string)) (*Diff, error) {
	if _, err := repository.Select(render.Selection{Names: []string{name, other}}); err != nil {
		return nil, err
	}
	files, err := renamed(repository.Dir(), name, other)
	if err != nil {
		return nil, err
	}
	examined, after, problems := repository.ExamineOrGone(name, true, func(step string) { progress(name, step) })
	before, problemsOfOther := render.Render(repository.With(files), other, func(step string) { progress(other, step) })
	e := EnvironmentDiff{Name: name}
	warnings := slices.Concat(problems, problemsOfOther)
	if after != nil && before != nil {
		e = withInstalled(repository.Kinds(), name, applied(before.PostBuild, before.Objects, &warnings),
			applied(after.PostBuild, after.Objects, &warnings), before.Installed, after.Installed)
		e.Checker, e.PostBuild = examined.Checker(), after.PostBuild
		if before.Index.Kubernetes != after.Index.Kubernetes {
			e.Kubernetes = &KubernetesChange{before.Index.Kubernetes, after.Index.Kubernetes}
		}
	}
	e.Problems = warnings
	return &Diff{Against: other, Environments: []EnvironmentDiff{e}}, nil
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
	namespaces := map[string]any{}
	for folder, k := range theirs {
		if namespace, ok := k.fields["namespace"].(string); ok && ours[folder] != nil {
			namespaces[namespace] = ours[folder].fields["namespace"]
		}
	}
	files := map[string][]byte{}
	for folder, k := range theirs {
		if our := ours[folder]; our != nil {
			for _, field := range []string{"namePrefix", "nameSuffix", "namespace"} {
				k.set(field, our.fields[field])
			}
			k.setLabels(our, environment, from)
		} else if was, _ := k.fields["namespace"].(string); namespaces[was] != nil {
			k.set("namespace", namespaces[was])
		}
		if files[k.file], err = k.encode(); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// kustomization is a file with its fields. Changes of a field keep the lines of the others, which problems name.
type kustomization struct {
	file    string
	content []byte
	fields  map[string]any
}

// set sets a field, or removes it if the value is nil.
func (k *kustomization) set(field string, value any) {
	if reflect.DeepEqual(k.fields[field], value) {
		return
	}
	line := ""
	if delete(k.fields, field); value != nil {
		k.fields[field], line = value, fmt.Sprintf("%s: %q", field, value)
	}
	was := regexp.MustCompile("(?m)^" + field + ":.*$")
	if was.Match(k.content) {
		k.content = was.ReplaceAllLiteral(k.content, []byte(line))
	} else {
		k.content = fmt.Appendf(k.content, "\n%s\n", line)
	}
}

// setLabels gives labels and annotations the values of another kustomization that differ only in the name of the
// environment.
func (k *kustomization) setLabels(other *kustomization, environment, name string) {
	labels := map[string]any{}
	for _, pairs := range other.labels() {
		maps.Copy(labels, pairs)
	}
	for _, pairs := range k.labels() {
		for key, value := range pairs {
			was, _ := value.(string)
			if now := strings.ReplaceAll(was, environment, name); now != was && now == labels[key] {
				pairs[key] = now
				k.content = bytes.ReplaceAll(k.content, []byte(key+": "+was), []byte(key+": "+now))
			}
		}
	}
}

// labels returns the labels and annotations that the kustomization adds to objects.
func (k *kustomization) labels() (all []map[string]any) {
	list, _ := k.fields["labels"].([]any)
	for _, entry := range list {
		fields, _ := entry.(map[string]any)
		pairs, _ := fields["pairs"].(map[string]any)
		all = append(all, pairs)
	}
	for _, field := range []string{"commonLabels", "commonAnnotations"} {
		pairs, _ := k.fields[field].(map[string]any)
		all = append(all, pairs)
	}
	return all
}

// encode returns the file, or only its fields if it has a layout of its own.
func (k *kustomization) encode() ([]byte, error) {
	var fields map[string]any
	if yaml.Unmarshal(k.content, &fields) == nil && reflect.DeepEqual(fields, k.fields) {
		return k.content, nil
	}
	return yaml.Marshal(k.fields)
}

// kustomizations returns the kustomizations below the folder of an environment, by their folder there.
// Rendering reports a kustomization that is unreadable or malformed.
func kustomizations(dir, environment string) (map[string]*kustomization, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	folder, all := path.Join(tree.EnvironmentsFolder, environment), map[string]*kustomization{}
	err = fs.WalkDir(root.FS(), folder, func(file string, entry fs.DirEntry, walked error) error {
		isKustomization := walked == nil && entry.Type().IsRegular() &&
			slices.Contains(konfig.RecognizedKustomizationFileNames(), entry.Name())
		if !isKustomization {
			return nil
		}
		content, unreadable := fs.ReadFile(root.FS(), file)
		k := &kustomization{file: "/" + file, content: content}
		if unreadable == nil && yaml.Unmarshal(content, &k.fields) == nil && k.fields != nil {
			within, _ := filepath.Rel(folder, path.Dir(file))
			all[within] = k
		}
		return nil
	})
	return all, err
}
