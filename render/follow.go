package render

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// maxFollowed bounds the folders of an environment that are followed.
const maxFollowed = 2000

// isOwn reports whether a folder is the environment itself, before or after the cluster moves in.
func (in *input) isOwn(folder string) bool {
	return folder == in.folder || folder == in.entry || folder == in.renderedFolder()
}

// renderedFolder returns the folder of the rendered files, from the root.
func (in *input) renderedFolder() string { return path.Join("/", tree.Folder, in.name) }

// following follows the deliveries of an environment to the folders of the repository.
type following struct {
	*input
	repository *Repository
	files      *source.FileSystem
	artifact   *source.FileSystem // files, without those that the source of the environment ignores
	world      *world
	have       map[manifest.ID]manifest.Object
	foreign    []folder.Place
	count      int
}

// follow adds the deliveries among the applied objects of the entry, and among the objects that these deliver, from the
// folders of the repository, whose files are files. A folder below rendered/ or in environments/ is an environment of
// its own.
func (in *input) follow(repository *Repository, files *source.FileSystem,
	entry *Delivery) (problems []manifest.Problem) {
	objects := entry.Applied()
	f := &following{input: in, repository: repository, files: files, world: newWorld(objects, in),
		have: map[manifest.ID]manifest.Object{}}
	ignore := ""
	for _, o := range objects {
		f.have[o.IDInNamespace()] = o
		if o.ID() == f.world.own {
			ignore, _, _ = unstructured.NestedString(o.Object, "spec", "ignore")
		}
	}
	f.artifact = files.InArtifact(ignore)
	for level := []*Delivery{entry}; len(level) > 0; {
		own := f.world.own
		var next []*Delivery
		for _, parent := range level {
			found, isFull := f.followObjects(parent, own)
			problems = append(problems, found...)
			if isFull {
				return problems
			}
			next = append(next, parent.Children...)
		}
		for _, d := range next {
			problems = append(problems, d.substitute(d.Place, f.world)...)
			problems = append(problems, f.dropRepeated(d)...)
		}
		level = next
	}
	return append(problems, notFollowed(f.foreign)...)
}

// followObjects adds the deliveries among the objects of a parent. IsFull reports whether there are too many.
func (f *following) followObjects(parent *Delivery, own manifest.ID) (problems []manifest.Problem, isFull bool) {
	for _, o := range parent.Applied() {
		if folder.IsApplicationSet(o) {
			set := &Delivery{Place: folder.Place{Of: o.Committed(), InCluster: o}, Parent: parent}
			problems = append(problems, f.add(set, f.files, f.openSet)...)
		}
		for _, p := range folder.Places(o) {
			if f.count == maxFollowed {
				found := warning(o, fmt.Sprintf("is not followed: the environment delivers more than %d folders",
					maxFollowed))
				parent.unknown("it delivers more folders than are followed")
				return append(problems, found...), true
			}
			within := f.files
			if p.IsFlux {
				p = p.Resolve(f.files, f.locate(manifest.NewProblem(p.Of, "", manifest.Value{}, "")).File)
				within = f.artifact
			}
			d := &Delivery{Place: p, Parent: parent}
			open := func(d *Delivery, files *source.FileSystem) []manifest.Problem { return f.open(d, files, own) }
			if f.world.isForeign(p, own, f.files) {
				f.foreign = append(f.foreign, p)
				open = openForeign
			}
			problems = append(problems, f.add(d, within, open)...)
		}
	}
	return problems, false
}

// add opens a delivery, and adds it to its parent.
func (f *following) add(d *Delivery, files *source.FileSystem,
	open func(*Delivery, *source.FileSystem) []manifest.Problem) []manifest.Problem {
	within, looks := files.Noting()
	d.Looks, d.input = looks, f.input
	problems := d.guarded(open, within)
	for _, p := range problems {
		if !p.Warning {
			d.unknown(p.Message)
		}
	}
	if d.isOpen() || len(d.Unknown) > 0 {
		d.Parent.Children = append(d.Parent.Children, d)
	}
	if d.isOpen() {
		f.count++
		f.world.add(d.known(), f.input)
	}
	return problems
}

