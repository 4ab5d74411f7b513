package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"example.com/gatehouse/render/source/fetched"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/source/text"
	"example.com/gatehouse/render/watchdog"
)

// fetchEntry fetches what an entry of a kustomization names, as kustomize does: a file or, without one with
// objects, a folder in git. See accumulateResources in api/internal/target/kusttarget.go.
func (f *Fetcher) fetchEntry(from fetched.Source) (files fetched.Files, err error) {
	base, isBase := fetched.BaseOf(from.Repository)
	isWeb := strings.Contains(from.Repository, "://") && !strings.HasPrefix(strings.ToLower(from.Repository), "ssh:")
	if from.IsFile && isWeb && !f.isKept(base.Source) {
		files, err = f.fetchOnce(from)
		if err == nil || !isBase || errors.As(err, new(fetched.ErrNewSource)) {
			return files, err
		}
	}
	if !isBase {
		return files, fmt.Errorf("%s names no repository: write it as https://HOST/OWNER/NAME//FOLDER?ref=VERSION",
			from.Repository)
	}
	files, ofGit := f.fetchOnce(base.Source)
	switch {
	case ofGit != nil && err != nil:
		return files, fmt.Errorf("%w; %w", err, ofGit)
	case ofGit != nil:
		return files, ofGit
	}
	within := strings.TrimPrefix(files.Path, "/"+fetched.Folder+"/")
	if _, err := f.Lstat(path.Join(within, ".gitmodules")); err == nil && base.HasSubmodules {
		return files, fmt.Errorf("%s has submodules, and these are not fetched: add submodules=false to the query of "+
			"the URL if the folder needs none", base.Repository)
	}
	files.Path = path.Join(files.Path, base.Folder)
	return files, nil
}

// isKept reports whether the cache has a base at a commit: then no file of its URL is asked for.
func (f *Fetcher) isKept(base fetched.Source) bool {
	return base.IsGit && isFixed(base) && f.cache.find(base).Digest != ""
}

// getFile returns the file at a URL. As kustomize does, it sends no credentials.
func (f *Fetcher) getFile(ctx context.Context, from fetched.Source, u *url.URL) ([]byte, error) {
	content, err := f.get(ctx, nil, u)
	if err == nil && from.IsBase && !hasObjects(content) {
		err = fmt.Errorf("%s is no file of objects", u.Redacted())
	}
	return content, err
}

// hasObjects reports whether a file is YAML with objects alone, and no page about a repository.
func hasObjects(content []byte) bool {
	count := 0
	for _, d := range text.Split(content) {
		root, err := d.Parse()
		switch {
		case err != nil:
			return false
		case root == nil || node.IsNull(root):
		case node.Text(root, "kind") == "":
			return false
		default:
			count++
		}
	}
	return count > 0
}

// keepFile adds a file to the cache.
func (f *Fetcher) keepFile(from fetched.Source, content []byte, name string) (files fetched.Files, err error) {
	if err := f.cache.keep(name, content); err != nil {
		return files, fmt.Errorf("write to the cache: %w", err)
	}
	found := known{Digest: digestOf(content)}
	watchdog.Read("fetched "+found.Digest, len(content))
	return f.add(from, found, name), nil
}
