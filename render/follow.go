package render

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/delivery/artifact"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/delivery/resourceset"
	"example.com/gatehouse/render/entry"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/fetched"
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
	whole      artifact.Files             // the files of artifact, once a generator needs them
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
		artifacts: map[manifest.ID]*generated{},
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

// isAgain reports whether an object of Argo CD is one that was followed before, with a namespace or without: Argo CD
// brings an ApplicationSet of its own that a person applied first.
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

// openForeign builds the folder of a delivery in another source, if it may be fetched.
func (f *following) openForeign(d *Delivery, files *source.FileSystem) []manifest.Problem {
	from, reason := folder.SourceOf(f.world.objects[d.Source])
	if !files.MayFetch(from) || reason != "" {
		why := otherRepository + ": " + d.Source.String()
		if files.IsFetching() {
			why = "not fetched: " + d.Source.String() + ": " + reason
		}
		d.unknown(why)
		f.foreign = append(f.foreign, d.Place)
		return nil
	}
	if problems := d.fetch(files, from); problems != nil {
		return problems
	}
	return d.build(files.InFetched(d.Folder))
}

// fetch sets the folder of a delivery to that in a source that is not in the tree. It returns a warning if it is not
// there.
func (d *Delivery) fetch(files *source.FileSystem, from fetched.Source) []manifest.Problem {
	got, err := files.Fetch(from)
	if err != nil {
		d.unknown(fetched.Reason(from.String(), err))
		return warning(d.Of, fmt.Sprintf("is not followed, as its source %s is not fetched: %v", from, err))
	}
	missing := "no such folder: " + source.Relative(d.Folder)
	if got.IsOwn {
		d.Revision = strings.TrimPrefix(strings.TrimPrefix(from.Version, "refs/heads/"), "refs/tags/")
		lookAt(d, files)
	}
	top := got.Path
	if !d.IsFlux {
		top = folder.Top(files, got)
		d.Application.Top = top
	}
	d.Folder = path.Join(top, d.Folder)
	if files.IsDir(d.Folder) {
		return nil
	}
	d.unknown(missing)
	return warning(d.Of, fmt.Sprintf("%s: no such folder in %s (%s)", d.Field, from, got.Resolved))
}

// notFollowed returns one warning about the places in other sources.
func notFollowed(foreign []folder.Place) []manifest.Problem {
	if len(foreign) == 0 {
		return nil
	}
	var names []string
	for _, p := range foreign {
		names = append(names, p.Of.GetName()+" in "+p.From())
	}
	problems := warning(foreign[0].Of, "is not judged: its objects are in another source than this repository: "+
		manifest.FirstOf(3, names))
	return manifest.Each(problems, func(p manifest.Problem) manifest.Problem { return p.Because("other sources") })
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

// isForeign reports whether another source than the environment's, own, has the folder of a place. An external
// artifact has parts of other sources, perhaps of this repository, and a source in the world may be this repository.
func (f *following) isForeign(p folder.Place, own manifest.ID) bool {
	isArtifact := p.Source.Kind == "ExternalArtifact"
	of, isThere := f.world.objects[p.Source]
	switch {
	case !p.IsFlux || p.IsElsewhere:
		return false
	case own != (manifest.ID{}) && !isArtifact:
		return p.Source != own && !f.world.isSame(p.Source, own)
	case f.files.IsDir(p.Folder) && !isThere:
		return false
	case f.files.IsDir(p.Folder):
		from, _ := folder.SourceOf(of)
		return from.IsGit && f.origin.Elsewhere(application.Source{RepoURL: from.Repository}) != ""
	}
	return isArtifact || isThere
}

// dropRepeated marks the objects of a delivery that the environment has already, and warns of them.
func (f *following) dropRepeated(d *Delivery) (warnings []manifest.Problem) {
	defer fault.Keep(&warnings, fault.In(d.Of.Committed()))
	applied := d.postBuild.Applied(d.known())
	shared := map[string][]string{} // equal objects, by the other delivery
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
		by, prunes := f.deliverer(other)
		isKept := delivery.Keeping(delivery.Settings(o.Unstructured, delivery.Flux, delivery.Argo)) != nil
		d.objects[i].differs = !reflect.DeepEqual(o.Object, other.Object)
		_, isDelivered := other.Delivery.(*Delivery)
		switch {
		case f.from.IsByHand() && !isDelivered: // people apply it once, and leave it to the delivery
		case d.objects[i].differs:
			where := f.locate(manifest.NewProblem(other, "", manifest.Value{}, "")).Position()
			p := d.Blame(manifest.NewProblem(o, "", manifest.Value{}, fmt.Sprintf("is in %s as well, with other "+
				"content: %s and %s apply one over the other, again and again; remove or rename one", where, d.Of,
				by)).As(manifest.DuplicateObject).Because("content of " + d.Of.String() + " and " + by))
			p.Warning = true
			warnings = append(warnings, p)
		case !isKept && (prunes || d.Prunes()):
			shared[by] = append(shared[by], o.String())
		}
	}
	for _, by := range slices.Sorted(maps.Keys(shared)) {
		p := warning(d.Of, fmt.Sprintf("delivers %s, as does %s: either may prune what the other still delivers; "+
			"leave it to one", manifest.FirstOf(3, shared[by]), by))[0]
		warnings = append(warnings, p.As(manifest.DuplicateObject).Because("pruned objects of "+by))
	}
	return blameDeliveries(warnings)
}

