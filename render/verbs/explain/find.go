package explain

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

// shortNames are those that Kubernetes has for its kinds.
var shortNames = map[string]string{
	"cm": "ConfigMap", "cj": "CronJob", "crd": "CustomResourceDefinition", "crds": "CustomResourceDefinition", "csr": "CertificateSigningRequest",
	"deploy": "Deployment", "ds": "DaemonSet", "ep": "Endpoints", "ev": "Event", "hpa": "HorizontalPodAutoscaler", "ing": "Ingress",
	"limits": "LimitRange", "netpol": "NetworkPolicy", "no": "Node", "ns": "Namespace", "pc": "PriorityClass", "pdb": "PodDisruptionBudget",
	"po": "Pod", "pv": "PersistentVolume", "pvc": "PersistentVolumeClaim", "quota": "ResourceQuota", "rc": "ReplicationController",
	"rs": "ReplicaSet", "sa": "ServiceAccount", "sc": "StorageClass", "sts": "StatefulSet", "svc": "Service",
}

// kindQuestion is a kind as people write it for kubectl: with its group, or version and
// group, after a dot.
type kindQuestion struct {
	kind, qualifier string
	// called has the kinds whose CustomResourceDefinitions list the name, with their groups.
	called []schema.GroupKind
}

// kindOf reads a kind as kubectl does.
func (e explainer) kindOf(text string) kindQuestion {
	name, qualifier, _ := strings.Cut(strings.ToLower(text), ".")
	q := kindQuestion{kind: name, qualifier: qualifier}
	for _, p := range e.Objects {
		if p.GetKind() != "CustomResourceDefinition" {
			continue
		}
		crd := manifest.As[apiextensionsv1.CustomResourceDefinition](p.Unstructured).Spec
		if slices.Contains(append(crd.Names.ShortNames, crd.Names.Plural, crd.Names.Singular), name) {
			q.called = append(q.called, schema.GroupKind{Group: crd.Group, Kind: crd.Names.Kind})
		}
	}
	return q
}

// matches reports whether an object is of the kind.
func (q kindQuestion) matches(gvk schema.GroupVersionKind) bool {
	if version := strings.TrimSuffix(gvk.Version+"."+gvk.Group, "."); q.qualifier != "" && q.qualifier != gvk.Group && q.qualifier != version {
		return false
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return q.kind == strings.ToLower(gvk.Kind) || q.kind == plural.Resource || shortNames[q.kind] == gvk.Kind || slices.Contains(q.called, gvk.GroupKind())
}

// find finds the only object that is asked for. The error says what to ask for.
func (e explainer) find(q Question) (found tree.Placed, err error) {
	kind := e.kindOf(q.Kind)
	var ofKind, named, matches []tree.Placed
	for _, p := range e.Objects {
		if !kind.matches(p.GroupVersionKind()) {
			continue
		}
		ofKind = append(ofKind, p)
		if p.GetName() != q.Name {
			continue
		}
		named = append(named, p)
		if q.isIn(p.GetNamespace()) {
			matches = append(matches, p)
		}
	}
	switch {
	case len(matches) == 1:
		return matches[0], nil
	case len(matches) > 1:
		return found, fmt.Errorf("%s/%s is several objects of %s: %s; say which with -n NAMESPACE, or KIND.GROUP", q.Kind, q.Name, e.Environment, names(matches))
	case len(named) > 0:
		return found, fmt.Errorf("%s/%s is not in namespace %s of %s: there is %s", q.Kind, q.Name, q.Namespace, e.Environment, names(named))
	}
	return found, e.notFound(q, ofKind)
}

// notFound returns the error of an object that an environment does not have, with similar names
// of the kind.
func (e explainer) notFound(q Question, ofKind []tree.Placed) error {
	var near []tree.Placed
	known := make([]string, 0, len(ofKind))
	for _, p := range ofKind {
		known = append(known, p.GetName())
		if strings.Contains(p.GetName(), q.Name) {
			near = append(near, p)
		}
	}
	hint := manifest.DidYouMean(q.Name, known)
	if len(near) > 0 {
		hint = ": did you mean " + names(near) + "?"
	}
	return fmt.Errorf("no %s %s in %s%s", q.Kind, q.Name, e.Environment, hint)
}

// names lists the names of the first objects, as people can ask for them.
func names(objects []tree.Placed) string {
	const most = 10
	list := make([]string, len(objects))
	for i, p := range objects {
		list[i] = strings.ToLower(p.GroupVersionKind().GroupKind().String()) + "/" + p.GetName()
		if p.GetNamespace() != "" {
			list[i] += " -n " + p.GetNamespace()
		}
	}
	return manifest.FirstOf(most, list)
}
