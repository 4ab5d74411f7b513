package registry

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// ReadCRD reads the YAML of the CustomResourceDefinition of a kind.
func ReadCRD(text []byte) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		return nil, fmt.Errorf("embed the file that controller-gen writes: %w", err)
	}
	if gvk := crd.GroupVersionKind(); gvk != apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition") {
		return nil, fmt.Errorf("it is %q, not %s CustomResourceDefinition: embed the file that controller-gen writes",
			strings.TrimSpace(written(gvk)), apiextensionsv1.SchemeGroupVersion)
	}
	return crd, nil
}

// checkCRD finds what is wrong with a CustomResourceDefinition, and returns the schema of
// the version that is rendered; nil where there is none.
func (k entry) checkCRD(crd *apiextensionsv1.CustomResourceDefinition, found *problems) *apiextensionsv1.JSONSchemaProps {
	if crd.Spec.Group != k.GVK.Group || crd.Spec.Names.Kind != k.GVK.Kind {
		found.add("CRD is that of %s in group %q, not of %s in group %q: embed the file of this kind",
			crd.Spec.Names.Kind, crd.Spec.Group, k.GVK.Kind, k.GVK.Group)
		return nil
	}
	if want := crd.Spec.Names.Plural + "." + crd.Spec.Group; crd.Name != want {
		found.add("CRD: metadata.name is %q: it has to be %s", crd.Name, want)
	}
	if crd.Spec.Scope != apiextensionsv1.NamespaceScoped {
		found.add("CRD: spec.scope is %q: what a kind is rendered to is in its namespace, so write // +kubebuilder:resource:scope=Namespaced and run controller-gen", crd.Spec.Scope)
	}
	checkApproval(crd, found)
	return k.checkVersion(crd, found)
}

// checkApproval finds a kind in a group of Kubernetes that nobody approved.
func checkApproval(crd *apiextensionsv1.CustomResourceDefinition, found *problems) {
	if !apihelpers.IsProtectedCommunityGroup(crd.Spec.Group) {
		return
	}
	switch state, _ := apihelpers.GetAPIApprovalState(crd.Annotations); state {
	case apihelpers.APIApproved, apihelpers.APIApprovalBypassed:
	default:
		found.add(`CRD: the group %s is Kubernetes' own, and the API server refuses kinds in it without approval: use a domain of yours, or write // +kubebuilder:metadata:annotations="%s=unapproved, experimental-only" and run controller-gen`,
			crd.Spec.Group, apiextensionsv1.KubeAPIApprovedAnnotation)
	}
}

func (k entry) checkVersion(crd *apiextensionsv1.CustomResourceDefinition, found *problems) *apiextensionsv1.JSONSchemaProps {
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == k.GVK.Version })
	if i < 0 {
		names := make([]string, len(crd.Spec.Versions))
		for i, v := range crd.Spec.Versions {
			names[i] = v.Name
		}
		found.add("CRD has no version %s, but %s: run controller-gen, or change the version of GVK", k.GVK.Version, orNone(names))
		return nil
	}
	version := crd.Spec.Versions[i]
	if !version.Served {
		found.add("CRD: version %s is not served: leave out // +kubebuilder:unservedversion and run controller-gen", version.Name)
	}
	if version.Subresources == nil || version.Subresources.Status == nil {
		found.add("CRD: version %s has no status subresource, and the controller writes nothing else: write // +kubebuilder:subresource:status above the Go type and run controller-gen", version.Name)
	}
	if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
		found.add("CRD: version %s has no schema: run controller-gen", version.Name)
		return nil
	}
	return version.Schema.OpenAPIV3Schema
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// checkStatus finds whether the schema of a status has what kstatus goes by.
func checkStatus(root *apiextensionsv1.JSONSchemaProps, found *problems) {
	status, ok := root.Properties["status"]
	if !ok {
		found.add("status: the CustomResourceDefinition has none: give the Go type a field Status and run controller-gen")
		return
	}
	if !isNotObserved(status.Default) {
		found.add(`status: without a default, kubectl wait, Flux and Argo CD take a new object for ready: write // +kubebuilder:default:={"observedGeneration":-1} above the field Status and run controller-gen`)
	}
	if status.Properties["observedGeneration"].Type != "integer" {
		found.add(`status: observedGeneration is no integer in the CustomResourceDefinition: give the type of Status a field ObservedGeneration int64 and run controller-gen`)
	}
}

// isNotObserved reports whether a default says that nobody has written the status yet.
func isNotObserved(value *apiextensionsv1.JSON) bool {
	var status struct {
		ObservedGeneration *int64 `json:"observedGeneration"`
	}
	return value != nil && json.Unmarshal(value.Raw, &status) == nil &&
		status.ObservedGeneration != nil && *status.ObservedGeneration == -1
}
