package diff

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
)

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
	oids := map[string]string{} // by the paths of files in rendered/
	for _, file := range listed {
		if strings.HasPrefix(file.Mode, "100") {
			oids[file.Path] = file.OID
		}
	}
	indexes, err := readIndexes(ctx, repository, oids)
	if err != nil {
		return nil, err
	}
	read := func(environment string, now []tree.File) ([]tree.File, error) {
		return readCommitted(ctx, repository, oids, environment, indexes[environment], now)
	}
	prefix := fmt.Sprintf("%.12s:", id)
	if repository.Prefix() != "" {
		prefix += repository.Prefix() + "/"
	}
	return &before{id, slices.Sorted(maps.Keys(indexes)), read, prefix}, nil
}

// readIndexes returns the files that each environment lists in its index.
func readIndexes(ctx context.Context, repository *git.Repository, oids map[string]string) (map[string][]string, error) {
	var names, ids []string
	for name, oid := range oids {
		environment, base := path.Split(name)
		if environment = strings.TrimSuffix(environment, "/"); base == tree.IndexFile && render.IsEnvironmentName(environment) {
			names, ids = append(names, environment), append(ids, oid)
		}
	}
	contents, err := repository.Contents(ctx, ids)
	if err != nil {
		return nil, err
	}
	indexes := map[string][]string{}
	for i, name := range names {
		if listed := tree.Listed(contents[i]); listed != nil {
			indexes[name] = listed
		}
	}
	return indexes, nil
}

// readCommitted returns files of an environment. Git names contents by their hash: it does not
// read those that are the same now.
func readCommitted(ctx context.Context, repository *git.Repository, oids map[string]string, environment string, names []string, now []tree.File) (files []tree.File, err error) {
	known := map[string][]byte{}
	for _, file := range now {
		known[repository.HashOf(file.Content)] = file.Content
	}
	var unknown []string
	var at []int // in files
	for _, name := range names {
		oid, ok := oids[path.Join(environment, name)]
		if !ok {
			continue
		}
		content, isKnown := known[oid]
		if !isKnown {
			unknown, at = append(unknown, oid), append(at, len(files))
		}
		files = append(files, tree.File{Path: name, Content: content})
	}
	contents, err := repository.Contents(ctx, unknown)
	for i := range contents {
		files[at[i]].Content = contents[i]
	}
	return files, err
}
