package sync

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/advice"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/tree"
)

// environment is what an environment was rendered to, as far as whoever syncs it has to know.
type environment struct {
	// DependsOn are the environments that bring what this one needs and leaves out.
	DependsOn []string
	// Elsewhere says what else of that has to be in the cluster, and who brings it.
	Elsewhere []string
	// KeepsOpen says whether the cluster leaves open what is open: a Pod that has started may be
	// applied again.
	KeepsOpen bool
	// HasSOPS says whether something is encrypted by SOPS.
	HasSOPS bool
	// TargetNamespace is the namespace for all objects where none says its own, else empty.
	TargetNamespace string

	// WithoutNamespace are the objects that are in a namespace and do not say which.
	WithoutNamespace []object.Object

	isMixed bool // whether others do
}

// read reads what an environment was rendered to.
func read(repository *render.Repository, name string) (*environment, error) {
	if err := repository.CheckEnvironment(name); err != nil {
		return nil, err
	}
	files, objects, err := rendered(repository, name)
	switch {
	case err != nil:
		return nil, err
	case len(objects) == 0:
		return nil, fmt.Errorf("%s has nothing to sync: run render --env %s, and commit it", path.Join(tree.Folder, name), name)
	}
	e := &environment{HasSOPS: slices.ContainsFunc(objects, func(o object.Object) bool { return object.IsEncrypted(o.Unstructured) })}
	e.findWithoutNamespace(files, objects)
	return e, e.findElsewhere(repository, name, objects)
}

// rendered are the files that an environment was rendered to, and the object in each.
func rendered(repository *render.Repository, name string) ([]tree.File, []object.Object, error) {
	files, err := repository.Rendered(name)
	if err != nil {
		return nil, nil, err
	}
	objects, errs := make([]object.Object, len(files)), []error(nil)
	for i, file := range files {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(file.Content, &u.Object); err != nil || u.GetKind() == "" {
			errs = append(errs, fmt.Errorf("%s is no object: run render --env %s", path.Join(tree.Folder, name, file.Path), name))
		}
		objects[i].Unstructured = u
	}
	return files, objects, errors.Join(errs...)
}

// findWithoutNamespace finds the objects that do not say their namespace. Render has them in
// a folder by the name of the one that kubectl would put them in.
func (e *environment) findWithoutNamespace(files []tree.File, objects []object.Object) {
	for i, o := range objects {
		switch {
		case o.GetNamespace() != "":
			e.isMixed = true
		case path.Dir(files[i].Path) == o.NamespaceOrDefault():
			e.WithoutNamespace = append(e.WithoutNamespace, o)
		}
	}
	if len(e.WithoutNamespace) > 0 && !e.isMixed {
		e.TargetNamespace = e.WithoutNamespace[0].NamespaceOrDefault()
	}
}

// checkNamespaces is the error of objects without a namespace beside others that have one:
// Flux creates none of the former, and would move the latter to its targetNamespace.
func (e *environment) checkNamespaces() error {
	if len(e.WithoutNamespace) == 0 || !e.isMixed {
		return nil
	}
	const most = 5
	names := make([]string, 0, most+1)
	for i, o := range e.WithoutNamespace {
		if i == most {
			names = append(names, fmt.Sprintf("%d more", len(e.WithoutNamespace)-most))
			break
		}
		names = append(names, object.EscapeControls(o.String()))
	}
	return fmt.Errorf("without a namespace, which Flux needs: %s: write metadata.namespace, or namespace: in a kustomization, and render", strings.Join(names, ", "))
}

// The parts of Gatehouse beside CustomResourceDefinitions.
const (
	controller = "the controller"
	// openGates is the policy by which a Pod that has started may be applied again.
	openGates = "MutatingAdmissionPolicy gatehouse-open-gates"
)

// needed are the parts of Gatehouse that objects need: the CustomResourceDefinitions of their
// kinds and, for those, the controller.
func needed(kinds *registry.Kinds, objects []object.Object) (parts []string) {
	for _, kind := range kinds.All {
		part := definitionOf(kind.GVK.Kind, kind.GVK.Group) // of all versions
		isThere := func(o object.Object) bool { return o.GroupVersionKind() == kind.GVK }
		if !slices.Contains(parts, part) && slices.ContainsFunc(objects, isThere) {
			parts = append(parts, part)
		}
	}
	if len(parts) > 0 {
		parts = append(parts, controller)
	}
	return parts
}

// brought are the parts of Gatehouse among objects.
func brought(objects []object.Object) (parts []string) {
	for _, o := range objects {
		switch {
		case o.GetKind() == "CustomResourceDefinition":
			kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
			group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
			parts = append(parts, definitionOf(kind, group))
		case advice.IsController(o):
			parts = append(parts, controller)
		case o.String() == openGates:
			parts = append(parts, openGates)
		}
	}
	return parts
}

func definitionOf(kind, group string) string {
	return "the CustomResourceDefinition of " + kind + "." + group
}

// findElsewhere finds the environments that bring what the objects of one need and it leaves
// out.
func (e *environment) findElsewhere(repository *render.Repository, name string, objects []object.Object) error {
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
			e.Elsewhere = append(e.Elsewhere, part+", which no environment of the repository brings")
		case len(names) > 1:
			e.Elsewhere = append(e.Elsewhere, part+", which several bring: "+strings.Join(names, ", "))
		}
	}
	for _, name := range e.DependsOn {
		e.KeepsOpen = e.KeepsOpen || slices.Contains(bringers[openGates], name)
	}
	return nil
}

// findBringers returns the environments but one that bring each part of Gatehouse.
func findBringers(repository *render.Repository, but string) (map[string][]string, error) {
	names, err := repository.Environments()
	if err != nil {
		return nil, err
	}
	bringers := map[string][]string{}
	for _, name := range names {
		if name == but || !render.IsEnvironmentName(name) {
			continue
		}
		_, objects, err := rendered(repository, name)
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
