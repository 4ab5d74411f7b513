package cluster

import (
	"context"
	"fmt"
	"path"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

// Read returns the objects in rendered/ENVIRONMENT, which has to be up to date. Problems that
// are errors, or an error, say why there are none. Warnings are of objects that are left out.
func Read(ctx context.Context, repository *render.Repository, environment string, progress func(step string)) ([]manifest.Object, []manifest.Problem, error) {
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
	objects, problems := tree.Objects(environment, e.Plan.Files())
	if len(problems) > 0 {
		return nil, problems, nil
	}
	objects, warnings := withoutEncrypted(objects, "render apply has no keys: it is left out; decrypt it and apply it with kubectl")
	return objects, warnings, nil
}

// withoutEncrypted returns objects without those that SOPS encrypted, with a warning of each.
func withoutEncrypted(objects []manifest.Object, consequence string) (readable []manifest.Object, warnings []manifest.Problem) {
	for _, o := range objects {
		if !manifest.IsEncrypted(o.Unstructured) {
			readable = append(readable, o)
			continue
		}
		warnings = append(warnings, warning(o, "SOPS encrypted it, and "+consequence))
	}
	return readable, warnings
}
