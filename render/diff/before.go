package diff

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/tree"
)

// before is what environments were rendered to.
type before interface {
	// commit is the id of the commit that it is of; empty of the work tree.
	commit() string
	// environments are the names of those that were rendered.
	environments() ([]string, error)
	// compare compares its files of an environment with those of now: it returns the paths
	// of those that are the same, and its others.
	compare(environment string, now []tree.File) (same map[string]bool, others []tree.File, err error)
	// name is how people call where the file of an environment is.
	name(environment, file string) string
}

// manifests returns the objects in files of an environment before. A file that cannot be read,
// as after a merge that left its marks in it, is a warning: what it has counts as not there.
func manifests(b before, environment string, files []tree.File) (manifests []Manifest, warnings []object.Problem) {
	for _, file := range files {
		objects, err := parse(file.Content)
		if err != nil {
			warnings = append(warnings, object.Problem{Warning: true, File: b.name(environment, file.Path), Message: fmt.Sprintf("cannot be compared, so that what it has counts as new: %v", err)})
		}
		for _, o := range objects {
			manifests = append(manifests, Manifest{o, path.Join(tree.Folder, environment, file.Path)})
		}
	}
	return manifests, warnings
}

// parse returns the objects in a file.
func parse(content []byte) (objects []*unstructured.Unstructured, err error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		encoded, err := yaml.YAMLToJSON(document)
		if err != nil {
			return nil, err
		}
		var fields map[string]any
		if err := json.Unmarshal(encoded, &fields); err != nil {
			return nil, errors.New("it is no object")
		}
		if len(fields) > 0 {
			objects = append(objects, &unstructured.Unstructured{Object: fields})
		}
	}
}
