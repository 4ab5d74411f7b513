package cluster

import (
	"bytes"
	"context"
	"fmt"
	"path"

	ssautils "github.com/fluxcd/pkg/ssa/utils"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/diff"
)

// Manifest is an object as git has it, with its file.
type Manifest = diff.Manifest

// Read returns the objects in rendered/ENVIRONMENT, which has to be up to date. Problems that
// are errors, or an error, say why there are none. Warnings are of objects that are left out.
func Read(ctx context.Context, repository *render.Repository, environment string, progress func(step string)) ([]Manifest, []manifest.Problem, error) {
	if err := repository.CheckEnvironment(environment); err != nil {
		if render.IsEnvironmentName(environment) {
			err = fmt.Errorf("%w\nif it is gone from git, render delete --env %s deletes it from the cluster", err, environment)
		}
		return nil, nil, err
	}
	unlock, err := repository.RLock(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	update, err := render.NewUpdate(ctx, repository, render.Selection{Names: []string{environment}}, func(_, step string) { progress(step) })
	if err != nil {
		return nil, nil, err
	}
	defer update.Close()
	e := update.Environments[0]
	switch {
	case update.Failed():
		return nil, e.Problems, nil
	case update.Changes():
		return nil, nil, fmt.Errorf("%s is not what %s renders to: run render --env %s first", path.Join(tree.Folder, environment), path.Join(tree.EnvironmentsFolder, environment), environment)
	}
	manifests, err := decodeFiles(path.Join(tree.Folder, environment), e.Plan.Files())
	if err != nil {
		return nil, nil, err
	}
	manifests, warnings := withoutEncrypted(manifests, "render apply has no keys: it is left out; decrypt it and apply it with kubectl")
	return manifests, warnings, nil
}

// decodeFiles returns the objects of files.
func decodeFiles(folder string, files []tree.File) (manifests []Manifest, err error) {
	for _, file := range files {
		if file.Path == tree.IndexFile || path.Ext(file.Path) != ".yaml" { // the page about it
			continue
		}
		m := Manifest{File: path.Join(folder, file.Path)}
		if m.Unstructured, err = ssautils.ReadObject(bytes.NewReader(file.Content)); err != nil {
			return nil, fmt.Errorf("%s: %w", m.File, err)
		}
		manifests = append(manifests, m)
	}
	return manifests, nil
}

// withoutEncrypted returns manifests without those that SOPS encrypted, with a warning of each.
func withoutEncrypted(manifests []Manifest, consequence string) (readable []Manifest, warnings []manifest.Problem) {
	for _, m := range manifests {
		if !manifest.IsEncrypted(m.Unstructured) {
			readable = append(readable, m)
			continue
		}
		warnings = append(warnings, warning(m, "SOPS encrypted it, and "+consequence))
	}
	return readable, warnings
}
