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
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/warn"
)

// requirements are the properties of a rendered environment that affect its sync.
type requirements struct {
	// DependsOn are the environments that define missing kinds or the controller.
	DependsOn []string
	// Elsewhere describes missing parts that no single environment has.
	Elsewhere []string
	// KeepsOpen reports whether a policy lets a tool apply started Pods again.
	KeepsOpen bool
	// HasSOPS reports whether SOPS encrypted an object.
	HasSOPS bool
	// Substitution describes the variables that Flux substitutes, if any.
	Substitution *flux.PostBuild
	// TargetNamespace is the namespace for all objects, if no object names its own.
	TargetNamespace string

	// WithoutNamespace are the namespaced objects without a namespace.
	WithoutNamespace []string
}

func readRequirements(repository *render.Repository, name string) (*requirements, error) {
	if err := repository.CheckEnvironment(name); err != nil {
		return nil, err
	}
	objects, err := readRendered(repository, name)
	entry := repository.Entry(name)
	switch {
	case entry != "":
		return nil, fmt.Errorf("%s is a cluster that is synced already: change the path of the object that syncs %s "+
			"to %s", name, entry, path.Join(tree.Folder, name))
	case err != nil:
		return nil, err
	case len(objects) == 0:
		return nil, fmt.Errorf("%s has no objects to sync: run render --env %s, and commit the files",
			path.Join(tree.Folder, name), name)
	}
	e := &requirements{}
	isMixed := false
	for _, o := range objects {
		e.HasSOPS = e.HasSOPS || manifest.IsEncrypted(o.Unstructured)
		switch {
		case o.GetNamespace() != "":
			isMixed = true
		case path.Base(path.Dir(o.File)) == o.NamespaceOrDefault():
			// rendered to the folder of kubectl's default namespace
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

func readRendered(repository *render.Repository, name string) ([]manifest.Object, error) {
	files, err := repository.Rendered(name)
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(file tree.File) bool { return tree.IsDelivered(file.Path) })
	objects, problems := tree.Objects(name, files)
	if len(problems) > 0 {
		return nil, fmt.Errorf("%s is not a valid object: run render --env %s", problems[0].File, name)
	}
	return objects, nil
}

// checkForFlux returns an error if Flux cannot sync the environment. An environment flux-system would
// replace the objects of flux bootstrap. Flux cannot sync objects without a namespace beside others: it needs
// a targetNamespace for the first, which would move the others.
func (e *requirements) checkForFlux(name string) error {
	const most = 5
	if name == "flux-system" {
		return fmt.Errorf("environments/%s: would replace Flux's own Kustomization and GitRepository of this name: "+
			"rename the environment", name)
	}
	if len(e.WithoutNamespace) == 0 || e.TargetNamespace != "" {
		return nil
	}
	return fmt.Errorf("objects without a namespace, which Flux requires: %s: set metadata.namespace, or namespace: "+
		"in a kustomization, and render", manifest.FirstOf(most, e.WithoutNamespace))
}

// Parts of Gatehouse that an environment may need beside CustomResourceDefinitions.
const (
	controller = "the controller"
	// openGates is the policy that lets a tool apply started Pods again.
	openGates = "MutatingAdmissionPolicy gatehouse-open-gates"
)

// neededParts returns the parts of Gatehouse that objects need: the CustomResourceDefinitions of their
// kinds, and the controller.
func neededParts(kinds *registry.Kinds, objects []manifest.Object) (parts []string) {
	for _, o := range objects {
		if k := kinds.Find(o.GroupVersionKind()); k != nil {
			parts = append(parts, definitionOf(k.GVK().GroupKind()), controller)
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

// includedParts returns the parts of Gatehouse among objects.
func includedParts(objects []manifest.Object) (parts []string) {
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

// findElsewhere finds the missing parts of Gatehouse in other environments.
func (e *requirements) findElsewhere(repository *render.Repository, name string, objects []manifest.Object) error {
	has := includedParts(objects)
	e.KeepsOpen = slices.Contains(has, openGates)
	missing := slices.DeleteFunc(neededParts(repository.Kinds(), objects), func(part string) bool {
		return slices.Contains(has, part)
	})
	if len(missing) == 0 {
		return nil
	}
	providers, err := findProviders(repository, name)
	if err != nil {
		return err
	}
	for _, part := range missing {
		switch names := providers[part]; {
		case len(names) == 1 && !slices.Contains(e.DependsOn, names[0]):
			e.DependsOn = append(e.DependsOn, names[0])
		case len(names) == 0:
			e.Elsewhere = append(e.Elsewhere, part+", which is in no environment of the repository")
		case len(names) > 1:
			e.Elsewhere = append(e.Elsewhere, part+", which is in several environments: "+strings.Join(names, ", "))
		}
	}
	for _, name := range e.DependsOn {
		e.KeepsOpen = e.KeepsOpen || slices.Contains(providers[openGates], name)
	}
	return nil
}

// findProviders returns for each part of Gatehouse the environments that include it, except one.
func findProviders(repository *render.Repository, except string) (map[string][]string, error) {
	names, err := repository.Environments()
	if err != nil {
		return nil, err
	}
	providers := map[string][]string{}
	for _, name := range names {
		if name == except || !render.IsEnvironmentName(name) {
			continue
		}
		objects, err := readRendered(repository, name)
		if err != nil {
			return nil, err
		}
		for _, part := range includedParts(objects) {
			if !slices.Contains(providers[part], name) {
				providers[part] = append(providers[part], name)
			}
		}
	}
	return providers, nil
}
