package tree

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
)

// Objects returns the objects in the rendered files of an environment. It skips indexes and the files beside
// them, and returns a problem for any other file without readable objects, as after a merge conflict.
func Objects(environment string, files []File) (objects []manifest.Object, problems []manifest.Problem) {
	for _, file := range files {
		if path.Base(file.Path) == IndexFile || besideHeaders[file.Path] != "" {
			continue
		}
		name := path.Join(Folder, environment, file.Path)
		parsed, err := parse(file.Content)
		if err != nil {
			problems = append(problems, manifest.Problem{Code: manifest.RunFailed, File: name, Message: err.Error()})
		}
		for _, u := range parsed {
			objects = append(objects, manifest.Object{Unstructured: u, File: name})
		}
	}
	return objects, problems
}

var errNoObject = errors.New("it contains no object")

// parse returns the objects in YAML documents. Its error contains no values, which may be secret. The reader loses a
// last line of 4096 bytes that no newline ends (kubernetes/kubernetes#142527).
func parse(content []byte) (objects []*unstructured.Unstructured, err error) {
	whole := io.MultiReader(bytes.NewReader(content), strings.NewReader("\n"))
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(whole)); ; {
		document, err := documents.Read()
		switch {
		case errors.Is(err, io.EOF) && len(objects) > 0:
			return objects, nil
		case errors.Is(err, io.EOF):
			return nil, errNoObject
		case err != nil:
			return nil, err
		}
		encoded, err := yaml.YAMLToJSON(document)
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal(encoded, &u.Object); err != nil || len(u.Object) > 0 && u.GetKind() == "" {
			return nil, errNoObject
		}
		if len(u.Object) > 0 {
			objects = append(objects, u)
		}
	}
}