// deliverer names the delivery of an object of the environment, and reports whether it prunes objects.
func (f *following) deliverer(o manifest.Object) (name string, prunes bool) {
	if of, isDelivered := o.Delivery.(*Delivery); isDelivered {
		return of.Of.String(), of.Prunes()
	}
	if f.world.sync != nil {
		return f.world.sync.Of.String(), f.world.sync.Prunes()
	}
	return "the environment " + f.name, true
}

// open builds the folder of a delivery, unless it is of another repository, or another cluster or another environment
// gets its objects.
func (f *following) open(d *Delivery, files *source.FileSystem, own manifest.ID) []manifest.Problem {
	top, _, _ := strings.Cut(source.Relative(d.Folder), "/")
	above := strings.TrimSuffix(d.Folder, "/")
	isOwn := !f.from.IsByHand() && (f.isOwn(d.Folder) || isBelow(f.folder, above)) || isBelow(f.entry, above)
	isRendered := top == tree.Folder && !isBelow(d.Folder, f.renderedFolder()) // below, it is a delivery
	isThere := files.IsDir(d.Folder)
	switch {
	case !d.IsFlux && d.Application.CheckPath() != nil:
		return d.refuse(d.Field, d.Application.CheckPath())
	case isRendered, entry.EnvironmentOf(f.files, d.Folder) != "", isOwn: // an environment judges it
	case d.IsElsewhere:
		d.unknown(d.Elsewhere())
		lookAt(d, files)
	case !d.IsFlux:
		return f.openSource(d, files)
	case !isThere && d.artifact != nil:
		within := source.Relative(strings.TrimPrefix(d.Folder, strings.TrimSuffix(d.artifact.root, "/")))
		d.unknown("no such folder: " + within)
		return warning(d.Of, fmt.Sprintf("spec.path: no folder %s in %s", within, d.Source))
	case !isThere && (own != (manifest.ID{}) || IsFolder(f.name)):
		message := fmt.Sprintf("spec.path: no folder %s in this repository", source.Relative(d.Folder))
		d.unknown("no such folder: " + source.Relative(d.Folder))
		return warning(d.Of, message)
	case !isThere:
		d.unknown("no such folder: " + source.Relative(d.Folder))
	default:
		return d.build(files)
	}
	return nil
}

// lookAt looks at the files that a delivery would be built of: a change of these has no effect by it.
func lookAt(d *Delivery, files *source.FileSystem) {
	looking := *d
	_ = looking.build(files)
}

