// Package crds embeds the generated CustomResourceDefinitions.
package crds

import _ "embed"

// The CustomResourceDefinitions.
var (
	//go:embed cnat.programming-kubernetes.info_ats.yaml
	At []byte

	//go:embed cache.example.com_memcacheds.yaml
	Memcached []byte
)
