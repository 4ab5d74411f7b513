package apiserver

import (
	_ "embed"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// sinceText has a line for each kind, and each field of a Go type, that is newer than Oldest: its first
// version and its name. TestSinceIsComplete writes it from the test data of k8s.io/api.
//
//go:embed since.txt
var sinceText string

// since has the first versions of kinds and fields.
var since = sync.OnceValue(func() map[string]Version {
	versions := map[string]Version{}
	for line := range strings.Lines(sinceText) {
		version, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		versions[name], _ = ParseVersion(version)
	}
	return versions
})

// hasKind reports whether the version serves a kind of the newest version.
func (v Version) hasKind(gvk schema.GroupVersionKind) bool { return v >= since()[kindName(gvk)] }

// LaterKind returns a hint with the later version that serves a kind; empty for none.
func (v Version) LaterKind(gvk schema.GroupVersionKind) string { return v.later(kindName(gvk)) }

// LaterField returns a function like LaterKind for the fields of Go types, by their JSON names; nil if
// no version is later.
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

// DropsField reports whether the version of the kind drops an unknown field of a Go type.
func (k Kind) DropsField(t reflect.Type, field string) bool {
	return k.Type != nil && former[fieldName(t, field)] == k.kubernetes
}

func kindName(gvk schema.GroupVersionKind) string {
	return gvk.GroupVersion().String() + " " + gvk.Kind
}

func fieldName(t reflect.Type, field string) string {
	return t.PkgPath() + "." + t.Name() + " " + field
}
