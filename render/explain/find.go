package explain

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render/object"
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

// candidate is an object that may be asked for.
type candidate struct{ group, version, kind, namespace, name string }

// kindQuestion is a kind as people write it for kubectl: with its group, or version and
// group, after a dot.
type kindQuestion struct {
	kind, qualifier string
	// called are the kinds of CustomResourceDefinitions that are called so, with their groups.
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
		group, _, _ := unstructured.NestedString(p.Object.Object, "spec", "group")
		names, _, _ := unstructured.NestedMap(p.Object.Object, "spec", "names")
		kind, _ := names["kind"].(string)
		called, _, _ := unstructured.NestedStringSlice(names, "shortNames")
		for _, key := range []string{"plural", "singular"} {
			other, _ := names[key].(string)
			called = append(called, other)
		}
		if slices.Contains(called, name) {
			q.called = append(q.called, schema.GroupKind{Group: group, Kind: kind})
		}
	}
	return q
}

// has says whether an object is of the kind.
func (q kindQuestion) has(c candidate) bool {
	if q.qualifier != "" && q.qualifier != c.group && q.qualifier != c.version+"."+c.group && q.qualifier != strings.Trim(c.version+"."+c.group, ".") {
		return false
	}
	return q.isNameOf(c.group, c.kind)
}

func (q kindQuestion) isNameOf(group, kind string) bool {
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
	return q.kind == strings.ToLower(kind) || q.kind == plural.Resource || shortNames[q.kind] == kind ||
		slices.Contains(q.called, schema.GroupKind{Group: group, Kind: kind})
}

func candidateOf(p tree.Placed) candidate {
	gvk := p.GroupVersionKind()
	return candidate{gvk.Group, gvk.Version, gvk.Kind, p.GetNamespace(), p.GetName()}
}

// find finds the only object that is asked for. The error says what to ask for.
func (e explainer) find(q Question) (found tree.Placed, err error) {
	kind := e.kindOf(q.Kind)
	var ofKind, named, matches []tree.Placed
	for _, p := range e.Objects {
		if !kind.has(candidateOf(p)) {
			continue
		}
		ofKind = append(ofKind, p)
		if p.GetName() != q.Name {
			continue
		}
		named = append(named, p)
		if q.Namespace == "" || q.Namespace == p.NamespaceOrDefault() || e.isInCluster(p) {
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
	case len(ofKind) > 0:
		return found, e.noSuchName(q, ofKind)
	}
	return found, e.noSuchKind(q)
}

func (e explainer) isInCluster(p tree.Placed) bool {
	return p.GetNamespace() == "" && strings.HasPrefix(p.Path, tree.ClusterFolder+"/")
}

// noSuchName is the error of a name that no object of a kind has.
func (e explainer) noSuchName(q Question, ofKind []tree.Placed) error {
	var near, other []tree.Placed
	known := make([]string, len(ofKind))
	for i, p := range ofKind {
		known[i] = p.GetName()
		if strings.Contains(p.GetName(), q.Name) {
			near = append(near, p)
		}
	}
	for _, p := range e.Objects {
		if p.GetName() == q.Name {
			other = append(other, p)
		}
	}
	hint := object.DidYouMean(q.Name, known)
	switch {
	case len(near) > 0:
		hint = ": did you mean " + names(near) + "?"
	case hint != "":
	case len(other) > 0:
		hint = ": of that name there is " + names(other)
	default:
		hint = ": there is " + names(ofKind)
	}
	return fmt.Errorf("no %s %s in %s%s", ofKind[0].GetKind(), q.Name, e.Environment, hint)
}

// noSuchKind is the error of a kind that no object has.
func (e explainer) noSuchKind(q Question) error {
	var kinds []string
	var named []tree.Placed
	for _, p := range e.Objects {
		kinds = append(kinds, strings.ToLower(p.GetKind()))
		if p.GetName() == q.Name {
			named = append(named, p)
		}
	}
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	short, _, _ := strings.Cut(strings.ToLower(q.Kind), ".")
	hint := object.DidYouMean(short, kinds)
	switch {
	case hint != "":
	case len(named) > 0:
		hint = ": of that name there is " + names(named)
	default:
		hint = ": it has " + strings.Join(kinds, ", ")
	}
	return fmt.Errorf("%s has no object of kind %s%s", e.Environment, q.Kind, hint)
}

// names are the names of a few objects, as they can be asked for.
func names(objects []tree.Placed) string {
	const most = 10
	var list []string
	for _, p := range objects[:min(most, len(objects))] {
		kind := strings.ToLower(p.GetKind())
		if slices.ContainsFunc(objects, func(other tree.Placed) bool {
			return other.GetKind() == p.GetKind() && other.GroupVersionKind().Group != p.GroupVersionKind().Group
		}) {
			kind = strings.TrimSuffix(kind+"."+p.GroupVersionKind().Group, ".")
		}
		name := kind + "/" + p.GetName()
		if p.GetNamespace() != "" {
			name += " -n " + p.GetNamespace()
		}
		list = append(list, name)
	}
	if more := len(objects) - most; more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}
