package spec

import (
	"fmt"
	"slices"
	"strings"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/object"
)

// controllerNamespace is the namespace of the controller, as it comes.
const controllerNamespace = "gatehouse-system"

// namespace is the namespace that the object will be in: the one that was asked for, or that
// the kustomization gives to all objects, or the only one that the environment brings for
// anything but the controller, or else default, as for kubectl.
func (s Spec) namespace(e environment, rendering *render.Rendering, problems []object.Problem) (string, error) {
	switch {
	case e.namespace != "" && s.Namespace != "" && s.Namespace != e.namespace:
		return "", fmt.Errorf("--namespace %s: %s gives all objects the namespace %s: leave the flag out", s.Namespace, e.file[1:], e.namespace)
	case e.namespace != "":
		return e.namespace, nil
	case s.Namespace != "":
		return s.Namespace, nil
	case rendering == nil:
		wrong, _ := object.SplitProblems(problems)
		return "", fmt.Errorf("which namespace? environments/%s does not render, and so it is not known which there are: write --namespace NAME, or mend that first: %s", s.Environment, wrong[0])
	}
	brought := namespacesOf(rendering)
	switch len(brought) {
	case 0:
		return "default", nil
	case 1:
		return brought[0], nil
	}
	return "", fmt.Errorf("which namespace? write --namespace NAME: the environment brings %s", strings.Join(brought, ", "))
}

// namespacesOf are the names of the namespaces that an environment brings, but for that of the
// controller.
func namespacesOf(rendering *render.Rendering) (names []string) {
	for _, o := range rendering.Objects {
		if o.GroupVersionKind().Group == "" && o.GetKind() == "Namespace" && o.GetName() != controllerNamespace {
			names = append(names, o.GetName())
		}
	}
	slices.Sort(names)
	return names
}
