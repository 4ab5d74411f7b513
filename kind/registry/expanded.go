package registry

import (
	"maps"
	"slices"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/gatehouse/kind"
)

// maxName is how long the name of an object may be.
const maxName = validation.DNS1123SubdomainMaxLength

// ofServer are the fields of metadata that Expand must not set: the API server sets them, or a
// client that deletes the object. A nameless object would be another one each time it is applied.
var ofServer = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generateName", "generation",
	"managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid",
}

// checkLabelValue finds whether the name of an object can be the value of a label, by which
// what is rendered from it is found.
func checkLabelValue(name, label string, found *problems) {
	if len(name) > validation.LabelValueMaxLength {
		found.add("metadata.name has %d characters, and what is rendered has it as its label %s, which takes %d: shorten it",
			len(name), label, validation.LabelValueMaxLength)
	}
}

// checkReturned finds what is wrong with an object as Expand returned it.
func (k entry) checkReturned(all []kind.Kind, u *unstructured.Unstructured, owner kind.Object, found *problems) {
	gk := u.GroupVersionKind().GroupKind()
	title := titleOf(u, owner)
	switch {
	case gk == k.GVK.GroupKind():
		found.add("%s: Expand returns an object of the kind itself: have it return what that runs as", title)
	case find(all, gk) != nil:
		found.add("%s: people write %s, and nothing expands it here: have Expand return what it is rendered to", title, gk.Kind)
	case k.Child(gk) == nil:
		found.add("%s: Children has no %s: add it there", title, written(u.GroupVersionKind()))
	}
	if namespace := u.GetNamespace(); namespace != "" && namespace != owner.GetNamespace() {
		found.add("%s: its namespace is %q, not that of what it is rendered from: have Expand leave it empty", title, namespace)
	}
	checkText(title, u.Object, found)
	metadata, _ := u.Object["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		if _, _, err := unstructured.NestedStringMap(metadata, field); err != nil {
			found.add("%s: its metadata.%s are not a mapping of texts: have Expand write them so", title, field)
		}
	}
	for _, field := range slices.Sorted(maps.Keys(metadata)) {
		if metadata[field] != nil && slices.Contains(ofServer, field) {
			found.add("%s: Expand sets metadata.%s, which is not for a manifest: have it leave that empty", title, field)
		}
	}
}

// checkText finds text that is not UTF-8, which JSON cannot have, and a cluster would get
// otherwise than it was reviewed.
func checkText(title string, value any, found *problems) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			checkText(title, key, found)
			checkText(title, value[key], found)
		}
	case []any:
		for _, item := range value {
			checkText(title, item, found)
		}
	case string:
		if !utf8.ValidString(value) {
			found.add("%s: it has text that is not UTF-8, %q: cut texts between characters", title, value)
		}
	}
}

// titleOf returns what errors call an object that is rendered from owner.
func titleOf(u *unstructured.Unstructured, owner kind.Object) string {
	name := u.GetName()
	if name == "" {
		name = owner.GetName()
	}
	return u.GetKind() + " " + name
}

// checkExpanded finds what is wrong with all that an object is rendered to.
func (k entry) checkExpanded(all []kind.Kind, objects []*unstructured.Unstructured, found *problems) {
	type key struct {
		kind            schema.GroupKind
		namespace, name string
	}
	count := map[key]int{}
	for _, u := range objects {
		title := u.GetKind() + " " + u.GetName()
		gk := u.GroupVersionKind().GroupKind()
		at := key{gk, u.GetNamespace(), u.GetName()}
		if count[at]++; count[at] == 2 {
			found.add("%s: Expand returns two objects of this kind and name: give each a name of its own", title)
		}
		k.checkName(u, found)
		k.checkLabels(all, u, found)
		k.checkGates(all, u, found)
		k.checkDigest(u, found)
	}
}

// checkLabels finds a label by which an object would be taken for another kind's.
func (k entry) checkLabels(all []kind.Kind, u *unstructured.Unstructured, found *problems) {
	for i := range all {
		other := &all[i]
		if value, _, _ := unstructured.NestedString(u.Object, "metadata", "labels", other.Label); value != "" && other.Label != k.Label {
			found.add("%s %s: its label %s is for what is rendered from another kind, %s: leave it out", u.GetKind(), u.GetName(), other.Label, other.GVK.Kind)
		}
	}
}

// checkGates finds a scheduling gate that nobody opens, as it is another kind's.
func (k entry) checkGates(all []kind.Kind, u *unstructured.Unstructured, found *problems) {
	gates, _, _ := unstructured.NestedSlice(u.Object, "spec", "schedulingGates")
	for _, item := range gates {
		gate, _ := item.(map[string]any)
		for i := range all {
			if other := &all[i]; other.Gate != "" && other.Gate != k.Gate && gate["name"] == other.Gate {
				found.add("%s %s: its scheduling gate %s is for what is rendered from another kind, %s: leave it out", u.GetKind(), u.GetName(), other.Gate, other.GVK.Kind)
			}
		}
	}
}

// checkDigest finds what is wrong with what Digest returned.
func (k entry) checkDigest(u *unstructured.Unstructured, found *problems) {
	if k.Digest == nil || k.Observes(u.GroupVersionKind().GroupKind()) == nil {
		return
	}
	digest, _, _ := unstructured.NestedString(u.Object, "metadata", "annotations", kind.DigestAnnotation)
	if !IsDigest(digest) {
		found.add("%s %s: Digest returns %q, which is not sha256: and 64 hexadecimal digits: have it return a kind.DigestOf", u.GetKind(), u.GetName(), digest)
	}
}

// checkName finds whether there is room for the name of an object, and for its hash.
func (k entry) checkName(u *unstructured.Unstructured, found *problems) {
	most, why := maxName, ""
	if child := k.Child(u.GroupVersionKind().GroupKind()); child != nil && child.Immutable {
		most, why = maxName-hashLength-len("-"), ", which leave room for the hash"
	}
	if name := u.GetName(); len(name) > most {
		found.add("%s %s...: its name has %d characters, of at most %d%s: shorten it", u.GetKind(), name[:20], len(name), most, why)
	}
}
