package tree

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"path"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
)

// Objects returns the objects in rendered files of an environment, of which the index and those
// beside it have none, and a problem with each other file that has none or cannot be read, as after a
// merge that left its marks in it.
func Objects(environment string, files []File) (objects []manifest.Object, problems []manifest.Problem) {
	for _, file := range files {
		if file.Path == IndexFile || besideHeaders[file.Path] != "" {
			continue
		}
		name := path.Join(Folder, environment, file.Path)
		found, err := parse(file.Content)
		if err != nil {
			problems = append(problems, manifest.Problem{File: name, Message: err.Error()})
		}
		for _, u := range found {
			objects = append(objects, manifest.Object{Unstructured: u, File: name})
		}
	}
	return objects, problems
}

// parse returns the objects in YAML documents. Its error has no values, which may be secret.
func parse(content []byte) (objects []*unstructured.Unstructured, err error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) && len(objects) > 0 {
			return objects, nil
		}
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it is no object")
		}
		if err != nil {
			return nil, err
		}
		encoded, err := yaml.YAMLToJSON(document)
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal(encoded, &u.Object); err != nil || len(u.Object) > 0 && u.GetKind() == "" {
			return nil, errors.New("it is no object")
		}
		if len(u.Object) > 0 {
			objects = append(objects, u)
		}
	}
}
