package apiserver

import (
	_ "embed"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// sinceText has a line for each kind and each field of a Go type that Oldest does not have: the
// version that it came with, and its name. TestSince writes it, by what k8s.io/api keeps of
// earlier versions.
//
//go:embed since.txt
var sinceText string

// since has the versions of sinceText, by the names.
var since = sync.OnceValue(func() map[string]Version {
	versions := map[string]Version{}
	for line := range strings.Lines(sinceText) {
		version, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		versions[name], _ = ParseVersion(version)
	}
	return versions
})

// hasKind reports whether a version serves a kind that the newest one serves.
func (v Version) hasKind(gvk schema.GroupVersionKind) bool { return v >= since()[kindName(gvk)] }

// LaterKind says which version serves a kind that a version does not serve; it returns nothing where
// none does.
func (v Version) LaterKind(gvk schema.GroupVersionKind) string { return v.later(kindName(gvk)) }

// LaterField returns what says which version has a field of a Go type, by its name in JSON, that the
// version of the kind does not have, and returns nothing for any other field; nil where there are none.
func (k Kind) LaterField() func(t reflect.Type, field string) string {
	if k.kubernetes == Newest || k.Type == nil {
		return nil
	}
	return func(t reflect.Type, field string) string { return k.kubernetes.later(fieldName(t, field)) }
}

func (v Version) later(name string) string {
	if later := since()[name]; later > v {
		return fmt.Sprintf("Kubernetes %s has it, %s does not", later, v)
	}
	return ""
}

// former has the fields that one version knows and drops, as their feature gates are off, and that the
// newest one does not know: PodSpec and Device in staging/src/k8s.io/api of each version.
var former = map[string]Version{
	"k8s.io/api/core/v1.PodSpec workloadRef":                        35,
	"k8s.io/api/resource/v1.Device nodeAllocatableResourceMappings": 36,
}

// DropsField reports whether the version of the kind drops a field that a Go type does not have.
func (k Kind) DropsField(t reflect.Type, field string) bool {
	return k.Type != nil && former[fieldName(t, field)] == k.kubernetes
}

func kindName(gvk schema.GroupVersionKind) string {
	return gvk.GroupVersion().String() + " " + gvk.Kind
}

func fieldName(t reflect.Type, field string) string {
	return t.PkgPath() + "." + t.Name() + " " + field
}
