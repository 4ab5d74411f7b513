package apiserver

// Kubernetes requires this module in a version that there is not, and a module that requires
// this one takes what Kubernetes says unless it is said here: go mod tidy would fail there.
import _ "k8s.io/cri-api/pkg/apis"
