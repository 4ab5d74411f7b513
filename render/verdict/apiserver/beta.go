package apiserver

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// RuntimeConfigAnnotation is an annotation of an environment's kustomization: the beta versions that
// the --runtime-config of its kube-apiserver enables, as in "resource.k8s.io/v1beta2=true".
const RuntimeConfigAnnotation = "gatehouse.example.com/runtime-config"

// RuntimeConfig lists enabled beta versions, such as "resource.k8s.io/v1beta2", between commas.
type RuntimeConfig string

// ParseRuntimeConfig parses the value of a RuntimeConfigAnnotation. The error lists the beta versions of
// the version of Kubernetes.
func (v Version) ParseRuntimeConfig(text string) (RuntimeConfig, error) {
	known := v.betas()
	var enabled []string
	for entry := range strings.SplitSeq(text, ",") {
		version := strings.TrimSuffix(strings.TrimSpace(entry), "=true")
		if !known[version] {
			return "",
				fmt.Errorf("%q is not a beta version of Kubernetes %s: write one of %s, with commas between several",
					version, v, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		enabled = append(enabled, version)
	}
	return v.KnownBetas(enabled), nil
}

// KnownBetas returns the configuration that enables the beta versions of the version of Kubernetes among some versions.
func (v Version) KnownBetas(versions []string) RuntimeConfig {
	known := v.betas()
	enabled := slices.DeleteFunc(slices.Clone(versions), func(version string) bool { return !known[version] })
	slices.Sort(enabled)
	return RuntimeConfig(strings.Join(slices.Compact(enabled), ","))
}

// betas returns the beta versions that the version of Kubernetes has.
func (v Version) betas() map[string]bool {
	known := map[string]bool{}
	for gvk := range kinds() {
		if _, ok := v.LookupBeta(gvk); ok {
			known[gvk.GroupVersion().String()] = true
		}
	}
	return known
}

// LookupBeta returns a kind of a beta version that the version of Kubernetes has.
func (v Version) LookupBeta(gvk schema.GroupVersionKind) (Kind, bool) {
	k, ok := kinds()[gvk]
	k.kubernetes = v
	return k, ok && beta.MatchString(gvk.Version) && v.hasKind(gvk) && !k.isRemoved()
}

// isRemoved reports whether the version of Kubernetes no longer has the version of the kind.
func (k Kind) isRemoved() bool {
	versioned, isDated := reflect.New(k.Type).Interface().(interface{ APILifecycleRemoved() (major, minor int) })
	if !isDated {
		return false
	}
	_, minor := versioned.APILifecycleRemoved()
	return minor <= int(k.kubernetes)
}

// Enables reports whether the configuration enables a version of a group.
func (c RuntimeConfig) Enables(version schema.GroupVersion) bool {
	return slices.Contains(strings.Split(string(c), ","), version.String())
}
