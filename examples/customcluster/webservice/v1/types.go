package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/gatehouse/kind"
)

// WebService is a program that answers HTTP.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations={"argocd.argoproj.io/sync-wave=-1"}
// +kubebuilder:resource:shortName=ws,categories=gatehouse
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.spec.host`
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`,priority=1
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 50",message="must be at most 50 characters, so that the names of its Pods fit"
type WebService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec WebServiceSpec `json:"spec"`
	// +kubebuilder:default:={"observedGeneration":-1}
	Status WebServiceStatus `json:"status,omitempty"`
}

// WebServiceSpec is the wanted state.
//
// +kubebuilder:validation:XValidation:rule="self.minReplicas <= self.maxReplicas",message="minReplicas must not be more than maxReplicas"
type WebServiceSpec struct {
	// image is the container image of the program, which listens on port 8080.
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image"`

	// host is its name for clients outside of the cluster; empty for none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host,omitempty"`

	// allowFrom are the namespaces whose Pods may reach it, beside its own.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=63
	AllowFrom []string `json:"allowFrom,omitempty"`

	// minReplicas is the number of Pods that always run.
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	MinReplicas int32 `json:"minReplicas,omitempty"`

	// maxReplicas is the number of Pods that run under load.
	// +kubebuilder:default=4
	// +kubebuilder:validation:Maximum=50
	MaxReplicas int32 `json:"maxReplicas,omitempty"`
}

// WebServiceStatus is the observed state; before the first observation observedGeneration is -1.
type WebServiceStatus struct {
	kind.Status `json:",inline"`
}

// WebServiceList is a list of WebServices.
//
// +kubebuilder:object:root=true
type WebServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []WebService `json:"items"`
}
