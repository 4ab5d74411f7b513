// Package crds holds the generated CustomResourceDefinitions of the kinds in
// apis, for programs that check objects without a cluster.
package crds

import "embed"

// Files are the CustomResourceDefinitions, one a file.
//
//go:embed *_*.yaml
var Files embed.FS

// Folder is the folder of the CustomResourceDefinitions, as a kustomization lists it: they,
// the kustomization in it, and KustomizeConfig.
//
//go:embed *.yaml
var Folder embed.FS

// KustomizeConfig has what kustomize has to know of the fields of the kinds, as
// `configurations:` of a kustomization takes it.
//
//go:embed kustomizeconfig.yaml
var KustomizeConfig []byte
