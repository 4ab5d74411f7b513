package registry

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	switch {
	case gk == e.GVK().GroupKind():
		e.add("%s: Expand returns an object of the kind itself: have it return what that runs as", title)
	case e.isWritten(gk):
		e.add("%s: people write %s, and nothing expands it here: have Expand return what it is rendered to", title, gk.Kind)
	case e.Child(gk) == nil:
		e.add("%s: Children has no %s: add it there", title, written(u.GroupVersionKind()))
	case isUnchangeable(gk) && !e.Child(gk).Immutable:
		e.add("%s: nobody can change it in a cluster: set Immutable of %s in Children", title, gk.Kind)
	}
	if u.GetNamespace() != owner.GetNamespace() {
		e.add("%s: its namespace is %q, not that of what it is rendered from: have Expand leave it empty", title, u.GetNamespace())
	}
	metadata, _ := u.Object["metadata"].(map[string]any)
	for _, field := range ofServer {
		if metadata[field] != nil {
			e.add("%s: Expand sets metadata.%s, which is not for a manifest: have it leave that empty", title, field)
		}
	}
	e.checkOthers(u)
}

// titleOf returns what errors call an object.
func titleOf(u *unstructured.Unstructured) string { return u.GetKind() + " " + u.GetName() }

// checkOthers finds a label by which an object would be taken for another kind's, and a scheduling
// gate that nobody opens, as it is another kind's.
func (e *entry) checkOthers(u *unstructured.Unstructured) {
	labels := u.GetLabels()
	gates, _, _ := unstructured.NestedSlice(u.Object, "spec", "schedulingGates")
	for i := range e.all {
		other := &e.all[i]
		if other.Label() == e.Label() {
			continue
		}
		if labels[other.Label()] != "" {
			e.add("%s: its label %s is for what is rendered from another kind, %s: leave it out", titleOf(u), other.Label(), other.GVK().Kind)
		}
		for _, item := range gates {
			if gate, _ := item.(map[string]any); other.Gate() != "" && gate["name"] == other.Gate() {
				e.add("%s: its scheduling gate %s is for what is rendered from another kind, %s: leave it out", titleOf(u), other.Gate(), other.GVK().Kind)
			}
		}
	}
}

// checkDistinct finds objects that are of one kind and name.
func (e *entry) checkDistinct(objects []*unstructured.Unstructured) {
	type key struct {
		kind            schema.GroupKind
		namespace, name string
	}
	count := map[key]int{}
	for _, u := range objects {
		at := key{u.GroupVersionKind().GroupKind(), u.GetNamespace(), u.GetName()}
		if count[at]++; count[at] == 2 {
			e.add("%s: Expand returns two objects of this kind and name: give each a name of its own", titleOf(u))
		}
	}
}
