package apiserver

// Kubernetes requires a version of this module that does not exist. The import makes go.mod name
// another one, which modules that require this one use in go mod tidy.
import _ "k8s.io/cri-api/pkg/apis"
