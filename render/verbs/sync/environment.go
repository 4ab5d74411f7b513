package sync

import (
	"fmt"
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/warn"
)

// environment has what a tool that syncs an environment has to know of it.
type environment struct {
	// DependsOn are the environments that have the kinds or the controller that this one needs and
	// leaves out.
	DependsOn []string
	// Elsewhere describes what else it needs in the cluster.
	Elsewhere []string
	// KeepsOpen reports whether a Pod that has started may be applied again, by a policy.
	KeepsOpen bool
	// HasSOPS reports whether an object is encrypted by SOPS.
	HasSOPS bool
	// Substitution is what Flux substitutes in it; nil where that is nothing.
	Substitution *render.PostBuild
	// TargetNamespace is the namespace for all objects, if none of them names its own.
	TargetNamespace string

	// WithoutNamespace are the namespaced objects that do not name their namespace.
	WithoutNamespace []string
}

// readEnvironment reads the rendered files of an environment.
func readEnvironment(repository *render.Repository, name string) (*environment, error) {
	if err := repository.CheckEnvironment(name); err != nil {
		return nil, err
	}
	objects, err := rendered(repository, name)
	switch {
	case err != nil:
		return nil, err
	case len(objects) == 0:
		return nil, fmt.Errorf("%s has nothing to sync: run render --env %s, and commit it", path.Join(tree.Folder, name), name)
	}
	e, isMixed := &environment{}, false
	for _, o := range objects {
		e.HasSOPS = e.HasSOPS || manifest.IsEncrypted(o.Unstructured)
		switch {
		case o.GetNamespace() != "":
			isMixed = true
		case path.Base(path.Dir(o.File)) == o.NamespaceOrDefault(): // the folder has the name of the namespace that kubectl would take
			e.WithoutNamespace = append(e.WithoutNamespace, kind.Visible(o.String()))
		}
	}
	if len(e.WithoutNamespace) > 0 && !isMixed {
		e.TargetNamespace = metav1.NamespaceDefault
	}
	if e.Substitution, err = repository.PostBuild(name); err != nil {
		return nil, err
	}
	return e, e.findElsewhere(repository, name, objects)
}

// rendered returns the objects that an environment was rendered to.
func rendered(repository *render.Repository, name string) ([]manifest.Object, error) {
	files, err := repository.Rendered(name)
	if err != nil {
		return nil, err
	}
	objects, problems := tree.Objects(name, files)
	if len(problems) > 0 {
		return nil, fmt.Errorf("%s is no object: run render --env %s", problems[0].File, name)
	}
	return objects, nil
}

// checkForFlux returns an error for what Flux cannot sync: an environment whose objects would replace
// those of flux bootstrap, and objects without a namespace beside others that have one. Flux does not
// create the former without a targetNamespace, and would move the latter to it.
func (e *environment) checkForFlux(name string) error {
	const most = 5
	if name == "flux-system" {
		return fmt.Errorf("environments/%s: Flux's own Kustomization and GitRepository have that name, and would be replaced: rename the environment", name)
	}
	if len(e.WithoutNamespace) == 0 || e.TargetNamespace != "" {
		return nil
	}
	return fmt.Errorf("without a namespace, which Flux needs: %s: write metadata.namespace, or namespace: in a kustomization, and render", manifest.FirstOf(most, e.WithoutNamespace))
}

// Parts of Gatehouse that an environment may need beside CustomResourceDefinitions.
const (
	controller = "the controller"
	// openGates is the policy that lets a Pod that has started be applied again.
	openGates = "MutatingAdmissionPolicy gatehouse-open-gates"
)

// needed returns the parts of Gatehouse that objects need: the CustomResourceDefinitions of their kinds
// and the controller.
func needed(kinds *registry.Kinds, objects []manifest.Object) (parts []string) {
	for _, o := range objects {
		if k := kinds.Find(o.GroupVersionKind()); k != nil {
			parts = append(parts, definitionOf(k.GVK().GroupKind()), controller)
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

// brought returns the parts of Gatehouse among objects.
func brought(objects []manifest.Object) (parts []string) {
	for _, o := range objects {
		switch {
		case crd.Is(o.Unstructured):
			parts = append(parts, definitionOf(crd.Kind(o.Unstructured)))
		case warn.IsController(o):
			parts = append(parts, controller)
		case o.String() == openGates:
			parts = append(parts, openGates)
		}
	}
	return parts
}

func definitionOf(gk schema.GroupKind) string {
	return "the CustomResourceDefinition of " + gk.Kind + "." + gk.Group
}

// findElsewhere finds the environments that have the parts of Gatehouse that one needs and leaves out.
func (e *environment) findElsewhere(repository *render.Repository, name string, objects []manifest.Object) error {
	has := brought(objects)
	e.KeepsOpen = slices.Contains(has, openGates)
	missing := slices.DeleteFunc(needed(repository.Kinds(), objects), func(part string) bool { return slices.Contains(has, part) })
	if len(missing) == 0 {
		return nil
	}
	bringers, err := findBringers(repository, name)
	if err != nil {
		return err
	}
	for _, part := range missing {
		switch names := bringers[part]; {
		case len(names) == 1 && !slices.Contains(e.DependsOn, names[0]):
			e.DependsOn = append(e.DependsOn, names[0])
		case len(names) == 0:
			e.Elsewhere = append(e.Elsewhere, part+", which no environment of the repository has")
		case len(names) > 1:
			e.Elsewhere = append(e.Elsewhere, part+", which several environments have: "+strings.Join(names, ", "))
		}
	}
	for _, name := range e.DependsOn {
		e.KeepsOpen = e.KeepsOpen || slices.Contains(bringers[openGates], name)
	}
	return nil
}

// findBringers returns the environments, but for one, that have each part of Gatehouse.
func findBringers(repository *render.Repository, except string) (map[string][]string, error) {
	names, err := repository.Environments()
	if err != nil {
		return nil, err
	}
	bringers := map[string][]string{}
	for _, name := range names {
		if name == except || !render.IsEnvironmentName(name) {
			continue
		}
		objects, err := rendered(repository, name)
		if err != nil {
			return nil, err
		}
		for _, part := range brought(objects) {
			if !slices.Contains(bringers[part], name) {
				bringers[part] = append(bringers[part], name)
			}
		}
	}
	return bringers, nil
}
