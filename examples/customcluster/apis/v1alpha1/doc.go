// Package v1alpha1 is the samplecontroller.k8s.io/v1alpha1 API: Customcluster.
// +kubebuilder:object:generate=true
// +groupName=samplecontroller.k8s.io
package v1alpha1
