// Package v1alpha1 is the cnat.programming-kubernetes.info/v1alpha1 API: At.
//
// +kubebuilder:object:generate=true
// +groupName=cnat.programming-kubernetes.info
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the group and version of the kinds in this package.
var SchemeGroupVersion = schema.GroupVersion{Group: "cnat.programming-kubernetes.info", Version: "v1alpha1"}

// AddToScheme adds the kinds of this package to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(SchemeGroupVersion, &At{}, &AtList{})
	metav1.AddToGroupVersion(s, SchemeGroupVersion)
	return nil
}
