package diff

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/tree"
)

// Against compares an environment with another one, as if the other one became it: Before is an object of
// the other environment. Names and namespaces that overlays give are no differences: each kustomization of
// the other environment is rendered with the namePrefix, nameSuffix and namespace of the kustomization at
// the same place below the environment's folder.
func Against(repository *render.Repository, name, other string, progress func(environment, step string)) (*Diff, error) {
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
		e = withInstalled(repository.Kinds(), name, applied(before.PostBuild, before.Objects, &warnings), applied(after.PostBuild, after.Objects, &warnings), before.Installed, after.Installed)
		e.Checker, e.PostBuild = examined.Checker(), after.PostBuild
		if before.Index.Kubernetes != after.Index.Kubernetes {
			e.Kubernetes = &KubernetesChange{before.Index.Kubernetes, after.Index.Kubernetes}
		}
	}
	e.Problems = warnings
	return &Diff{Against: other, Environments: []EnvironmentDiff{e}}, nil
}

// renamed returns the kustomizations of an environment, by path from the root, that get other names or
// namespaces from the kustomizations of another environment.
func renamed(dir, from, environment string) (map[string][]byte, error) {
	ours, err := kustomizations(dir, from)
	if err != nil {
		return nil, err
	}
	theirs, err := kustomizations(dir, environment)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for folder, k := range theirs {
		if ours[folder] == nil || !k.rename(ours[folder]) {
			continue
		}
		if files[k.file], err = yaml.Marshal(k.fields); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// kustomization is a file with its fields.
type kustomization struct {
	file   string
	fields map[string]any
}

// rename gives a kustomization the names and namespaces of another one. It reports whether they differ.
func (k *kustomization) rename(other *kustomization) (isChanged bool) {
	for _, field := range []string{"namePrefix", "nameSuffix", "namespace"} {
		if k.fields[field] == other.fields[field] {
			continue
		}
		if isChanged = true; other.fields[field] == nil {
			delete(k.fields, field)
		} else {
			k.fields[field] = other.fields[field]
		}
	}
	return isChanged
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
		isKustomization := walked == nil && entry.Type().IsRegular() && slices.Contains(konfig.RecognizedKustomizationFileNames(), entry.Name())
		if !isKustomization {
			return nil
		}
		k := &kustomization{file: "/" + file}
		content, unreadable := fs.ReadFile(root.FS(), file)
		if unreadable == nil && yaml.Unmarshal(content, &k.fields) == nil && k.fields != nil {
			within, _ := filepath.Rel(folder, path.Dir(file))
			all[within] = k
		}
		return nil
	})
	return all, err
}
