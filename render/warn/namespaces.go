package warn

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes/scheme"

	"example.com/gatehouse/render/manifest"
)

// missingNamespaces warns of namespaces that the environment does not bring, where it brings
// others: most are misspelled. It warns once of each, at the first object in it.
func missingNamespaces(e Environment) (warnings []manifest.Problem) {
	var brought []string
	for _, o := range e.Objects {
		if o.GroupVersionKind().Group == "" && o.GetKind() == "Namespace" {
			brought = append(brought, o.GetName())
		}
	}
	if len(brought) == 0 {
		return nil
	}
	missing, objects := e.withoutNamespace(brought)
	for _, o := range missing {
		id := manifest.ID{Kind: "Namespace", Name: o.GetNamespace()}
		if e.isElsewhere(id) || e.mayMakeNamespace(id.Name) {
			continue
		}
		hint, how := manifest.DidYouMean(id.Name, brought), ""
		if hint == "" {
			hint = ":"
		}
		if n := objects[id.Name]; n > 1 {
			how = fmt.Sprintf(" (%d objects need it)", n)
		}
		warnings = append(warnings, warning(o, "metadata.namespace", id.Name,
			"no %s in the environment, which brings others%s add it or, where something else brings it, annotate the kustomization with %s: %[1]s%[4]s", id, hint, ElsewhereAnnotation, how))
	}
	return warnings
}

// withoutNamespace returns the first object in each namespace that is not among those brought, and
// how many objects each has.
func (e Environment) withoutNamespace(brought []string) (first []manifest.Object, objects map[string]int) {
	objects = map[string]int{}
	for _, o := range e.Objects {
		name := o.GetNamespace()
		if name == "" || o.IsRendered() || slices.Contains(brought, name) || isInEveryCluster(name) {
			continue
		}
		if namespaced, known := e.IsNamespaced(o.GroupVersionKind()); known && !namespaced {
			continue
		}
		if objects[name]++; objects[name] == 1 {
			first = append(first, o)
		}
	}
	return first, objects
}

// isInEveryCluster reports whether a namespace is default, or one of Kubernetes itself, for
// which the prefix kube- is reserved, or of OpenShift.
func isInEveryCluster(namespace string) bool {
	return namespace == "default" || strings.HasPrefix(namespace, "kube-") || strings.HasPrefix(namespace, "openshift-")
}

// mayMakeNamespace reports whether an object of a kind that is not Kubernetes' own has a name or
// mentions it, as an Application of Argo CD that creates its namespace does.
func (e Environment) mayMakeNamespace(name string) bool {
	return slices.ContainsFunc(e.Objects, func(o manifest.Object) bool {
		gvk := o.GroupVersionKind()
		return e.Kinds.Find(gvk) == nil && !scheme.Scheme.IsGroupRegistered(gvk.Group) && gvk.Group != "apiextensions.k8s.io" &&
			(o.GetName() == name || manifest.Contains(o.Object["spec"], func(_ string, value any) bool { return value == name }))
	})
}