// openSource builds the folder of a source of an Application, unless a plugin or a chart makes its objects: package
// release has the charts.
func (f *following) openSource(d *Delivery, files *source.FileSystem) []manifest.Problem {
	s := d.Application
	why := f.origin.Elsewhere(s)
	if why != "" {
		d.Revision = f.origin.OtherRevision(s)
		if d.Revision != "" && !files.MayFetch(folder.SourceOfApplication(s)) {
			lookAt(d, files)
		}
		if isThere, problems := f.fetchElsewhere(d, files, why); !isThere {
			return problems
		}
		s = d.Application
	}
	if !files.IsDir(d.Folder) && files.Exists(d.Folder) {
		return d.refuse(d.Field, fmt.Errorf("%s is a file, and Argo CD reads folders: write %s", s.Path,
			path.Dir(s.Path)))
	}
	if !files.IsDir(d.Folder) {
		d.unknown("no such folder: " + source.Relative(d.Folder))
		missing, others := folder.Near(files, d.Folder)
		hint := ""
		if len(path.Base(missing)) > 3 {
			hint = manifest.DidYouMean(missing, others)
		}
		if parameter.MatchString(d.Folder) || hint == "" && !f.origin.IsThis(s.RepoURL) {
			return nil // of another repository, perhaps
		}
		problems := d.refuse(d.Field, fmt.Errorf("no folder %s in this repository%s", s.Path, hint))
		problems[0].Warning = true
		return problems
	}
	return d.buildSource(files)
}

// buildSource builds the folder of a source of an Application.
func (d *Delivery) buildSource(files *source.FileSystem) (problems []manifest.Problem) {
	s := d.Application
	if written, taken := s.Doubled(files); written != "" {
		problems = warning(d.Of, fmt.Sprintf("argocd.argoproj.io/manifest-generate-paths: Argo CD takes %s for %s, "+
			"which is not here, and misses changes: write /%s, or a path relative to %s", written, taken, written,
			s.Path))
	}
	place, built, err := d.Merge(files)
	d.Place = place
	switch {
	case err != nil:
		return append(problems, d.refuse(s.Field, err)...)
	case built == application.OfPlugin:
		return append(problems, d.notJudged(
			strings.TrimSuffix("a plugin makes its objects: "+place.Application.Plugin.Name, ": "))...)
	case built == application.OfHelm:
		return problems
	}
	if unknown := place.Application.Unknown; len(unknown) > 0 {
		d.unknown("the tag of an image is the commit: " + strings.Join(unknown, ", "))
	}
	if built != application.OfDirectory { // what a kustomization does not list counts as unread
		return append(problems, d.build(files)...)
	}
	listed := d.List(files)
	problems = append(problems, listed.Problems...)
	if len(listed.Jsonnet) > 0 {
		problems = append(problems, d.notJudged(
			"Argo CD runs jsonnet, and rendering does not: "+manifest.FirstOf(3, listed.Jsonnet))...)
	}
	if manifest.HasErrors(listed.Problems) || len(listed.Jsonnet) > 0 && len(listed.Resources) == 0 {
		return problems
	}
	return append(problems, d.build(files)...)
}

// fetchElsewhere fetches a source of an Application. It reports whether the folder is there.
func (f *following) fetchElsewhere(d *Delivery, files *source.FileSystem, why string) (isThere bool,
	problems []manifest.Problem) {
	from := folder.SourceOfApplication(d.Application)
	if !files.MayFetch(from) {
		d.unknown(why + ": " + d.Application.String())
		f.foreign = append(f.foreign, d.Place)
		return false, nil
	}
	problems = d.fetch(files, from)
	return problems == nil, problems
}

// notJudged adds the reasons for unknown objects of the delivery.
func (d *Delivery) notJudged(why ...string) []manifest.Problem {
	d.unknown(why...)
	return warning(d.Of, "is not judged: "+manifest.FirstOf(3, why))
}

