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
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
