package publish

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
)

// Verification compares a published commit with a rendering of its source.
type Verification struct {
	Environment string `json:"environment"`
	Commit      string `json:"commit"`
	// Source is the commit that the published one names.
	Source string `json:"source"`
	// Differences are files of the published commit, in order.
	Differences []Difference `json:"differences"`
}

// Difference is a published file that rendering its source does not give.
type Difference struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// Verify renders the source of a published commit, in a temporary folder, and compares each byte.
// It returns a result, the problems of the source, or an error.
func Verify(ctx context.Context, repository *render.Repository, environment, revision string, progress func(step string)) (*Verification, []manifest.Problem, error) {
	g, err := git.Open(ctx, repository.Dir())
	if err != nil {
		return nil, nil, err
	}
	v := &Verification{Environment: environment, Differences: []Difference{}}
	if v.Commit, err = g.Resolve(ctx, revision); err != nil {
		return nil, nil, err
	}
	commit, err := g.ReadCommit(ctx, v.Commit)
	if err != nil {
		return nil, nil, err
	}
	p := &publisher{Options: Options{Environment: environment, Branch: revision}, git: g, folder: path.Join(tree.Folder, environment)}
	if err := p.checkTip(commit); err != nil {
		return nil, nil, err
	}
	if v.Source = commit.Trailers[trailerSource]; !g.HasObject(ctx, v.Source) {
		return nil, nil, fmt.Errorf("this clone does not have commit %s, the source of %s: run git fetch", v.Source, revision)
	}
	progress("checking out the source")
	dir, err := checkOut(ctx, g, v.Source)
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	source, err := render.Open(dir, repository.Kinds())
	if err != nil {
		return nil, nil, err
	}
	defer source.Close()
	problems, err := render.UpdateOne(ctx, source, environment, progress, func(e render.TreeUpdate) ([]manifest.Problem, error) {
		return nil, v.compare(ctx, g, p.folder, e.Plan.Files())
	})
	return v, problems, err
}

// compare compares the published files of a folder with rendered ones.
func (v *Verification) compare(ctx context.Context, g *git.Repository, folder string, rendered []tree.File) error {
	published, err := g.Files(ctx, v.Commit, ".")
	if err != nil {
		return err
	}
	for _, file := range rendered {
		name := path.Join(folder, file.Path)
		switch is, ok := published[name]; {
		case !ok:
			v.Differences = append(v.Differences, Difference{name, "is rendered, and not published"})
		case !is.IsRegular() || is.OID != g.Hash(file.Content):
			v.Differences = append(v.Differences, Difference{name, "is published with another content than is rendered"})
		}
		delete(published, name)
	}
	delete(published, metadataFile)
	for name := range published {
		v.Differences = append(v.Differences, Difference{name, "is published, and not rendered"})
	}
	slices.SortFunc(v.Differences, func(a, b Difference) int { return strings.Compare(a.File, b.File) })
	return nil
}

// checkOut writes the files of a commit, as committed, to a new temporary folder.
func checkOut(ctx context.Context, g *git.Repository, commit string) (dir string, err error) {
	files, err := g.Files(ctx, commit, ".")
	if err != nil {
		return "", err
	}
	var names, oids []string
	for name, file := range files {
		if file.IsRegular() || file.IsLink() {
			names, oids = append(names, name), append(oids, file.OID)
		}
	}
	contents, err := g.ReadFiles(ctx, oids)
	if err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "render-verify-"); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(dir) // no file of a commit is written outside
	if err != nil {
		return dir, err
	}
	defer root.Close()
	for i, name := range names {
		if err = root.MkdirAll(path.Dir(name), 0o755); err == nil && files[name].IsLink() {
			err = root.Symlink(string(contents[i]), name)
		} else if err == nil {
			err = root.WriteFile(name, contents[i], 0o644)
		}
		if err != nil {
			return dir, err
		}
	}
	return dir, nil
}