// guarded opens a delivery. A panic is a problem of it alone.
func (d *Delivery) guarded(open func(*Delivery, *source.FileSystem) []manifest.Problem,
	files *source.FileSystem) (problems []manifest.Problem) {
	defer fault.Part(&problems, fault.In(d.Of.Committed()))()
	return open(d, files)
}

// openForeign says that the objects of a delivery are in another source.
func openForeign(d *Delivery, _ *source.FileSystem) []manifest.Problem {
	d.unknown("its source is " + d.Source.String() + ", which is not this repository")
	return nil
}

// notFollowed returns one warning about the places in other sources.
func notFollowed(foreign []folder.Place) []manifest.Problem {
	if len(foreign) == 0 {
		return nil
	}
	var names []string
	for _, p := range foreign {
		names = append(names, p.Of.GetName()+" in "+p.Source.String())
	}
	return warning(foreign[0].Of, "is not followed, as its objects are in another source than this repository: "+
		manifest.FirstOf(3, names))
}

// isForeign reports whether another source than that of the environment, own, has the folder of a place. An external
// artifact has parts of other sources, perhaps of this repository, and a source in the world may be this repository.
func (w *world) isForeign(p folder.Place, own manifest.ID, files *source.FileSystem) bool {
	isArtifact := p.Source.Kind == "ExternalArtifact"
	_, isThere := w.objects[p.Source]
	switch {
	case !p.IsFlux || p.IsElsewhere:
		return false
	case own != (manifest.ID{}) && !isArtifact:
		return p.Source != own
	case files.IsDir(p.Folder):
		return false
	}
	return isArtifact || isThere
}

// dropRepeated marks the objects of a delivery that the environment has already, and warns where they differ.
func (f *following) dropRepeated(d *Delivery) (warnings []manifest.Problem) {
	defer fault.Keep(&warnings, fault.In(d.Of.Committed()))
	applied := d.postBuild.Applied(d.known())
	for i, o := range applied {
		d.objects[i].applied = o
		id := o.IDInNamespace()
		if o.GetNamespace() == "" && f.isNamespaced(o, f.world) {
			id.Namespace = cmp.Or(d.DefaultNamespace, id.Namespace)
		}
		other, isRepeated := f.have[id]
		if !isRepeated || flux.HasVariables(id.Name+id.Namespace) { // unknown values may make another name
			f.have[id] = o
			continue
		}
		d.objects[i].isRepeated = true
		if !reflect.DeepEqual(o.Object, other.Object) {
			d.objects[i].differs = true
			where := f.locate(manifest.NewProblem(other, "", manifest.Value{}, "")).Position()
			p := d.Blame(manifest.NewProblem(o, "", manifest.Value{}, fmt.Sprintf("is in %s as well, with other "+
				"content: the tool applies one over the other, again and again; remove or rename one", where)).
				As(manifest.DuplicateObject))
			p.Warning = true
			warnings = append(warnings, p)
		}
	}
	return warnings
}

// open builds the folder of a delivery, unless it is of another repository, or another cluster or another environment
// gets its objects.
func (f *following) open(d *Delivery, files *source.FileSystem, own manifest.ID) []manifest.Problem {
	top, _, _ := strings.Cut(source.Relative(d.Folder), "/")
	above := strings.TrimSuffix(d.Folder, "/")
	isOwn := f.isOwn(d.Folder) || isBelow(f.folder, above) || isBelow(f.entry, above)
	isRendered := top == tree.Folder && !isBelow(d.Folder, f.renderedFolder()) // below, it is a delivery
	isThere := files.IsDir(d.Folder)
	switch {
	case isRendered, top == tree.EnvironmentsFolder, isOwn: // an environment judges it
	case d.IsElsewhere:
		d.unknown("another cluster gets it")
	case !isThere && d.IsFlux && (own != (manifest.ID{}) || IsFolder(f.name)):
		message := fmt.Sprintf("spec.path: no folder %s in this repository", source.Relative(d.Folder))
		d.unknown(message)
		return warning(d.Of, message)
	case !isThere:
		d.unknown("its folder is not in this repository")
	case !d.IsFlux && files.Exists(path.Join(d.Folder, chartutil.ChartfileName)): // see package release
	default:
		return d.build(files)
	}
	return nil
}

