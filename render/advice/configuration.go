package advice

import (
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/object"
)

// missingConfiguration warns of ConfigMaps and Secrets that Pods need and the environment
// does not bring, where it brings others of the kind in that namespace, or one of that
// name in another. Each is there once, at the first object that names it. Those in a
// namespace that is missing itself are left out.
func missingConfiguration(e Environment) (warnings []object.Problem) {
	type need struct {
		object.Object
		reference
		count int
	}
	brought, namespaces := newBrought(e), broughtNamespaces(e)
	var missing []object.ID
	needs := map[object.ID]*need{}
	written := map[*unstructured.Unstructured][]reference{}
	for _, o := range e.Objects {
		if isMissing(o.GetNamespace(), namespaces) {
			continue
		}
		found := references(o)
		written[o.Unstructured] = found
		counted := map[object.ID]bool{}
		for _, r := range found {
			id := object.ID{Kind: r.kind, Namespace: o.NamespaceOrDefault(), Name: r.name}
			if counted[id] || brought.has(id, o) || !brought.hasOthers(id) || o.IsRendered() && isReferred(written[o.Written], r) {
				continue
			}
			counted[id] = true
			if needs[id] == nil {
				needs[id] = &need{Object: o, reference: r}
				missing = append(missing, id)
			}
			needs[id].count++
		}
	}
	makers := newMakers(e, len(missing))
	for _, id := range missing {
		if e.isElsewhere(id) || makers.mayMake(id) {
			continue
		}
		n := needs[id]
		where := ", which brings others"
		if other := brought.elsewhere(id); other != "" {
			where = ", which brings it to namespace " + other
		}
		warnings = append(warnings, warning(n.Object, n.field, n.name,
			"no %s in the environment%s%s", id, where, whatToDo(id, brought.known[kindIn{id.Kind, id.Namespace}], n.count)))
	}
	return warnings
}

// isReferred says whether one of references is of the same as another.
func isReferred(references []reference, other reference) bool {
	return slices.ContainsFunc(references, func(r reference) bool { return r.kind == other.kind && r.name == other.name })
}

// kindIn is a kind in a namespace.
type kindIn struct{ kind, namespace string }

// brought are the ConfigMaps and Secrets that an environment brings.
type brought struct {
	known map[kindIn][]string    // their names, as people know them
	in    map[object.ID][]string // the namespaces of each name, as they are written
}

// hashSuffix is what kustomize adds to the names of what it generates.
var hashSuffix = regexp.MustCompile(`-[bcdfghkmt2456789]{10}$`)

func newBrought(e Environment) brought {
	b := brought{known: map[kindIn][]string{}, in: map[object.ID][]string{}}
	for _, o := range e.Objects {
		kind, name := brings(o)
		if kind == "" {
			continue
		}
		everywhere := object.ID{Kind: kind, Name: name}
		b.in[everywhere] = append(b.in[everywhere], o.GetNamespace())
		if secretType, _, _ := unstructured.NestedString(o.Object, "type"); secretType != string(corev1.SecretTypeServiceAccountToken) {
			in := kindIn{kind, o.NamespaceOrDefault()}
			b.known[in] = append(b.known[in], hashSuffix.ReplaceAllString(name, ""))
		}
	}
	return b
}

// brings is the kind and name of the ConfigMap or Secret that an object is, or that a
// controller is to make of it.
func brings(o object.Object) (kind, name string) {
	switch gvk := o.GroupVersionKind(); gvk.Group + "/" + gvk.Kind {
	case "/ConfigMap", "/Secret":
		return gvk.Kind, o.GetName()
	case "bitnami.com/SealedSecret":
		return "Secret", textAt(o, "spec", "template", "metadata", "name")
	case "external-secrets.io/ExternalSecret":
		return "Secret", textAt(o, "spec", "target", "name")
	}
	return "", ""
}

// textAt is the text at a field of an object, or else its name.
func textAt(o object.Object, field ...string) string {
	if text, _, _ := unstructured.NestedString(o.Object, field...); text != "" {
		return text
	}
	return o.GetName()
}

// has says whether there is what an object names. One that names no namespace may be put
// into any, as Flux does.
func (b brought) has(id object.ID, by object.Object) bool {
	namespaces := b.in[object.ID{Kind: id.Kind, Name: id.Name}]
	return slices.Contains(namespaces, id.Namespace) || slices.Contains(namespaces, "") ||
		len(namespaces) > 0 && by.GetNamespace() == ""
}

// hasOthers says whether there are others of the kind of an object in its namespace, or
// any of its name in another namespace.
func (b brought) hasOthers(id object.ID) bool {
	return len(b.known[kindIn{id.Kind, id.Namespace}]) > 0 || b.elsewhere(id) != ""
}

// elsewhere is the first namespace that has an object of a kind and name.
func (b brought) elsewhere(id object.ID) string {
	if namespaces := b.in[object.ID{Kind: id.Kind, Name: id.Name}]; len(namespaces) > 0 {
		return slices.Min(namespaces)
	}
	return ""
}
