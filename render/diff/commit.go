package diff

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/git"
	"example.com/gatehouse/render/tree"
)

// commit is what rendered/ has in a commit.
type commit struct {
	ctx        context.Context //nolint:containedctx // it lives as long as one comparison
	repository *git.Repository
	id         string
	files      map[string]git.File // by their paths in rendered/
	indexes    map[string][]string // the files that each environment lists
}

// openCommit opens what is committed where a revision and HEAD began to differ.
func openCommit(ctx context.Context, dir, revision string) (*commit, error) {
	repository, err := git.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	id, err := repository.Base(ctx, revision)
	if err != nil {
		return nil, err
	}
	files, err := repository.Files(ctx, id, tree.Folder)
	if err != nil {
		return nil, err
	}
	c := &commit{ctx, repository, id, map[string]git.File{}, map[string][]string{}}
	for _, file := range files {
		if strings.HasPrefix(file.Mode, "100") {
			c.files[file.Path] = file
		}
	}
	return c, c.readIndexes()
}

// readIndexes reads the index of each environment that was rendered.
func (c *commit) readIndexes() error {
	var names, ids []string
	for name, file := range c.files {
		environment, base := path.Split(name)
		if environment = strings.TrimSuffix(environment, "/"); base == tree.IndexFile && render.IsEnvironmentName(environment) {
			names, ids = append(names, environment), append(ids, file.OID)
		}
	}
	contents, err := c.repository.Contents(c.ctx, ids)
	if err != nil {
		return err
	}
	for i, name := range names {
		if listed := tree.Listed(contents[i]); listed != nil {
			c.indexes[name] = listed
		}
	}
	return nil
}

func (c *commit) commit() string { return c.id }

func (c *commit) environments() (names []string, err error) {
	for name := range c.indexes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// compare reads no file whose content is one of now: git names contents by their hash.
func (c *commit) compare(environment string, now []tree.File) (same map[string]bool, others []tree.File, err error) {
	ids := map[string]string{}
	for _, file := range now {
		ids[file.Path] = c.repository.HashOf(file.Content)
	}
	same = map[string]bool{}
	var read []string
	for _, name := range c.indexes[environment] {
		file, ok := c.files[path.Join(environment, name)]
		switch {
		case !ok:
		case ids[name] == file.OID:
			same[name] = true
		default:
			others, read = append(others, tree.File{Path: name}), append(read, file.OID)
		}
	}
	contents, err := c.repository.Contents(c.ctx, read)
	for i := range contents {
		others[i].Content = contents[i]
	}
	return same, others, err
}

func (c *commit) name(environment, file string) string {
	return fmt.Sprintf("%.12s:%s", c.id, path.Join(c.repository.Prefix(), tree.Folder, environment, file))
}
