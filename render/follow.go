package render

import (
	"bytes"
	"fmt"
	"path"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/delivery/artifact"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/delivery/resourceset"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/text"
	"example.com/gatehouse/render/tree"
)

// maxFollowed bounds the folders of an environment that are followed.
const maxFollowed = 2000

// isOwn reports whether a folder is the environment itself, before or after the cluster moves in.
func (c *common) isOwn(folder string) bool {
	return folder == c.home || folder == c.entry || folder == c.renderedFolder()
}

// renderedFolder returns the folder of the rendered files, from the root.
func (c *common) renderedFolder() string { return path.Join("/", tree.Folder, c.name) }

// following follows the deliveries of an environment to the folders of the repository.
type following struct {
	*input
	repository *Repository
	files      *source.FileSystem
	artifact   *source.FileSystem         // files, without those that the source of the environment ignores
	whole      map[string]artifact.Files  // the files of artifact by their top folder, once a generator needs them
	artifacts  map[manifest.ID]*generated // of ArtifactGenerators
	world      *world
	have       map[manifest.ID]manifest.Object
	ofArgo     map[manifest.ID][]manifest.Object // that were followed, by kind and name
	foreign    []folder.Place
	waiting    []*Delivery // sets whose inputs are in other objects
	count      int
	instances  func() []manifest.Object // of flux-operator, by all FluxInstances in files
	origin     application.Origin
}

// follow adds the deliveries among the applied objects of the entry, and among the objects that these deliver, from the
// folders of the repository, whose files are files. A folder below rendered/ or in environments/ is an environment of
// its own.
func (d *Delivery) follow(repository *Repository, files *source.FileSystem) (problems []manifest.Problem) {
	objects := d.Applied()
	f := &following{input: d.input, repository: repository, files: files, world: newWorld(objects, d.input),
		have: map[manifest.ID]manifest.Object{}, ofArgo: map[manifest.ID][]manifest.Object{},
		artifacts: map[manifest.ID]*generated{}, whole: map[string]artifact.Files{},
		origin:    d.sourceOrigin(repository, objects),
		instances: sync.OnceValue(func() []manifest.Object { return d.instanceObjects(repository.instances()) })}
	ignore := ""
	for _, o := range objects {
		f.have[o.IDInNamespace()] = o
		if o.ID() == f.world.own {
			ignore, _, _ = unstructured.NestedString(o.Object, "spec", "ignore")
		}
	}
	f.artifact = files.InArtifact(ignore)
	for level := []*Delivery{d}; len(level) > 0 || len(f.waiting) > 0; {
		own := f.world.own
		var next []*Delivery
		if len(level) == 0 {
			for _, set := range f.waiting { // for the objects with their inputs, which are all here now
				problems = append(problems, f.add(set, f.files, f.openSet)...)
				if set.isOpen() {
					next = append(next, set)
				}
			}
			f.waiting = nil
		}
		for _, parent := range level {
			problems = append(problems, f.generate(parent, own)...)
		}
		for _, parent := range level {
			found, isFull := f.followObjects(parent, own)
			problems = append(problems, found...)
			if isFull {
				return problems
			}
			next = append(next, parent.Children...)
		}
		for _, below := range f.byValues(next) {
			problems = append(problems, below.substitute(below.Place, f.world)...)
			problems = append(problems, f.dropRepeated(below)...)
			f.world.apply(below)
		}
		level = next
	}
	d.nameMade()
	d.sync = f.world.sync
	return append(problems, notFollowed(f.foreign)...)
}

// byValues returns deliveries, each after the deliveries of ConfigMaps with its values.
func (f *following) byValues(deliveries []*Delivery) (sorted []*Delivery) {
	isSorted := map[*Delivery]bool{}
	var add func(d *Delivery)
	add = func(d *Delivery) {
		if isSorted[d] || !slices.Contains(deliveries, d) {
			return
		}
		isSorted[d] = true
		for _, from := range d.PostBuild.SubstituteFrom {
			o, _, _ := f.world.values(from.Kind, d.Of.GetNamespace(), from.Name)
			of, _ := o.Delivery.(*Delivery)
			add(of)
		}
		sorted = append(sorted, d)
	}
	for _, d := range deliveries {
		add(d)
	}
	return sorted
}

