package advice

import (
	"slices"
	"strings"

	"example.com/gatehouse/render/object"
)

// missingNamespaces warns of namespaces that the environment does not bring, where it
// brings others: most are misspelled. Each is there once, at the first object in it.
func missingNamespaces(e Environment) (warnings []object.Problem) {
	brought := broughtNamespaces(e)
	var missing []object.Object
	inNeed := map[string]int{}
	for _, o := range e.Objects {
		name := o.GetNamespace()
		if !isMissing(name, brought) || o.IsRendered() {
			continue
		}
		if namespaced, known := e.IsNamespaced(o.GroupVersionKind()); known && !namespaced {
			continue
		}
		if inNeed[name]++; inNeed[name] == 1 {
			missing = append(missing, o)
		}
	}
	makers := newMakers(e, len(missing))
	for _, o := range missing {
		id := object.ID{Kind: "Namespace", Name: o.GetNamespace()}
		if e.isElsewhere(id) || makers.everywhere[id.Name] {
			continue
		}
		warnings = append(warnings, warning(o, "metadata.namespace", id.Name,
			"no %s in the environment, which brings others%s", id, whatToDo(id, brought, inNeed[id.Name])))
	}
	return warnings
}

// broughtNamespaces are the names of those that the environment brings.
func broughtNamespaces(e Environment) (names []string) {
	for _, o := range e.Objects {
		if o.GroupVersionKind().Group == "" && o.GetKind() == "Namespace" {
			names = append(names, o.GetName())
		}
	}
	slices.Sort(names)
	return names
}

// isMissing says whether a namespace is none of those that are brought, in order, if any
// are.
func isMissing(namespace string, brought []string) bool {
	if namespace == "" || len(brought) == 0 || isOfEveryCluster(namespace) {
		return false
	}
	_, found := slices.BinarySearch(brought, namespace)
	return !found
}

// isOfEveryCluster says whether a namespace is default, or one of Kubernetes itself, for
// which the prefix kube- is reserved, or of OpenShift.
func isOfEveryCluster(namespace string) bool {
	return namespace == "default" || strings.HasPrefix(namespace, "kube-") || strings.HasPrefix(namespace, "openshift-")
}