// refuse returns a problem of a field that keeps the tool from building the folder.
func (d *Delivery) refuse(field string, err error) []manifest.Problem {
	return []manifest.Problem{d.locate(manifest.NewProblem(d.Of, field, manifest.Value{},
		fmt.Sprintf("%s: %v", field, err)).As(manifest.NotFollowed))}
}

// sourceOrigin returns the facts that tell whether a source is the tree: the source of Flux that has the folder of the
// environment, and git or, without it, an Application that syncs the folder.
func (c *common) sourceOrigin(repository *Repository, objects []manifest.Object) (origin application.Origin) {
	if repository.options.Origin != nil {
		origin = repository.options.Origin()
	}
	for _, o := range objects {
		if c.syncs(o) {
			origin.Own = folder.Places(o)[0].Source
		}
	}
	if len(origin.URLs) > 0 {
		return origin
	}
	for _, o := range objects {
		for _, s := range application.Read(o).Sources {
			if s.Path != "" && s.RepoURL != "" && c.isOwn(s.Folder()) {
				origin.URLs = append(origin.URLs, s.RepoURL)
			}
		}
	}
	return origin
}

// build builds the folder of a delivery, with the fields of its object as a kustomization.
func (d *Delivery) build(files *source.FileSystem) []manifest.Problem {
	overlay, err := d.Kustomization(files)
	if refused := new(delivery.RefusedError); errors.As(err, &refused) {
		return d.refuse(d.Application.Field+".kustomize."+refused.Field, err)
	}
	if err != nil {
		problems := d.refuse(d.Field, err)
		problems[0].Warning = !d.IsFlux && errors.Is(err, folder.ErrEmpty) // Argo CD syncs nothing, and is content
		return problems
	}
	if overlay.File != "" {
		files = files.With(overlay.Others).With(map[string][]byte{overlay.File: overlay.Content})
	}
	sources := source.Read(nil, d.shared, files, d.kinds.KustomizeConfig(), d.clusterOf, nil, d.Folder)
	absent, isNoneKnown := sources.AbsentReasons()
	if isNoneKnown {
		return d.notJudged(absent...)
	}
	d.unknown(absent...)
	d.input = &input{common: d.common, folder: d.Folder, sources: sources}
	d.overlay = overlay
	problems := slices.Concat(sources.Problems, sources.NumberProblems(), d.timeProblems())
	if kustomize.HasSchema(sources) {
		problems = append(problems, manifest.Problem{Code: manifest.InvalidKustomization,
			File:    source.Relative(sources.Kustomizations[d.Folder].File),
			Message: "openapi: render takes it only in the kustomization of an environment"})
	}
	problems = d.blame(problems)
	if manifest.HasErrors(problems) {
		return problems
	}
	return append(problems, d.buildFolder()...)
}

// warning returns a warning about a delivery.
func warning(o manifest.Object, message string) []manifest.Problem {
	p := manifest.NewProblem(o.Committed(), "", manifest.Value{}, message).As(manifest.NotFollowed)
	p.Warning = true
	return []manifest.Problem{p}
}

func (d *Delivery) buildFolder() []manifest.Problem {
	d.paths = kustomize.FindPaths(d.sources, d.Folder)
	objects, problems := d.buildObjects()
	problems = slices.DeleteFunc(problems, func(p manifest.Problem) bool { return p.Code == manifest.NoObjects })
	objects = slices.Clone(objects)
	isWhole := len(d.sources.Absent) == 0
	if manifest.HasErrors(problems) && !isWhole { // entries may need what is absent
		d.paths = nil
		return nil
	}
	if isWhole && !manifest.HasErrors(problems) && !d.options.NoWarnings {
		d.ineffective = kustomize.Ineffective(d.paths, "", slices.Clone(objects), nil)
	}
	for i := range objects {
		objects[i].Delivery = d
		objects[i].File = d.fromArtifact(objects[i].Origin)
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
func (e *Environment) filesRead() []string {
	files := e.root.sources.FS.FilesRead()
	if len(e.root.Children) > 0 {
		files = append(files, e.files.FilesRead()...)
	}
	slices.Sort(files)
	return slices.Compact(files)
}