// build builds the folder of a delivery, with the fields of its object as a kustomization.
func (d *Delivery) build(files *source.FileSystem) []manifest.Problem {
	overlay, err := d.Kustomization(files)
	if err != nil {
		return []manifest.Problem{d.locate(manifest.NewProblem(d.Of, d.Field, manifest.Value{},
			fmt.Sprintf("%s: %v", d.Field, err)).As(manifest.NotFollowed))}
	}
	if overlay.File != "" {
		files = files.With(map[string][]byte{overlay.File: overlay.Content})
	}
	child := *d.input
	child.folder = d.Folder
	child.overrides = ""
	child.postBuild = nil
	child.sources = source.Read(nil, d.shared, files, d.kinds.KustomizeConfig(), clusterOf, nil, d.Folder)
	if remote := remoteEntries(child.sources); len(remote) > 0 {
		message := "is not judged: rendering reads only this repository, and its folder takes " +
			manifest.FirstOf(3, remote)
		d.unknown(message)
		return warning(d.Of, message)
	}
	d.input = &child
	d.overlay = overlay
	problems := slices.Concat(child.sources.Problems, child.sources.NumberProblems(), child.timeProblems())
	if kustomize.HasSchema(child.sources) {
		problems = append(problems, manifest.Problem{Code: manifest.InvalidKustomization,
			File:    source.Relative(child.sources.Kustomizations[d.Folder].File),
			Message: "openapi: render takes it only in the kustomization of an environment"})
	}
	problems = d.blame(problems)
	if manifest.HasErrors(problems) {
		return problems
	}
	return append(problems, d.buildFolder()...)
}

func remoteEntries(s *source.Sources) (all []string) {
	for _, k := range s.Kustomizations {
		all = append(all, k.Remote...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// warning returns a warning about a delivery.
func warning(o manifest.Object, message string) []manifest.Problem {
	p := manifest.NewProblem(o.Committed(), "", manifest.Value{}, message).As(manifest.NotFollowed)
	p.Warning = true
	return []manifest.Problem{p}
}

func (d *Delivery) buildFolder() []manifest.Problem {
	d.paths = kustomize.FindPaths(d.sources, d.Folder)
	objects, problems := d.buildObjects(d.paths)
	problems = slices.DeleteFunc(problems, func(p manifest.Problem) bool { return p.Code == manifest.NoObjects })
	objects = slices.Clone(objects)
	if !manifest.HasErrors(problems) && !d.isSilent {
		d.ineffective = kustomize.Ineffective(d.paths, "", slices.Clone(objects), nil)
	}
	for i := range objects {
		objects[i].Delivery = d
		objects[i].File = objects[i].Origin
		if d.hasMetadata() {
			o := objects[i].Copy()
			d.CommonMetadata.SetIn(o)
			o.Unstructured = memo.Same(d.memo, o.Unstructured)
			o.Written = o.Unstructured
			objects[i] = o
		}
	}
	d.setBuilt(objects)
	return d.blame(problems)
}

// filesRead returns the source files of the environment and of followed folders, relative to the root.
func (p *pipeline) filesRead() []string {
	files := p.sources.FS.FilesRead()
	if len(p.root.Children) > 0 {
		files = append(files, p.files.FilesRead()...)
	}
	slices.Sort(files)
	return slices.Compact(files)
}
