// Package crds embeds the CustomResourceDefinitions, as they are generated, and what
// kustomize has to know of the fields of the kinds, as `configurations:` takes it.
package crds

import _ "embed"

// The CustomResourceDefinitions, and the fields of their kinds.
var (
	//go:embed cnat.programming-kubernetes.info_ats.yaml
	At []byte
	//go:embed at.kustomizeconfig.yaml
	AtFields []byte

	//go:embed cache.example.com_memcacheds.yaml
	Memcached []byte
	//go:embed memcached.kustomizeconfig.yaml
	MemcachedFields []byte
)
