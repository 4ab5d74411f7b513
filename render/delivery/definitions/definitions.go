// Package definitions has the CustomResourceDefinitions of the tools that sync clusters, as they come with a release
// of each tool and without descriptions: nearly every repository has objects of these kinds, and few have the
// definitions. test/definitions.sh writes them.
package definitions

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"example.com/gatehouse/kind/crd"
)

// ReleaseAnnotation is an annotation of these definitions: the tool with its version, and the license.
const ReleaseAnnotation = "gatehouse.example.com/release"

// compressed has a JSON document for each definition.
//
//go:embed definitions.json.gz
var compressed []byte

var all = sync.OnceValue(func() map[schema.GroupKind]*unstructured.Unstructured {
	definitions := map[schema.GroupKind]*unstructured.Unstructured{}
	content, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		panic(err)
	}
	for decoder := json.NewDecoder(content); ; {
		u := &unstructured.Unstructured{}
		if err := decoder.Decode(&u.Object); errors.Is(err, io.EOF) {
			return definitions
		} else if err != nil {
			panic(err)
		}
		definitions[crd.Kind(u)] = u
	}
})

// Of returns the definition of a kind if it serves a version of it, or nil. It must not be changed.
func Of(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	if definition := all()[gvk.GroupKind()]; definition != nil && crd.Serves(definition, gvk.Version) {
		return definition
	}
	return nil
}

// Instead returns the newest version of a kind that its tool serves in place of one that it does not serve, and the
// release of the tool; empty if it serves that one, or the kind is of no such tool.
func Instead(gvk schema.GroupVersionKind) (served, release string) {
	definition := all()[gvk.GroupKind()]
	if definition == nil || crd.Serves(definition, gvk.Version) {
		return "", ""
	}
	for _, v := range crd.Versions(definition) {
		if v.Served && version.CompareKubeAwareVersionStrings(v.Name, served) > 0 {
			served = v.Name
		}
	}
	release, _, _ = strings.Cut(definition.GetAnnotations()[ReleaseAnnotation], ",")
	return served, release
}
