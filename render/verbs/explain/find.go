package explain

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render/manifest"
)

// shortNames maps the short names of built-in kinds to the kinds.
var shortNames = map[string]string{
	"cm": "ConfigMap", "cj": "CronJob", "crd": "CustomResourceDefinition", "crds": "CustomResourceDefinition",
	"csr":    "CertificateSigningRequest",
	"deploy": "Deployment", "ds": "DaemonSet", "ep": "Endpoints", "ev": "Event", "hpa": "HorizontalPodAutoscaler",
	"ing":    "Ingress",
	"limits": "LimitRange", "netpol": "NetworkPolicy", "no": "Node", "ns": "Namespace", "pc": "PriorityClass",
	"pdb": "PodDisruptionBudget",
	"po":  "Pod", "pv": "PersistentVolume", "pvc": "PersistentVolumeClaim", "quota": "ResourceQuota",
	"rc": "ReplicationController",
	"rs": "ReplicaSet", "sa": "ServiceAccount", "sc": "StorageClass", "sts": "StatefulSet", "svc": "Service",
}

// kindQuery is a kind as kubectl accepts it: with its group, or version and group, after a dot.
type kindQuery struct {
	name, qualifier string
	// custom has the kinds whose CustomResourceDefinitions list the name.
	custom []schema.GroupKind
}

// kindQueryOf returns the query of a text, with the names in the definitions among objects.
func kindQueryOf(text string, objects []manifest.Object) kindQuery {
	name, qualifier, _ := strings.Cut(strings.ToLower(text), ".")
	q := kindQuery{name: name, qualifier: qualifier}
	for _, p := range objects {
		if p.GetKind() != "CustomResourceDefinition" {
			continue
		}
		crd := manifest.As[apiextensionsv1.CustomResourceDefinition](p.Unstructured).Spec
		if slices.Contains(append(crd.Names.ShortNames, crd.Names.Plural, crd.Names.Singular), name) {
			q.custom = append(q.custom, schema.GroupKind{Group: crd.Group, Kind: crd.Names.Kind})
		}
	}
	return q
}

func (q kindQuery) matches(gvk schema.GroupVersionKind) bool {
	if version := strings.TrimSuffix(gvk.Version+"."+gvk.Group, "."); q.qualifier != "" && q.qualifier != gvk.Group &&
		q.qualifier != version {
		return false
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return q.name == strings.ToLower(gvk.Kind) || q.name == plural.Resource || shortNames[q.name] == gvk.Kind ||
		slices.Contains(q.custom, gvk.GroupKind())
}

// find returns the only object that matches a question, the first of those with its ID. The error lists similar
// objects.
func (q kindQuery) find(asked Question, objects []manifest.Object) (found manifest.Object, err error) {
	var similar, named, matches []manifest.Object
	known := []string{}
	isFound := map[manifest.ID]bool{}
	for _, p := range objects {
		if !q.matches(p.GroupVersionKind()) || isFound[p.ID()] {
			continue
		}
		isFound[p.ID()] = true
		known = append(known, p.GetName())
		if strings.Contains(p.GetName(), asked.Name) {
			similar = append(similar, p)
		}
		if p.GetName() != asked.Name {
			continue
		}
		named = append(named, p)
		if asked.matchesNamespace(p.GetNamespace()) {
			matches = append(matches, p)
		}
	}
	switch {
	case len(matches) == 1:
		return matches[0], nil
	case len(matches) > 1:
		return found, fmt.Errorf("%s/%s matches several objects of %s: %s; add -n NAMESPACE, or write KIND.GROUP",
			asked.Kind, asked.Name, asked.Environment, list(matches))
	case len(named) > 0:
		return found, fmt.Errorf("%s/%s is not in namespace %s of %s: there is %s", asked.Kind, asked.Name,
			asked.Namespace, asked.Environment, list(named))
	case len(similar) > 0:
		return found, fmt.Errorf("no %s %s in %s: did you mean %s?", asked.Kind, asked.Name, asked.Environment,
			list(similar))
	}
	return found, fmt.Errorf("no %s %s in %s%s", asked.Kind, asked.Name, asked.Environment,
		manifest.DidYouMean(asked.Name, known))
}

// list lists the first objects as arguments of the command.
func list(objects []manifest.Object) string {
	const most = 10
	arguments := make([]string, len(objects))
	for i, p := range objects {
		arguments[i] = strings.ToLower(p.GroupVersionKind().GroupKind().String()) + "/" + p.GetName()
		if p.GetNamespace() != "" {
			arguments[i] += " -n " + p.GetNamespace()
		}
	}
	return manifest.FirstOf(most, arguments)
}
