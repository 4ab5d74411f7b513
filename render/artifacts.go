package render

import (
	"errors"
	"fmt"
	"path"

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

// generate makes the artifacts of the ArtifactGenerators among the objects of a delivery.
func (f *following) generate(parent *Delivery, own manifest.ID) (problems []manifest.Problem) {
	for _, o := range parent.Applied() {
		if artifact.Is(o) {
			problems = append(problems, f.generateBy(o, own)...)
		}
	}
	return problems
}

func (f *following) generateBy(o manifest.Object, own manifest.ID) (problems []manifest.Problem) {
	defer fault.Keep(&problems, fault.In(o.Committed()))
	file := f.locate(manifest.NewProblem(o.Committed(), "", manifest.Value{}, "")).File
	made, err := artifact.Generate(o, func(id manifest.ID, copied []string) (artifact.Files, error) {
		return f.filesOf(id, own, folder.TopOf(f.files, id.Kind, file, copied))
	}, func(name string) ([]byte, error) { return f.files.ReadAny("/" + name) })
	for name, files := range made {
		g := &generated{files: files}
		root, isThere := files.Root()
		g.root = root
		if !isThere {
			g.isMade = true
			g.root = path.Join(artifactsFolder, o.GetNamespace(), name)
		}
		g.tree = f.files.Only(files.In(g.root))
		f.artifacts[artifact.ID(o.GetNamespace(), name)] = g
	}
	if err == nil {
		return nil
	}
	why := fmt.Sprintf("artifact is not made: %s: %v", o, err)
	if other := (otherSource{}); errors.As(err, &other) {
		why = err.Error()
	}
	for _, name := range artifact.Names(o) {
		f.artifacts[artifact.ID(o.GetNamespace(), name)] = &generated{unknown: why}
	}
	if refused := new(field.Error); !errors.As(err, &refused) {
		return nil
	}
	problems = problemsOfErrors([]manifest.Object{o.Own()}, []error{err})
	for i := range problems {
		problems[i].Code = manifest.NotFollowed
		problems[i].Warning = own == manifest.ID{} // the files may be of another repository
	}
	return problems
}

// otherSource is the error of a source that is no part of this repository.
type otherSource struct{ manifest.ID }

// Error implements error.
func (s otherSource) Error() string { return "other repository: " + s.String() }

// filesOf returns the files of a source, if it is this repository, or a folder of it, or an artifact made of it.
func (f *following) filesOf(id, own manifest.ID, top string) (artifact.Files, error) {
	g := f.artifacts[id]
	isGit := id.Kind == "GitRepository" || id.Kind == "OCIRepository"
	switch {
	case g != nil && g.unknown != "":
		return nil, errors.New(g.unknown)
	case g != nil:
		return g.files, nil
	case !isGit || own != (manifest.ID{}) && id != own && !f.world.isSame(id, own):
		return nil, otherSource{id}
	}
	if f.whole[top] == nil {
		f.whole[top] = artifact.FilesIn(top, f.artifact.Regular("/"))
	}
	return f.whole[top], nil
}

// resolve returns a place with its folder in the files that have it.
func (f *following) resolve(p folder.Place) (folder.Place, *source.FileSystem) {
	if !p.IsFlux {
		return p, f.files
	}
	if g := f.artifacts[p.Source]; g != nil && g.tree != nil {
		return p.In(g.root), g.tree
	}
	p = p.Included(f.world.objects[p.Source])
	return p.Resolve(f.files, f.locate(manifest.NewProblem(p.Of, "", manifest.Value{}, "")).File), f.artifact
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
