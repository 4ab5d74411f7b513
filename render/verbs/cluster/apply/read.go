package apply

import (
	"context"
	"fmt"
	"path"
	"slices"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/cluster/plan"
)

// Read returns the objects in rendered/ENVIRONMENT, if that is up to date, without those that deliveries bring. It
// drops encrypted objects with a warning.
func Read(ctx context.Context, repository *render.Repository, environment string,
	progress func(step string)) (objects []manifest.Object, problems []manifest.Problem, err error) {
	if err := repository.CheckEnvironment(environment); err != nil {
		if render.IsEnvironmentName(environment) {
			err = fmt.Errorf("%w\nif it is gone from git, render delete --env %s deletes it from the cluster", err,
				environment)
		}
		return nil, nil, err
	}
	problems, err = render.UpdateOne(ctx, repository, environment, progress,
		func(e render.TreeUpdate) (problems []manifest.Problem, err error) {
			if e.Plan.Changes() {
				return nil, fmt.Errorf("%s is not what %s renders to: run render --env %s first",
					path.Join(tree.Folder, environment), path.Join(tree.EnvironmentsFolder, environment), environment)
			}
			files := slices.DeleteFunc(e.Plan.Files(), func(file tree.File) bool { return tree.IsDelivered(file.Path) })
			if objects, problems = tree.Objects(environment, files); len(problems) > 0 {
				return problems, nil
			}
			objects, problems = plan.DropEncrypted(objects,
				"render apply has no keys: it is left out; decrypt it and apply it with kubectl")
			return problems, nil
		})
	return objects, problems, err
}