// followObjects adds the deliveries among the objects of a parent. IsFull reports whether there are too many.
func (f *following) followObjects(parent *Delivery, own manifest.ID) (problems []manifest.Problem, isFull bool) {
	for _, o := range parent.Applied() {
		if f.isAgain(o) {
			continue
		}
		if folder.IsSet(o) {
			set := &Delivery{Place: folder.Place{Of: o.Own(), InCluster: o, IsFlux: resourceset.Is(o)}, Parent: parent}
			if resourceset.HasProviders(o) {
				f.waiting = append(f.waiting, set)
				continue
			}
			problems = append(problems, f.add(set, f.files, f.openSet)...)
		}
		refused := application.Read(o).Refused()
		if parent.isSet() {
			refused = parent.blame(refused)
		}
		problems = append(problems, refused...)
		for _, p := range folder.Places(o) {
			if parent.isWithin(o) {
				continue
			}
			if f.count == maxFollowed {
				found := warning(o, fmt.Sprintf("is not followed: the environment delivers more than %d folders",
					maxFollowed))
				parent.unknown("too many folders")
				return append(problems, found...), true
			}
			problems = append(problems, checkNames(p.Of, p, p.PostBuild.Substitute)...)
			open := func(d *Delivery, files *source.FileSystem) []manifest.Problem { return f.open(d, files, own) }
			f.findSource(p.Source, own)
			p, within := f.resolve(p)
			d := &Delivery{Place: p, Parent: parent, artifact: f.artifacts[p.Source]}
			switch {
			case d.artifact != nil && d.artifact.unknown != "":
				open = openUnmade
			case d.artifact == nil && f.isForeign(p, own):
				within = f.files
				open = f.openForeign
			}
			problems = append(problems, f.add(d, within, open)...)
		}
	}
	return problems, false
}

// isAgain reports whether an object of Argo CD was followed before, with a namespace or without: Argo CD brings an
// ApplicationSet of its own that a person applied first.
func (f *following) isAgain(o manifest.Object) bool {
	if !delivery.IsApplication(o) && (!folder.IsSet(o) || resourceset.Is(o)) {
		return false
	}
	id := manifest.ID{Kind: o.GetKind(), Name: o.GetName()}
	isSame := func(other manifest.Object) bool {
		return other.GetNamespace() != o.GetNamespace() && (other.GetNamespace() == "" || o.GetNamespace() == "") &&
			reflect.DeepEqual(other.Object["spec"], o.Object["spec"])
	}
	if slices.ContainsFunc(f.ofArgo[id], isSame) {
		return true
	}
	f.ofArgo[id] = append(f.ofArgo[id], o)
	return false
}

// isWithin reports whether an object delivers the delivery, or one around it, as an Application that brings itself. Its
// namespace may be Argo CD's choice.
func (d *Delivery) isWithin(o manifest.Object) bool {
	for ; !d.isEntry(); d = d.Parent {
		isOf := d.Of.GroupVersionKind() == o.GroupVersionKind() && d.Of.GetName() == o.GetName()
		if isOf && reflect.DeepEqual(d.Of.Object["spec"], o.Object["spec"]) {
			return true
		}
	}
	return false
}

// add opens a delivery, and adds it to its parent.
func (f *following) add(d *Delivery, files *source.FileSystem,
	open func(*Delivery, *source.FileSystem) []manifest.Problem) []manifest.Problem {
	within, looks := files.Noting()
	d.Looks, d.input = looks, f.input
	problems := d.guarded(open, within)
	for _, p := range problems {
		if !p.Warning {
			d.unknown("error: " + p.Message)
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

// findSource adds a source to the world that nothing here has brought, and a FluxInstance in a file of the repository
// makes: a delivery of this source may bring that instance.
func (f *following) findSource(id, own manifest.ID) {
	if _, isThere := f.world.objects[id]; isThere || own == (manifest.ID{}) || own == id {
		return
	}
	for _, o := range f.instances() {
		if o.ID() == id {
			f.world.objects[id] = o
		}
	}
}

// instances returns the FluxInstances in the files of the repository.
func (r *Repository) instances() (all []manifest.Object) {
	source.EachYAML(r.files, tree.Folder, func(_ string, content []byte) {
		if !bytes.Contains(content, []byte("FluxInstance")) {
			return
		}
		defer fault.Catch(new(error)) // an unreadable file has none
		for _, d := range text.Split(content) {
			if root, err := d.Parse(); err == nil && root != nil {
				if o, err := manifest.FromYAML(root); err == nil && flux.IsInstance(o) {
					all = append(all, o)
				}
			}
		}
	})
	return all
}

// filesRead returns the source files of the environment and of followed folders, relative to the root.
func (e *Environment) filesRead() []string {
	files := e.root.sources.FS.FilesRead()
	if len(e.root.Children) > 0 {
		files = append(files, e.files.FilesRead()...)
	}
	slices.Sort(files)
	return slices.Compact(files)
}
