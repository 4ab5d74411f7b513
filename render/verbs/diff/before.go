package diff

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

// before is what environments were rendered to, in the work tree or in a commit.
type before struct {
	// commit is the ID of the commit; empty for the work tree.
	commit string
	// environments are the names of those that have an index in the commit.
	environments []string
	// read returns the files of an environment that its index lists. It knows the files of
	// now, so as not to read what is the same.
	read func(environment string, now []tree.File) ([]tree.File, error)
	// prefix is of the names of files in messages.
	prefix string
}

// openBefore opens what rendered/ has in the work tree or, where a revision is not empty, what
// is committed where the revision and HEAD began to differ.
func openBefore(ctx context.Context, repository *render.Repository, revision string) (*before, error) {
	if revision != "" {
		return openCommit(ctx, repository.Dir(), revision)
	}
	return &before{read: func(environment string, _ []tree.File) ([]tree.File, error) { return repository.Rendered(environment) }}, nil
}

// manifests returns the objects in files of an environment before. A file that cannot be read,
// as after a merge that left its marks in it, is a warning: its objects count as new.
func (b *before) manifests(environment string, files []tree.File) (manifests []Manifest, warnings []manifest.Problem) {
	for _, file := range files {
		name := path.Join(tree.Folder, environment, file.Path)
		objects, err := parse(file.Content)
		if err != nil {
			warnings = append(warnings, manifest.Problem{Warning: true, File: b.prefix + name, Message: fmt.Sprintf("cannot be compared, so that what it has counts as new: %v", err)})
		}
		for _, o := range objects {
			manifests = append(manifests, Manifest{o, name})
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
