package registry

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/gatehouse/kind"
)

var (
	podKind    = schema.GroupKind{Kind: "Pod"}
	secretKind = schema.GroupKind{Kind: "Secret"}
)

// checkChildren finds what is wrong with the Children and the Gate of a kind of a list.
func (k entry) checkChildren(all []kind.Kind, found *problems) {
	if len(k.Children) == 0 {
		found.add("Children is empty: list the kinds of the objects that Expand returns")
	}
	seen := map[schema.GroupKind]bool{}
	for i, child := range k.Children {
		gk := child.GVK.GroupKind()
		switch other := find(all, gk); {
		case child.GVK.Kind == "" || child.GVK.Version == "":
			found.add("Children[%d] has no kind or no version: set its GVK, like that of v1 Pod", i)
			continue
		case gk == k.GVK.GroupKind():
			found.add("Children[%d] is %s itself: a kind is rendered to other kinds", i, k.GVK.Kind)
		case other != nil:
			found.add("Children[%d] is %s, which people write: have Expand return what that is rendered to", i, written(child.GVK))
		case seen[gk]:
			found.add("Children has %s twice: leave one out", gk)
		case gk == secretKind && !child.Unobserved:
			found.add("Children[%d]: the controller is not to read Secrets: set Unobserved", i)
		}
		seen[gk] = true
		if child.Resource != "" && len(validation.IsDNS1035Label(child.Resource)) > 0 {
			found.add("Children[%d]: %q is not the plural of a kind, like networkpolicies: write what kubectl api-resources calls it", i, child.Resource)
		}
	}
	k.checkGate(found)
}

// checkGate finds what is wrong with a Gate.
func (k entry) checkGate(found *problems) {
	if k.Gate == "" {
		return
	}
	if len(validation.IsQualifiedName(k.Gate)) > 0 {
		found.add("Gate: %q is not the name of a scheduling gate, like example.com/schedule", k.Gate)
	}
	switch pod := k.Child(podKind); {
	case pod == nil:
		found.add("Gate is set, and Children has no Pod that waits behind it: add v1 Pod, or leave Gate out")
	case pod.Unobserved:
		found.add("Gate is set, and the controller has to read the Pods that wait behind it: leave out Unobserved of v1 Pod")
	}
}

// find returns the kind of a group and name in a list, whatever its version; nil where it
// is not there.
func find(all []kind.Kind, gk schema.GroupKind) *kind.Kind {
	for i := range all {
		if all[i].GVK.GroupKind() == gk {
			return &all[i]
		}
	}
	return nil
}
