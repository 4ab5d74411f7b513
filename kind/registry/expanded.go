package registry

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/gatehouse/kind"
)

// ofServer are the fields of metadata that Expand must not set: the API server sets them, or a
// client that deletes the object. A nameless object would be another one each time it is applied.
var ofServer = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generateName", "generation",
	"managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid",
}

// checkOwner finds what is wrong with the name of an object, which is the value of the label by
// which all that is rendered from it is found, and with its digest.
func (e *entry) checkOwner(owner kind.Object, digest string) {
	e.addIf(len(owner.GetName()) > validation.LabelValueMaxLength, "metadata.name has %d characters, and what is rendered has it as its label %s, which takes %d: shorten it",
		len(owner.GetName()), e.Label(), validation.LabelValueMaxLength)
	e.addIf(e.HasDigest() && !IsDigest(digest), "Digest returns %q, which is not sha256: and 64 hexadecimal digits: have it return a kind.DigestOf", digest)
}

// checkExpanded finds what is wrong with an object that is rendered from owner.
func (e *entry) checkExpanded(u *unstructured.Unstructured, owner kind.Object) {
	gk, title := u.GroupVersionKind().GroupKind(), titleOf(u)
	switch child := e.Child(gk); {
	case e.isWritten(gk):
		e.add("%s: people write %s, and nothing expands it here: have Expand return what it is rendered to", title, gk.Kind)
	case child == nil:
		e.add("%s: Children has no %s: add it there", title, written(u.GroupVersionKind()))
	case isUnchangeable(gk) && !child.Immutable:
		e.add("%s: nobody can change it in a cluster: set Immutable of %s in Children", title, gk.Kind)
	}
	e.addIf(u.GetNamespace() != owner.GetNamespace(), "%s: its namespace is %q, not that of what it is rendered from: have Expand leave it empty", title, u.GetNamespace())
	metadata, _ := u.Object["metadata"].(map[string]any)
	for _, field := range ofServer {
		e.addIf(metadata[field] != nil, "%s: Expand sets metadata.%s, which is not for a manifest: have it leave that empty", title, field)
	}
	gates, _, _ := unstructured.NestedSlice(u.Object, "spec", "schedulingGates")
	for i := range e.all {
		other := &e.all[i]
		if other.Label() == e.Label() {
			continue
		}
		const leaveOut = "%s: its %s %s is for what is rendered from another kind, %s: leave it out"
		e.addIf(u.GetLabels()[other.Label()] != "", leaveOut, title, "label", other.Label(), other.GVK().Kind)
		for _, item := range gates {
			gate, _ := item.(map[string]any)
			e.addIf(other.Gate() != "" && gate["name"] == other.Gate(), leaveOut, title, "scheduling gate", other.Gate(), other.GVK().Kind)
		}
	}
}

// titleOf returns what errors call an object.
func titleOf(u *unstructured.Unstructured) string { return u.GetKind() + " " + u.GetName() }

// checkDistinct finds objects that are of one kind and name.
func (e *entry) checkDistinct(objects []*unstructured.Unstructured) {
	count := map[Child]int{}
	for _, u := range objects {
		id := Child{GroupKind: u.GroupVersionKind().GroupKind(), Name: u.GetName()}
		count[id]++
		e.addIf(count[id] == 2, "%s: Expand returns two objects of this kind and name: give each a name of its own", titleOf(u))
	}
}
