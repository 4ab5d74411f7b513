package apiserver

import (
	_ "embed"
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

// HasField returns what reports whether a Go type of the kind has a field, by its name in JSON;
// nil where all its types have all fields.
func (k Kind) HasField() func(t reflect.Type, field string) bool {
	v := k.kubernetes
	if v == Newest {
		return nil
	}
	return func(t reflect.Type, field string) bool { return v >= since()[fieldName(t, field)] }
}

func kindName(gvk schema.GroupVersionKind) string {
	return gvk.GroupVersion().String() + " " + gvk.Kind
}

func fieldName(t reflect.Type, field string) string {
	return t.PkgPath() + "." + t.Name() + " " + field
}
