package diff

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
)

// previousRendering is rendered/ in the work tree or in a commit.
type previousRendering struct {
	repository *render.Repository
	base       *render.Repository // at the commit, or the repository itself
	snapshot   *git.Snapshot      // nil for the work tree

	// commit is the ID of the commit. It is empty for the work tree, together with the fields below.
	commit     string
	git        *git.Repository
	changed    []git.FileChange    // since the commit
	here       []string            // changed files in the folder of the repository, from there
	files      map[string]git.File // the regular files of the commit by path
	listed     map[string][]string // the files in the index of each environment
	kubernetes map[string]string   // the Kubernetes version in the index of each environment
	isDefining func() bool         // definesKinds, once
}

// openPrevious opens rendered/ in the work tree or, if revision is not empty, in its merge base with HEAD.
func openPrevious(ctx context.Context, repository *render.Repository,
	revision string) (b *previousRendering, err error) {
	b = &previousRendering{repository: repository, base: repository}
	if revision == "" {
		return b, nil
	}
	if b.git, err = git.Open(ctx, repository.Dir()); err != nil {
		return nil, err
	}
	if b.commit, err = b.git.MergeBase(ctx, revision); err != nil {
		return nil, err
	}
	if b.snapshot, err = b.git.Snapshot(ctx, b.commit, tree.Folder); err != nil {
		return nil, err
	}
	b.base = repository.At(b.snapshot)
	b.files = maps.Clone(b.snapshot.Files())
	if b.changed, err = b.git.ChangedSince(ctx, b.commit); err != nil {
		return nil, err
	}
	for _, c := range b.changed {
		if b.git.Holds(c.Path) {
			b.here = append(b.here, b.git.InFolder(c.Path))
		}
	}
	maps.DeleteFunc(b.files, func(_ string, file git.File) bool { return !file.IsRegular() })
	b.isDefining = sync.OnceValue(b.definesKinds)
	return b, b.readIndexes(ctx)
}

// readIndexes reads the index of each environment of the commit.
func (b *previousRendering) readIndexes(ctx context.Context) error {
	indexes := map[string]git.File{} // by environment
	for name, file := range b.files {
		environment := path.Base(path.Dir(name))
		if name == path.Join(tree.Folder, environment, tree.IndexFile) && render.IsEnvironmentName(environment) {
			indexes[environment] = file
		}
	}
	contents, err := b.git.ReadFiles(ctx, indexes)
	b.listed = map[string][]string{}
	b.kubernetes = map[string]string{}
	for environment, content := range contents {
		if names := tree.Listed(content); names != nil {
			b.listed[environment] = names
			b.kubernetes[environment] = tree.KubernetesOf(content)
		}
	}
	return err
}

// renderedFor returns the Kubernetes version of the index of an environment, if it declares one.
func (b *previousRendering) renderedFor(environment string) (kubernetes string, isRendered bool, err error) {
	if b.commit == "" {
		return b.repository.RenderedFor(environment)
	}
	kubernetes, isRendered = b.kubernetes[environment]
	return kubernetes, isRendered, nil
}

// readChanged returns the listed files of an environment that differ from the current content, and the
// paths of equal files. Of a commit it reads only files with another hash. The files of deliveries are read where these
// are followed.
func (b *previousRendering) readChanged(ctx context.Context, environment string,
	now map[string][]byte) (files []tree.File, same map[string]bool, err error) {
	same = map[string]bool{}
	if b.commit == "" {
		files, err = b.repository.Rendered(environment)
		files = slices.DeleteFunc(files, func(file tree.File) bool {
			content, isNow := now[file.Path]
			same[file.Path] = isNow && bytes.Equal(content, file.Content)
			return same[file.Path] || tree.IsDelivered(file.Path)
		})
		return files, same, err
	}
	changed := map[string]git.File{}
	for _, name := range b.listed[environment] {
		file, isThere := b.files[path.Join(tree.Folder, environment, name)]
		content, isNow := now[name]
		same[name] = isThere && isNow && file.OID == b.git.Hash(content)
		if !same[name] && !tree.IsDelivered(name) {
			changed[name] = file
		}
	}
	contents, err := b.git.ReadFiles(ctx, changed)
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		files = append(files, tree.File{Path: name, Content: contents[name]})
	}
	return files, same, err
}

// postBuild returns the values that Flux substituted in the previous rendering, if an object before or
// after has variables. rendered/ in the work tree does not record its values: they count as unchanged.
func (b *previousRendering) postBuild(rendering *render.Rendering, before []manifest.Object) (*flux.PostBuild, error) {
	always := &flux.PostBuild{}
	if b.commit == "" || !slices.ContainsFunc(before, always.Substitutes) &&
		!slices.ContainsFunc(rendering.Objects, always.Substitutes) {
		return rendering.PostBuild, nil
	}
	return b.base.PostBuild(rendering.Environment)
}

// close ends the reading of the commit.
func (b *previousRendering) close() {
	if b.snapshot != nil {
		b.snapshot.Close()
	}
}

// parse returns the objects in files of an environment. An unreadable file gives a warning: its objects
// count as new.
func (b *previousRendering) parse(environment string, files []tree.File) (objects []manifest.Object,
	warnings []manifest.Problem) {
	objects, warnings = tree.Objects(environment, files)
	for i := range warnings {
		w := &warnings[i]
		w.Warning = true
		w.Message = "cannot be compared, so its objects count as new: " + w.Message
		if b.commit != "" {
			w.File = fmt.Sprintf("%.12s:%s", b.commit, path.Join(b.git.Prefix(), w.File))
		}
	}
	return objects, warnings
}

// installed returns the objects that controllers installed by the previous objects, as they were applied. A
// problem is a warning: these objects are not compared.
func (b *previousRendering) installed(now *render.Environment,
	before []manifest.Object) ([]*render.Delivery, []manifest.Problem) {
	if !now.IsBuilt() || !slices.ContainsFunc(before, render.Delivers) {
		return nil, nil
	}
	installed, problems := now.Install(before, b.base)
	var warnings []manifest.Problem
	for _, p := range problems {
		if p.IsError() {
			p.Warning = true
			p.Message = "the previous objects of a delivery are not compared: " + p.Message
			p.File = p.Subject.File
			p.Line = 0
			warnings = append(warnings, p)
		}
	}
	return installed, warnings
}
