package diff

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
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

// openCommit opens what is committed where a revision and HEAD began to differ.
func openCommit(ctx context.Context, dir, revision string) (*before, error) {
	repository, err := git.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	id, err := repository.Base(ctx, revision)
	if err != nil {
		return nil, err
	}
	listed, err := repository.Files(ctx, id, tree.Folder)
	if err != nil {
		return nil, err
	}
	ids := map[string]string{} // of the contents of files, by their paths
	for _, file := range listed {
		if strings.HasPrefix(file.Mode, "100") {
			ids[file.Path] = file.OID
		}
	}
	indexes, err := readIndexes(ctx, repository, ids)
	if err != nil {
		return nil, err
	}
	read := func(environment string, now []tree.File) ([]tree.File, error) {
		return readCommitted(ctx, repository, ids, path.Join(tree.Folder, environment), indexes[environment], now)
	}
	prefix := fmt.Sprintf("%.12s:", id)
	if repository.Prefix() != "" {
		prefix += repository.Prefix() + "/"
	}
	return &before{id, slices.Sorted(maps.Keys(indexes)), read, prefix}, nil
}

// readIndexes returns the files that each environment lists in its index.
func readIndexes(ctx context.Context, repository *git.Repository, ids map[string]string) (map[string][]string, error) {
	var environments, indexIDs []string
	for name, id := range ids {
		folder, file := path.Split(name)
		if environment := path.Base(folder); file == tree.IndexFile && path.Join(tree.Folder, environment, file) == name && render.IsEnvironmentName(environment) {
			environments, indexIDs = append(environments, environment), append(indexIDs, id)
		}
	}
	contents, err := repository.Contents(ctx, indexIDs)
	indexes := map[string][]string{}
	for i, content := range contents {
		if listed := tree.Listed(content); listed != nil {
			indexes[environments[i]] = listed
		}
	}
	return indexes, err
}

// readCommitted returns the files of a folder that have some names. Git names contents by their
// hash: it does not read those that are the same now.
func readCommitted(ctx context.Context, repository *git.Repository, ids map[string]string, folder string, names []string, now []tree.File) (files []tree.File, err error) {
	contents := map[string][]byte{}
	for _, file := range now {
		contents[repository.HashOf(file.Content)] = file.Content
	}
	var unknown []string
	names = slices.DeleteFunc(names, func(name string) bool { return ids[path.Join(folder, name)] == "" })
	for _, name := range names {
		id := ids[path.Join(folder, name)]
		if _, isKnown := contents[id]; !isKnown {
			unknown = append(unknown, id)
		}
	}
	read, err := repository.Contents(ctx, unknown)
	for i, content := range read {
		contents[unknown[i]] = content
	}
	for _, name := range names {
		files = append(files, tree.File{Path: name, Content: contents[ids[path.Join(folder, name)]]})
	}
	return files, err
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
