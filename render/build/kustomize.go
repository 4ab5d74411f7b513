// Package build has kustomize build an environment, in process, and what was rendered
// from it with the environment's overrides. It builds apart what is independent, as
// kustomize takes the square of time.
package build

import (
	"fmt"
	"net/http"
	"os"
	"path"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/source"
)

// run builds a folder of a file system: no plugins, no loading of files from outside
// the folder of a kustomization.
func run(fs *source.FileSystem, folder string) ([]object.Object, error) {
	resources, err := kustomize(fs, folder)
	if err != nil {
		return nil, err
	}
	objects := make([]object.Object, resources.Size())
	for i, r := range resources.Resources() {
		if objects[i], err = newObject(r, folder); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// runWithOrigins builds a kustomization and has kustomize say where each object comes
// from, which makes it do more for each object and transformer:
// https://github.com/kubernetes-sigs/kustomize/issues/5988
func runWithOrigins(fs *source.FileSystem, kustomization *source.Kustomization) ([]object.Object, error) {
	k := kustomization.Kustomization
	if slices.Contains(k.BuildMetadata, types.OriginAnnotations) || k.CheckEmpty() != nil { // of one that is empty kustomize says so
		return run(fs, kustomization.Folder)
	}
	k.BuildMetadata = append(slices.Clip(k.BuildMetadata), types.OriginAnnotations)
	content, err := yaml.Marshal(k)
	if err != nil {
		return nil, err
	}
	objects, err := run(fs.With(map[string][]byte{kustomization.File: content}), kustomization.Folder)
	for _, o := range objects {
		dropOrigin(o.Unstructured)
	}
	return objects, err
}

// kustomize builds a folder. Some input that is wrong makes it panic.
func kustomize(fs *source.FileSystem, folder string) (resources resmap.ResMap, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("cannot build this: %v", cause)
		}
	}()
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified // as `kustomize build`: sortOptions are the user's
	return krusty.MakeKustomizer(options).Run(fs, folder)
}

func newObject(r *resource.Resource, folder string) (object.Object, error) {
	o := object.Object{Unstructured: &unstructured.Unstructured{}}
	var content map[string]any
	err := r.YNode().Decode(&content)
	if err == nil {
		o.Object, err = jsonValues(content)
	}
	if err != nil {
		return object.Object{}, fmt.Errorf("%s: %w", object.ID{Kind: r.GetKind(), Namespace: r.GetNamespace(), Name: r.GetName()}, err)
	}
	if origin, err := r.GetOrigin(); err == nil && origin != nil {
		o.Origin = path.Join(folder, origin.Path)
		if origin.ConfiguredIn != "" {
			o.Origin = path.Join(folder, origin.ConfiguredIn)
		}
	}
	return o, nil
}

// jsonValues returns content with the values of JSON as unstructured objects have them.
func jsonValues(content map[string]any) (values map[string]any, err error) {
	b, err := json.Marshal(content)
	if err == nil {
		err = json.Unmarshal(b, &values)
	}
	return values, err
}

const originAnnotation = "config.kubernetes.io/origin"

func dropOrigin(u *unstructured.Unstructured) {
	unstructured.RemoveNestedField(u.Object, "metadata", "annotations", originAnnotation)
	if len(u.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(u.Object, "metadata", "annotations")
	}
}

// isolation is held by whoever builds: what it takes away belongs to the process.
var isolation sync.Mutex

// isolate takes the network and other programs from the process while build runs.
// Building needs neither, but kustomize, told to by a file that it loads, would use
// them.
func isolate(build func()) {
	isolation.Lock()
	defer isolation.Unlock()

	transport, path := http.DefaultTransport, os.Getenv("PATH")
	defer func() {
		http.DefaultTransport = transport
		_ = os.Setenv("PATH", path)
	}()
	http.DefaultTransport = offline{}
	_ = os.Setenv("PATH", "")
	build()
}

type offline struct{}

// RoundTrip implements http.RoundTripper.
func (offline) RoundTrip(request *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("%s is remote: rendering reads only this repository", request.URL)
}
