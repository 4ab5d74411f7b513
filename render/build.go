package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
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

// String is how people name the object; empty where there is none.
func (o object) String() string {
	if len(o.Object) == 0 {
		return ""
	}
	return objectName(o.kind(), o.namespace(), o.name())
}

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
	resources, err := kustomize(t, dir)
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

// kustomize builds a folder. Some input that is wrong makes it panic.
func kustomize(t *tree, dir string) (resources resmap.ResMap, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("cannot build this: %v", cause)
		}
	}()
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified // as `kustomize build`: sortOptions are the user's
	return krusty.MakeKustomizer(options).Run(t, dir)
}

// askForOrigins has the kustomization ask for the annotation that says which file
// an object comes from, and says whether it did so already.
func askForOrigins(t *tree, file string) (asked bool, err error) {
	content, err := t.ReadFile(file)
	if err != nil {
		return false, err
	}
	kustomization := map[string]any{}
	if err := yaml.Unmarshal(content, &kustomization); err != nil {
		return false, err
	}
	if len(kustomization) == 0 { // kustomize says so itself
		return false, nil
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

var accumulated = regexp.MustCompile(`(?s)accumulating resources from '([^']*)': (.*?)': `)

// rootMessage is what an error of kustomize says at its root, without the levels
// of folders that led there.
func rootMessage(err error) string {
	if all := accumulated.FindAllStringSubmatch(err.Error(), -1); all != nil {
		last := all[len(all)-1]
		if _, rest, nested := strings.Cut(last[2], "accumulating resources from '"); nested {
			last[2] = strings.Replace(rest, "':", ":", 1)
		}
		return last[1] + ": " + last[2]
	}
	for {
		next := errors.Unwrap(err)
		if next == nil || errors.Is(next, fs.ErrNotExist) && next.Error() == fs.ErrNotExist.Error() {
			return strings.Join(strings.Fields(err.Error()), " ")
		}
		err = next
	}
}
