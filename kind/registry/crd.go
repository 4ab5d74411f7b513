package registry

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind"
)

// readCRD returns the CustomResourceDefinition that is in YAML.
func readCRD(text []byte) (*apiextensionsv1.CustomResourceDefinition, error) {
	content, err := oneDocument(text)
	if err != nil {
		return nil, err
	}
	var meta metav1.TypeMeta
	if err := json.Unmarshal(content, &meta); err != nil {
		return nil, fmt.Errorf("it is no CustomResourceDefinition: embed the file that controller-gen writes: %w", err)
	}
	gvk := meta.GroupVersionKind()
	if gvk != apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition") {
		return nil, fmt.Errorf("it is %q, not %s CustomResourceDefinition: embed the file that controller-gen writes",
			strings.TrimSpace(written(gvk)), apiextensionsv1.SchemeGroupVersion)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(content, crd); err != nil {
		return nil, fmt.Errorf("run controller-gen again: %w", err)
	}
	return crd, nil
}

// oneDocument is the one document of a YAML file, as JSON.
func oneDocument(text []byte) (document []byte, err error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		part, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		content, err := yaml.YAMLToJSON(part)
		switch {
		case err != nil:
			return nil, fmt.Errorf("it is not YAML: %w", err)
		case string(content) == "null": // nothing but comments
			continue
		case document != nil:
			return nil, errors.New("it has several documents: give the CustomResourceDefinition of this kind alone")
		}
		document = content
	}
	if document == nil {
		return nil, errors.New("it is empty: embed the file that controller-gen writes")
	}
	return document, nil
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

// checkApproval finds whether the API server lets a kind be in a group of Kubernetes.
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

// checkStatus finds whether the schema of a status has what kstatus goes by, and what the
// controller writes of a kind that does not decide its status by itself.
func (k entry) checkStatus(root *apiextensionsv1.JSONSchemaProps, found *problems) {
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
	if k.Decide == nil && k.Gate == "" {
		checkStatusFields(&status, found)
	}
}

// isNotObserved says whether a default is that of a status that nobody wrote yet.
func isNotObserved(value *apiextensionsv1.JSON) bool {
	var status struct {
		ObservedGeneration *int64 `json:"observedGeneration"`
	}
	return value != nil && json.Unmarshal(value.Raw, &status) == nil &&
		status.ObservedGeneration != nil && *status.ObservedGeneration == -1
}

// checkStatusFields finds the fields of Status that a status has not.
func checkStatusFields(status *apiextensionsv1.JSONSchemaProps, found *problems) {
	var missing []string
	wanted := reflect.TypeFor[kind.Status]()
	match := matcher{wanted.String(), found}
	for _, field := range fieldsOf(wanted) {
		property, ok := status.Properties[field.name]
		switch {
		case field.name == "observedGeneration":
		case !ok:
			missing = append(missing, field.name)
		default:
			match.value("status."+field.name, field.Type, &property)
		}
	}
	if len(missing) > 0 {
		found.add("status: Definition.Status is nil, so that the controller writes %s, which the CustomResourceDefinition has not: embed kind.Status with `json:\",inline\"` in the type of Status and run controller-gen, or set Definition.Status",
			strings.Join(missing, ", "))
	}
}
