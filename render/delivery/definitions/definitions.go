// Package definitions has the CustomResourceDefinitions of the tools that sync clusters, and of the projects that most
// repositories have objects of, as they come with a release of each and without descriptions: few repositories have the
// definitions. test/definitions.sh writes them; releases.txt has their versions, modules and digests.
package definitions

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"io/fs"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"example.com/gatehouse/kind/crd"
)

// ReleaseAnnotation is an annotation of these definitions: the project with its version.
const ReleaseAnnotation = "gatehouse.example.com/release"

// compressed has a JSON document for each definition, by nameOf its kind.
//
//go:embed definitions.zip
var compressed []byte

var archive = sync.OnceValue(func() *zip.Reader {
	reader, err := zip.NewReader(bytes.NewReader(compressed), int64(len(compressed)))
	if err != nil {
		panic(err)
	}
	return reader
})

func nameOf(kind schema.GroupKind) string { return kind.Group + "/" + kind.Kind + ".json" }

// known has the definitions that were read, by schema.GroupKind: most runs need few.
var known sync.Map

// of returns the definition of a kind, or nil.
func of(kind schema.GroupKind) *unstructured.Unstructured {
	read, _ := known.LoadOrStore(kind, sync.OnceValue(func() *unstructured.Unstructured { return read(kind) }))
	return read.(func() *unstructured.Unstructured)()
}

func read(kind schema.GroupKind) *unstructured.Unstructured {
	content, err := archive().Open(nameOf(kind))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil
	} else if err != nil {
		panic(err)
	}
	u := &unstructured.Unstructured{}
	if err := json.NewDecoder(content).Decode(&u.Object); err != nil {
		panic(err)
	}
	return u
}

// Of returns the definition of a kind if it serves a version of it, or nil. It must not be changed.
func Of(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	if definition := of(gvk.GroupKind()); definition != nil && crd.Serves(definition, gvk.Version) {
		return definition
	}
	return nil
}

// Instead returns the newest version of a kind that its project serves in place of an older one that it does not serve,
// and the release of the project; empty if it serves that one, or the kind is of no such project.
func Instead(gvk schema.GroupVersionKind) (served, release string) {
	definition := of(gvk.GroupKind())
	if definition == nil || crd.Serves(definition, gvk.Version) {
		return "", ""
	}
	for _, v := range crd.Versions(definition) {
		if v.Served && version.CompareKubeAwareVersionStrings(v.Name, served) > 0 {
			served = v.Name
		}
	}
	if version.CompareKubeAwareVersionStrings(gvk.Version, served) > 0 { // a later release may serve it
		return "", ""
	}
	return served, definition.GetAnnotations()[ReleaseAnnotation]
}
