package render

import (
	"errors"
	"fmt"
	"path"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/render/delivery/artifact"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// generated is an artifact that source-watcher makes.
type generated struct {
	files artifact.Files
	// root is the folder of the files: where they are in the repository, if they are there at the same paths, or else a
	// folder that the repository does not have.
	root   string
	isMade bool // in such a folder
	tree   *source.FileSystem
	// unknown is the reason why the files are unknown.
	unknown string
}

// artifactsFolder has the artifacts whose files are at other paths in the repository.
const artifactsFolder = "/.gatehouse-artifacts"

// artifacts are the files of sources.
type artifacts struct {
	files *source.FileSystem // of the repository
	own   *source.FileSystem // files, without those that the source of the environment ignores
	// regular returns the regular files of own.
	regular func() artifact.Files
	made    map[manifest.ID]*generated // by ArtifactGenerators
}

// newArtifacts returns the files of a repository. The source of the environment may be nothing.
func newArtifacts(files *source.FileSystem, of manifest.Object) *artifacts {
	ignore := ""
	if of.Unstructured != nil {
		ignore, _, _ = unstructured.NestedString(of.Object, "spec", "ignore")
	}
	own := files.InArtifact(ignore)
	regular := func() artifact.Files {
		all := artifact.Files{}
		for _, name := range own.Regular("/") {
			all[name] = source.Link{From: []string{name}}
		}
		return all
	}
	return &artifacts{files: files, own: own, regular: sync.OnceValue(regular), made: map[manifest.ID]*generated{}}
}

// generate makes the artifacts of the ArtifactGenerators among the objects of a delivery.
func (f *following) generate(parent *Delivery) (problems []manifest.Problem) {
	for _, o := range parent.Applied() {
		if artifact.Is(o) {
			problems = append(problems, f.generateBy(o)...)
		}
	}
	return problems
}

func (f *following) generateBy(o manifest.Object) (problems []manifest.Problem) {
	defer fault.Keep(&problems, fault.In(o.Committed()))
	files := f.sources.files
	read := func(name string) ([]byte, error) { return files.ReadAny("/" + name) }
	file := f.locate(manifest.NewProblem(o, "", manifest.Value{}, "")).File
	made, err := artifact.Generate(o, file, f.filesOf, read)
	for name, links := range made {
		g := &generated{files: links}
		root, isThere := links.Root()
		g.root = root
		if !isThere {
			g.isMade = true
			g.root = path.Join(artifactsFolder, o.GetNamespace(), name)
		}
		g.tree = files.Only(links.In(g.root))
		f.sources.made[artifact.ID(o.GetNamespace(), name)] = g
	}
	if err == nil {
		return nil
	}
	why := fmt.Sprintf("artifact is not made: %s: %v", o, err)
	if other := (otherSource{}); errors.As(err, &other) {
		why = err.Error()
	}
	for _, name := range artifact.Names(o) {
		f.sources.made[artifact.ID(o.GetNamespace(), name)] = &generated{unknown: why}
	}
	if refused := new(field.Error); !errors.As(err, &refused) {
		return nil
	}
	problems = problemsOfErrors([]manifest.Object{o.Own()}, []error{err})
	for i := range problems {
		problems[i].Code = manifest.NotFollowed
		problems[i].Warning = f.own == manifest.ID{} // the files may be of another repository
	}
	return problems
}

// otherSource is the error of a source that is no part of this repository.
type otherSource struct{ manifest.ID }

// Error implements error.
func (s otherSource) Error() string { return "other repository: " + s.String() }

// filesOf returns the files of a source, if it is this repository, or an artifact that is made of it.
func (f *following) filesOf(id manifest.ID) (artifact.Files, error) {
	g := f.sources.made[id]
	isGit := id.Kind == "GitRepository" || id.Kind == "OCIRepository"
	switch {
	case g != nil && g.unknown != "":
		return nil, errors.New(g.unknown)
	case g != nil:
		return g.files, nil
	case !isGit || f.own != (manifest.ID{}) && id != f.own && !f.world.isSame(id, f.own):
		return nil, otherSource{id}
	}
	return f.sources.regular(), nil
}

// resolve returns a place with its folder in the files that have it.
func (f *following) resolve(p folder.Place) (folder.Place, *source.FileSystem) {
	if !p.IsFlux {
		return p, f.sources.files
	}
	if g := f.sources.made[p.Source]; g != nil && g.tree != nil {
		return p.In(g.root), g.tree
	}
	p = p.Included(f.world.objects[p.Source])
	at := f.locate(manifest.NewProblem(p.Of, "", manifest.Value{}, ""))
	return p.Resolve(f.sources.files, at.File), f.sources.own
}

// openUnmade adds the reason for unknown files of a delivery.
func openUnmade(d *Delivery, _ *source.FileSystem) []manifest.Problem {
	d.unknown(d.artifact.unknown)
	return nil
}

// fromArtifact returns the file of the repository that a file of an artifact is made of; the last one, if it is made of
// several.
func (d *Delivery) fromArtifact(name string) string {
	if d.artifact == nil || !d.artifact.isMade {
		return name
	}
	links := d.artifact.files.In(d.artifact.root)
	if from := links["/"+name].From; len(from) > 0 {
		return from[len(from)-1]
	}
	return name
}
