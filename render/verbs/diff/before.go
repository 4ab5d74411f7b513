package diff

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
)

// before is what environments were rendered to, in the work tree or in a commit.
type before struct {
	repository *render.Repository

	// commit is the ID of the commit; empty for the work tree, of which the rest is not known.
	commit     string
	git        *git.Repository
	files      map[string]git.File // in rendered/, by their paths
	listed     map[string][]string // the files that each environment lists in its index
	kubernetes map[string]string   // the version that each index says
}

// openBefore opens what rendered/ has in the work tree or, where a revision is not empty, what
// is committed where the revision and HEAD began to differ.
func openBefore(ctx context.Context, repository *render.Repository, revision string) (b *before, err error) {
	b = &before{repository: repository}
	if revision == "" {
		return b, nil
	}
	if b.git, err = git.Open(ctx, repository.Dir()); err != nil {
		return nil, err
	}
	if b.commit, err = b.git.Base(ctx, revision); err != nil {
		return nil, err
	}
	if b.files, err = b.git.Files(ctx, b.commit, tree.Folder); err != nil {
		return nil, err
	}
	maps.DeleteFunc(b.files, func(_ string, file git.File) bool { return !file.IsRegular() })
	return b, b.readIndexes(ctx)
}

// readIndexes reads the index of each environment of the commit.
func (b *before) readIndexes(ctx context.Context) error {
	var environments, ids []string
	for name, file := range b.files {
		environment := path.Base(path.Dir(name))
		if name == path.Join(tree.Folder, environment, tree.IndexFile) && render.IsEnvironmentName(environment) {
			environments, ids = append(environments, environment), append(ids, file.OID)
		}
	}
	contents, err := b.git.Contents(ctx, ids)
	b.listed, b.kubernetes = map[string][]string{}, map[string]string{}
	for i, content := range contents {
		if names := tree.Listed(content); names != nil {
			b.listed[environments[i]], b.kubernetes[environments[i]] = names, tree.KubernetesOf(content)
		}
	}
	return err
}

// renderedFor returns the version of Kubernetes that an environment was rendered for; empty where it
// said none.
func (b *before) renderedFor(environment string) (kubernetes string, isRendered bool, err error) {
	if b.commit == "" {
		return b.repository.RenderedFor(environment)
	}
	kubernetes, isRendered = b.kubernetes[environment]
	return kubernetes, isRendered, nil
}

// read returns the files of an environment that its index lists and that are not the same now, and
// the paths of those that are. Git names contents by their hash: what is the same is not read.
func (b *before) read(ctx context.Context, environment string, now map[string][]byte) (files []tree.File, same map[string]bool, err error) {
	same = map[string]bool{}
	if b.commit == "" {
		files, err = b.repository.Rendered(environment)
		files = slices.DeleteFunc(files, func(file tree.File) bool {
			content, isNow := now[file.Path]
			same[file.Path] = isNow && bytes.Equal(content, file.Content)
			return same[file.Path]
		})
		return files, same, err
	}
	var ids []string
	for _, name := range b.listed[environment] {
		file, isThere := b.files[path.Join(tree.Folder, environment, name)]
		content, isNow := now[name]
		same[name] = isThere && isNow && file.OID == b.git.HashOf(content)
		if isThere && !same[name] {
			files, ids = append(files, tree.File{Path: name}), append(ids, file.OID)
		}
	}
	contents, err := b.git.Contents(ctx, ids)
	for i, content := range contents {
		files[i].Content = content
	}
	return files, same, err
}

// objects returns the objects in files of an environment before. A file that cannot be read is a
// warning: its objects count as new.
func (b *before) objects(environment string, files []tree.File) (objects []manifest.Object, warnings []manifest.Problem) {
	objects, warnings = tree.Objects(environment, files)
	for i := range warnings {
		w := &warnings[i]
		w.Warning, w.Message = true, "cannot be compared, so that what it has counts as new: "+w.Message
		if b.commit != "" {
			w.File = fmt.Sprintf("%.12s:%s", b.commit, path.Join(b.git.Prefix(), w.File))
		}
	}
	return objects, warnings
}
