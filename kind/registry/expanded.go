package registry

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/gatehouse/kind"
)

// forbiddenMetadata are the fields of metadata that Expand must not set. With generateName, each apply
// would create another object.
var forbiddenMetadata = slices.Sorted(slices.Values(append([]string{"finalizers", "generateName", "ownerReferences"},
	serverMetadata...)))

// serverMetadata are the fields of metadata that only the API server sets.
var serverMetadata = []string{"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation",
	"managedFields", "resourceVersion", "selfLink", "uid"}

// DropServerFields removes the status and the metadata that only the API server sets.
func DropServerFields(o *unstructured.Unstructured) {
	delete(o.Object, "status")
	for _, field := range serverMetadata {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
}

// checkOwner checks the name of a source object, which becomes the label of its rendered objects, and
// its digest.
func (e *entry) checkOwner(owner kind.Object, digest string) {
	e.addIf(len(owner.GetName()) > validation.LabelValueMaxLength,
		"metadata.name has %d characters, and as the label %s of rendered objects it may have %d: shorten it",
		len(owner.GetName()), e.Label(), validation.LabelValueMaxLength)
	e.addIf(e.Digest != nil && !IsDigest(digest),
		"Digest returns %q, not sha256: and 64 hexadecimal digits: have it return the result of kind.DigestOf", digest)
}

func (e *entry) checkChild(u *unstructured.Unstructured, owner kind.Object) {
	gk := u.GroupVersionKind().GroupKind()
	name := kindAndName(u)
	switch child := e.Child(gk); {
	case e.isSource(gk):
		e.add("%s: %s is a source kind, and nothing expands it here: have Expand return its children", name, gk.Kind)
	case child == nil:
		e.add("%s: Children has no %s: add it there", name, title(u.GroupVersionKind()))
	case refusesChanges(gk) && !child.Immutable:
		e.add("%s: the API server refuses changes of it: set Immutable of %s in Children", name, gk.Kind)
	}
	e.addIf(u.GetNamespace() != owner.GetNamespace(),
		"%s: its namespace is %q, not the namespace of its source object: have Expand leave it empty", name,
		u.GetNamespace())
	metadata, _ := u.Object["metadata"].(map[string]any)
	for _, field := range forbiddenMetadata {
		e.addIf(metadata[field] != nil,
			"%s: Expand sets metadata.%s, which does not belong in a manifest: have it leave that empty", name, field)
	}
	gates, _, _ := unstructured.NestedSlice(u.Object, "spec", "schedulingGates")
	for other := range e.kinds.defined() {
		if other.Label() == e.Label() {
			continue
		}
		const leaveOut = "%s: its %s %s belongs to another kind, %s: leave it out"
		e.addIf(u.GetLabels()[other.Label()] != "", leaveOut, name, "label", other.Label(), other.GVK().Kind)
		for _, item := range gates {
			gate, _ := item.(map[string]any)
			e.addIf(other.Gate() != "" && gate["name"] == other.Gate(), leaveOut, name, "scheduling gate", other.Gate(),
				other.GVK().Kind)
		}
	}
}

func kindAndName(u *unstructured.Unstructured) string { return u.GetKind() + " " + u.GetName() }

// checkDistinct checks that no two objects have the same kind and name.
func (e *entry) checkDistinct(objects []*unstructured.Unstructured) {
	count := map[Child]int{}
	for _, u := range objects {
		id := Child{GroupKind: u.GroupVersionKind().GroupKind(), Name: u.GetName()}
		count[id]++
		e.addIf(count[id] == 2, "%s: Expand returns two objects of this kind and name: give each a name of its own",
			kindAndName(u))
	}
}

// deployTools are the domains of tools that apply, order, hook, replace or prune objects, or record
// an apply. Their labels and annotations are for one object and would be wrong on another: a hook or
// force of an At would run its Pod again. Flux and others read labels in the same way as annotations.
var deployTools = []string{
	"argoproj.io",
	"carvel.dev",
	"cli-utils.sigs.k8s.io",
	"config.k8s.io",
	"config.kubernetes.io",
	"configmanagement.gke.io",
	"configsync.gke.io",
	"fleet.cattle.io",
	"fluxcd.io",
	"helm.sh", // Argo CD obeys its hooks
	"k14s.io",
	"kpt.dev",
	"kubectl.kubernetes.io",
	"objectset.rio.cattle.io",
	"pulumi.com",
	"skaffold.dev",
	"spinnaker.io",
	"werf.io",
}

// isForDeployTool reports whether the key of a label or annotation has the domain of a deploy tool, or
// a subdomain.
func isForDeployTool(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return slices.ContainsFunc(deployTools, func(tool string) bool {
		return domain == tool || strings.HasSuffix(domain, "."+tool)
	})
}

// copyShared copies the labels or annotations of an owner to a rendered object, except deploy tools'.
func copyShared(to, owner map[string]string) {
	for key, value := range owner {
		if !isForDeployTool(key) {
			to[key] = value
		}
	}
}
