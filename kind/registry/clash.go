package registry

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"example.com/gatehouse/kind"
)

// clashes returns errors that name two kinds of a list of which there cannot be both. Crds are
// their CustomResourceDefinitions, nil where one is wrong by itself.
func clashes(all []kind.Kind, crds []*apiextensionsv1.CustomResourceDefinition) (errs []error) {
	for i := range all {
		for j := range i {
			if problem := clash(&all[j], &all[i], crds[j], crds[i]); problem != "" {
				errs = append(errs, fmt.Errorf("%s and %s: %s", entry{&all[j]}.fullName(j), entry{&all[i]}.fullName(i), problem))
			}
		}
	}
	return errs
}

// fullName returns the kind at an index of a list, with its group and version.
func (k entry) fullName(index int) string {
	if k.GVK.Kind == "" {
		return k.title(index)
	}
	return written(k.GVK)
}

// clash says why there cannot be two kinds, nothing where there can.
func clash(a, b *kind.Kind, aCRD, bCRD *apiextensionsv1.CustomResourceDefinition) string {
	switch {
	case a.GVK.Kind == "" || b.GVK.Kind == "":
		return ""
	case a.GVK == b.GVK:
		return "the list has the kind twice: leave one out"
	case a.GVK.GroupKind() == b.GVK.GroupKind():
		return versionClash(a, b)
	case strings.EqualFold(a.GVK.Kind, b.GVK.Kind):
		return "two kinds have one name: give one another"
	case a.Gate != "" && a.Gate == b.Gate:
		return fmt.Sprintf("both have the Gate %q, which the controller of one opens: give the other another, or none", a.Gate)
	case aCRD != nil && bCRD != nil:
		return resourceClash(aCRD, bCRD)
	}
	return ""
}

// versionClash says why there cannot be two versions of one kind.
func versionClash(a, b *kind.Kind) string {
	switch {
	case !bytes.Equal(a.CRD, b.CRD):
		return "two versions of one kind have different CustomResourceDefinitions: give both the one that has both versions"
	case !a.IsConverted() && !b.IsConverted():
		return "two versions of one kind are rendered: give the older one Convert, instead of Expand, Children and Status"
	}
	return ""
}

// resourceClash says what name of two kinds kubectl would take for both.
func resourceClash(a, b *apiextensionsv1.CustomResourceDefinition) string {
	if a.Spec.Names.Plural == b.Spec.Names.Plural {
		return fmt.Sprintf("both have the plural %q: give one another with // +kubebuilder:resource:path=", a.Spec.Names.Plural)
	}
	if a.Spec.Group != b.Spec.Group {
		return ""
	}
	for _, name := range shortNames(a) {
		if slices.Contains(shortNames(b), name) {
			return fmt.Sprintf("both have the short name %q: give one another with // +kubebuilder:resource:shortName=", name)
		}
	}
	return ""
}

func shortNames(crd *apiextensionsv1.CustomResourceDefinition) []string {
	return append([]string{crd.Spec.Names.Singular}, crd.Spec.Names.ShortNames...)
}
