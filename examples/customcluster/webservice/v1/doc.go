// Package v1 is the platform.example.org/v1 API.
//
// +kubebuilder:object:generate=true
// +groupName=platform.example.org
package v1
