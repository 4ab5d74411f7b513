// Package gatehouse holds the manifests of the controller, for programs that write them
// into a repository.
package gatehouse

import "embed"

// Files are the folder of the manifests: a kustomization and what it lists.
//
//go:embed *.yaml
var Files embed.FS
