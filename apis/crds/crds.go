// Package crds holds the generated CustomResourceDefinitions of the kinds in
// apis, for programs that check objects without a cluster.
package crds

import "embed"

// Files are the CustomResourceDefinitions, one a file.
//
//go:embed *_*.yaml
var Files embed.FS
