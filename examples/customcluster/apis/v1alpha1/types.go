package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/gatehouse/kind"
)

// Customcluster is a number of Pods that each echo a message and keep running.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations={"argocd.argoproj.io/sync-wave=-1","api-approved.kubernetes.io=unapproved, experimental-only"}
// +kubebuilder:resource:shortName=cc,categories=gatehouse
// +kubebuilder:printcolumn:name="Count",type=integer,JSONPath=`.spec.count`,description="Pods wanted"
// +kubebuilder:printcolumn:name="Running",type=integer,JSONPath=`.status.count`,description="Pods that run"
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the Ready condition"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 48",message="must be at most 48 characters, so that the names of its Pods fit"
type Customcluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              CustomclusterSpec `json:"spec"`
	// +kubebuilder:default:={"observedGeneration":-1}
	Status CustomclusterStatus `json:"status,omitempty"`
}

// CustomclusterSpec is the desired Pods.
type CustomclusterSpec struct {
	// count is the number of Pods.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Count *int32 `json:"count,omitempty"`
	// message is the text that each Pod echoes, byte for byte.
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`
}

// CustomclusterStatus is the last observed status. Before that, observedGeneration is -1.
type CustomclusterStatus struct {
	kind.Status `json:",inline"`
	// count is the number of running Pods, including Pods with an earlier message.
	Count *int32 `json:"count,omitempty"`
	// message is the message of the last spec whose Pods were all ready.
	Message string `json:"message,omitempty"`
}

// CustomclusterList is a list of Customclusters.
// +kubebuilder:object:root=true
type CustomclusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Customcluster `json:"items"`
}
