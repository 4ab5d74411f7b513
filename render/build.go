package render

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// object is one object of an environment.
type object struct {
	*unstructured.Unstructured

	// origin is the file that the object comes from.
	origin string
}

func (o object) kind() string      { return o.GetKind() }
func (o object) group() string     { return o.GroupVersionKind().Group }
func (o object) name() string      { return o.GetName() }
func (o object) namespace() string { return o.GetNamespace() }
func (o object) String() string    { return objectName(o.kind(), o.namespace(), o.name()) }

// id tells an object from all others of a cluster.
func (o object) id() string {
	return strings.Join([]string{o.group(), o.kind(), o.namespace(), o.name()}, "/")
}

// build has kustomize build the folder dir, in process: no plugins, no loading
// of files from outside the folder of a kustomization.
func build(t *tree, dir, kustomization string) ([]object, error) {
	asked, err := askForOrigins(t, kustomization)
	if err != nil {
		return nil, err
	}
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(t, dir)
	if err != nil {
		return nil, err
	}
	objects := make([]object, 0, resources.Size())
	for _, r := range resources.Resources() {
		o, err := newObject(r, dir)
		if err != nil {
			return nil, err
		}
		if !asked {
			dropOrigin(o.Unstructured)
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// askForOrigins has the kustomization ask for the annotation that says which file
// an object comes from, and says whether it did so already.
func askForOrigins(t *tree, file string) (asked bool, err error) {
	content, err := t.ReadFile(file)
	if err != nil {
		return false, err
	}
	var kustomization map[string]any
	if err := yaml.Unmarshal(content, &kustomization); err != nil {
		return false, err
	}
	metadata, _ := kustomization["buildMetadata"].([]any)
	if slices.Contains(metadata, any(types.OriginAnnotations)) {
		return true, nil
	}
	kustomization["buildMetadata"] = append(metadata, types.OriginAnnotations)
	if content, err = yaml.Marshal(kustomization); err == nil {
		t.with(file, content)
	}
	return false, err
}

func newObject(r *resource.Resource, dir string) (object, error) {
	b, err := r.MarshalJSON()
	if err != nil {
		return object{}, fmt.Errorf("%s: %w", objectName(r.GetKind(), r.GetNamespace(), r.GetName()), err)
	}
	o := object{Unstructured: &unstructured.Unstructured{}}
	if err := json.Unmarshal(b, &o.Object); err != nil {
		return object{}, err
	}
	if origin, err := r.GetOrigin(); err == nil && origin != nil {
		o.origin = path.Join(dir, origin.Path)
		if origin.ConfiguredIn != "" {
			o.origin = path.Join(dir, origin.ConfiguredIn)
		}
	}
	return o, nil
}

const originAnnotation = "config.kubernetes.io/origin"

func dropOrigin(u *unstructured.Unstructured) {
	unstructured.RemoveNestedField(u.Object, "metadata", "annotations", originAnnotation)
	if len(u.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(u.Object, "metadata", "annotations")
	}
}

// resID is how kustomize writes the ID of an object in its errors:
// Deployment.v1.apps/web.shop.
var resID = regexp.MustCompile(`\b([A-Z][A-Za-z0-9]*)\.[^/\s]+/([^\s;'"\]]+)\.(\[noNs\]|[a-z0-9-]+)`)

// explain is the problem that an error of kustomize is about.
func (s *sources) explain(kustomization string, err error) Problem {
	message := strings.TrimPrefix(rootMessage(err), "/")
	if strings.Contains(message, "already registered id") {
		message = "duplicate object: another file of this environment has it as well; remove or rename one (" + message + ")"
	}
	p := Problem{File: relative(kustomization), Message: "kustomize: " + message}
	match := resID.FindStringSubmatch(message)
	if match == nil {
		return p
	}
	for file := range s.tree.read {
		for _, d := range s.of(file) {
			if d.kind == match[1] && d.name == match[2] {
				p.Object = d.object()
				// The last one in the order of files, so that it is always the same.
				if file := relative(d.file); file >= p.File || p.Line == 0 {
					p.File, p.Line = file, d.line(d.node)
				}
			}
		}
	}
	return p
}

// rootMessage is what an error of kustomize says at its root, without the levels
// of folders that led there.
func rootMessage(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			break
		}
		err = next
	}
	message := err.Error()
	if i := strings.LastIndex(message, "': "); i >= 0 && strings.Contains(message, "accumulat") {
		message = message[i+len("': "):]
	}
	return message
}
