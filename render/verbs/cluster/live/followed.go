package live

import (
	"fmt"
	"path"
	"slices"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/cluster/owner"
)

// ownObjects returns the objects of an environment without its followed folders, as they are applied.
func ownObjects(r *render.Rendering) []manifest.Object {
	if r.PostBuild == nil {
		return slices.Clone(r.Objects)
	}
	return r.PostBuild.Applied(r.Objects)
}

// foldersOf returns the followed folders of an environment.
func foldersOf(r *render.Rendering) []*render.Delivery {
	return slices.DeleteFunc(slices.Clone(r.Deliveries), func(d *render.Delivery) bool { return !d.IsFolder() })
}

// everyObject returns the objects of an environment and of its followed folders, as they are applied.
func everyObject(r *render.Rendering) []manifest.Object {
	all := ownObjects(r)
	for _, f := range foldersOf(r) {
		all = append(all, f.Applied()...)
	}
	return all
}

// applied returns the objects that can be compared: not those with variables of unknown values. It warns once of these,
// and once of the objects of charts and ApplicationSets, which controllers apply in their own way.
func applied(r *render.Rendering) (all []manifest.Object, warnings []manifest.Problem) {
	var unknown, others []string
	add := func(objects []manifest.Object, postBuild *flux.PostBuild) {
		for _, o := range objects {
			if postBuild != nil && postBuild.Values == nil && postBuild.Substitutes(o) {
				unknown = append(unknown, o.String())
			} else {
				all = append(all, o)
			}
		}
	}
	add(ownObjects(r), r.PostBuild)
	for _, f := range foldersOf(r) {
		add(f.Applied(), f.Variables())
	}
	for _, d := range r.Deliveries {
		if !d.IsFolder() && len(d.Applied()) > 0 {
			others = append(others, d.Of.String())
		}
	}
	warn := func(names []string, message string) {
		if len(names) > 0 {
			warnings = append(warnings, manifest.Problem{Code: manifest.ClusterDiffers,
				Warning: true, Message: fmt.Sprintf(message,
					manifest.FirstOf(3, names))})
		}
	}
	warn(unknown, "not compared, as only the cluster has the values of their variables: %s")
	warn(others, "their objects are not compared: %s")
	return all, warnings
}

// appliersOf returns the field managers of the objects that another tool than render apply applies.
func appliersOf(r *render.Rendering) map[manifest.ID]string {
	managers := map[manifest.ID]string{}
	if render.IsFolder(r.Environment) {
		for _, o := range ownObjects(r) {
			managers[o.IDInNamespace()] = owner.Flux
		}
	}
	for _, f := range foldersOf(r) {
		for _, o := range f.Applied() {
			manager := owner.Flux
			if !f.IsFlux {
				manager = owner.Argo
			}
			managers[o.IDInNamespace()] = manager
		}
	}
	return managers
}

// checkFolder returns an error unless all objects that a delivery syncs from a folder are of this environment.
func (c *comparison) checkFolder(delivery manifest.ID, folder string) error {
	if c.isFolder(folder) {
		return nil
	}
	for _, f := range c.followed {
		if f.InCluster.ID() != delivery || !slices.Contains(f.Folders(), path.Join("/", folder)) {
			continue
		}
		for _, o := range f.Applied() {
			if flux.HasVariables(o.GetNamespace() + o.GetName()) {
				return fmt.Errorf("brings %s, whose name only the cluster has", o)
			}
		}
		return nil
	}
	return fmt.Errorf("syncs %q, which is not %s alone", folder, c.folder())
}

// folder returns the folder that the environment is synced from.
func (c *comparison) folder() string {
	if render.IsFolder(c.environment) {
		return path.Clean(c.environment)
	}
	return path.Join(tree.Folder, c.environment)
}
