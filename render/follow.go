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
	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verdict"
)

// followed is a folder of the repository that a tool builds and applies for an object of an environment: Flux for a
// Kustomization, Argo CD for an Application. Its objects are judged and compared as its own. They are
// written if that is a cluster.
type followed struct {
	*input
	folder.Place
	paths *kustomize.Paths
	built []manifest.Object
	// ineffective are the warnings of entries that change nothing.
	ineffective []manifest.Problem
	// whole are the objects as the tool applies them, with those that the environment has already.
	whole []manifest.Object
	// committed are all objects of the folder, with their variables.
	committed []manifest.Object
	// applied are the objects of built as the tool applies them, with the variables of unknown values.
	applied []manifest.Object
	// postBuild has the values of the variables in built, if Flux substitutes any.
	postBuild *flux.PostBuild
	// outer has the values of the variables in the object itself, if Flux substitutes any.
	outer *flux.PostBuild
	// overlay is the kustomization as the tool builds it; nil for an ApplicationSet.
	overlay *folder.Kustomization
	// rendered and stays are set by setRendered: the folder in rendered/NAME, or the reason to have none.
	rendered, stays string
}

// maxFollowed bounds the folders of an environment that are followed.
const maxFollowed = 2000

// isOwn reports whether a folder is the environment itself, before or after the cluster moves in.
func (in *input) isOwn(folder string) bool {
	return folder == in.folder || folder == in.entry || folder == in.renderedFolder()
}

// renderedFolder returns the folder of the rendered files, from the root.
func (in *input) renderedFolder() string { return path.Join("/", tree.Folder, in.name) }

// follow follows the deliveries among applied objects, and among the objects that these deliver, to the folders of the
// repository, whose files are files. A folder below rendered/ or in environments/ is an environment of its own. Untold
// are the paths that deliveries look at that are not followed.
func (in *input) follow(repository *Repository, files *source.FileSystem, objects []manifest.Object) (all folders,
	untold []*source.Looks, problems []manifest.Problem) {
	w, have := newWorld(objects, in), map[manifest.ID]manifest.Object{}
	ignore := ""
	for _, o := range objects {
		have[o.IDInNamespace()] = o
		if o.ID() == w.own {
			ignore, _, _ = unstructured.NestedString(o.Object, "spec", "ignore")
		}
	}
	artifact := files.InArtifact(ignore)
	add := func(f *followed, found []manifest.Problem, noted *source.Looks) {
		if f != nil {
			all = append(all, f)
			w.add(f.built, in)
		}
		if f == nil && len(found) > 0 || manifest.HasErrors(found) { // its objects are not known
			untold = append(untold, noted)
		}
		problems = append(problems, found...)
	}
	var foreign []folder.Place
	for next := objects; slices.ContainsFunc(next, folder.Delivers); {
		first, own := len(all), w.own
		for _, o := range next {
			if folder.IsApplicationSet(o) {
				within, noted := files.Noting()
				f, found := in.setOf(repository, within, o, w.clusters)
				add(f, found, noted)
			}
			for _, p := range folder.Places(o) {
				if len(all) == maxFollowed {
					found := warning(o, fmt.Sprintf("is not followed: the environment delivers more than %d folders",
						maxFollowed))
					return all, untold, append(problems, found...)
				}
				within := files
				if p.IsFlux {
					p = p.Resolve(files, in.locate(manifest.NewProblem(p.Of, "", manifest.Value{}, "")).File)
					within = artifact
				}
				if w.isForeign(p, own, files) {
					foreign = append(foreign, p)
					continue
				}
				within, noted := within.Noting()
				f, found := in.open(within, p, own)
				add(f, found, noted)
			}
		}
		next = nil
		for _, f := range all[first:] {
			problems = append(problems, f.setPostBuild(w)...)
			problems = append(problems, in.dropRepeated(f, have, w)...)
			next = append(next, f.applied...)
		}
	}
	return all, untold, append(problems, notFollowed(foreign)...)
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

// dropRepeated drops the objects of a folder that the environment has already, and warns where they differ.
func (in *input) dropRepeated(f *followed, have map[manifest.ID]manifest.Object,
	w *world) (warnings []manifest.Problem) {
	defer fault.Keep(&warnings, fault.In(f.Of.Committed()))
	var built, applied []manifest.Object
	f.whole = f.postBuild.Applied(f.built)
	for i, o := range f.whole {
		id := o.IDInNamespace()
		if o.GetNamespace() == "" && in.isNamespaced(o, w) {
			id.Namespace = cmp.Or(f.DefaultNamespace, id.Namespace)
		}
		other, isRepeated := have[id]
		if !isRepeated || flux.HasVariables(id.Name+id.Namespace) { // unknown values may make another name
			have[id] = o
			built, applied = append(built, f.built[i]), append(applied, o)
			continue
		}
		if !reflect.DeepEqual(o.Object, other.Object) {
			where := in.locate(manifest.NewProblem(other, "", manifest.Value{}, "")).Position()
			p := f.Blame(manifest.NewProblem(o, "", manifest.Value{}, fmt.Sprintf("is in %s as well, with other "+
				"content: the tool applies one over the other, again and again; remove or rename one", where)).
				As(manifest.DuplicateObject))
			p.Warning = true
			warnings = append(warnings, p)
		}
	}
	f.built, f.applied = built, applied
	return warnings
}

// open builds the folder of a place. It returns nothing if the folder is of another repository, or if another cluster
// or nobody gets its objects.
func (in *input) open(files *source.FileSystem, p folder.Place, own manifest.ID) (f *followed,
	problems []manifest.Problem) {
	defer fault.Keep(&problems, fault.In(p.Of.Committed()))
	top, _, _ := strings.Cut(source.Relative(p.Folder), "/")
	above := strings.TrimSuffix(p.Folder, "/")
	isOwn := in.isOwn(p.Folder) || isBelow(in.folder, above) || isBelow(in.entry, above)
	isRendered := top == tree.Folder && !isBelow(p.Folder, in.renderedFolder()) // below, it is a delivery
	switch {
	case isRendered, top == tree.EnvironmentsFolder, isOwn, p.IsElsewhere:
		return nil, nil
	case !files.IsDir(p.Folder) && p.IsFlux && (own != (manifest.ID{}) || IsFolder(in.name)):
		return nil, warning(p.Of, fmt.Sprintf("spec.path: no folder %s in this repository",
			source.Relative(p.Folder)))
	case !files.IsDir(p.Folder), !p.IsFlux && files.Exists(path.Join(p.Folder, chartutil.ChartfileName)):
		return nil, nil
	}
	return in.openFolder(files, p)
}

// openFolder builds the folder of a place, with the fields of its object as a kustomization.
func (in *input) openFolder(files *source.FileSystem, p folder.Place) (*followed, []manifest.Problem) {
	f := &followed{Place: p, outer: in.postBuild}
	if parent, isDelivered := p.Of.Delivery.(*followed); isDelivered {
		f.outer = parent.postBuild
	}
	var err error
	if f.overlay, err = p.Kustomization(files); err != nil {
		return nil, []manifest.Problem{in.locate(manifest.NewProblem(p.Of, p.Field, manifest.Value{},
			fmt.Sprintf("%s: %v", p.Field, err)).As(manifest.NotFollowed))}
	}
	if f.overlay.File != "" {
		files = files.With(map[string][]byte{f.overlay.File: f.overlay.Content})
	}
	child := *in
	child.folder, child.overrides, child.postBuild = p.Folder, "", nil
	child.sources = source.Read(nil, in.shared, files, in.kinds.KustomizeConfig(), clusterOf, nil, p.Folder)
	f.input = &child
	if remote := remoteEntries(child.sources); len(remote) > 0 {
		return nil, warning(p.Of, "is not judged: rendering reads only this repository, and its folder takes "+
			manifest.FirstOf(3, remote))
	}
	problems := slices.Concat(child.sources.Problems, child.sources.NumberProblems(), child.timeProblems())
	if kustomize.HasSchema(child.sources) {
		problems = append(problems, manifest.Problem{Code: manifest.InvalidKustomization,
			File:    source.Relative(child.sources.Kustomizations[p.Folder].File),
			Message: "openapi: render takes it only in the kustomization of an environment"})
	}
	problems = f.blame(problems)
	if manifest.HasErrors(problems) {
		return nil, problems
	}
	return f, append(problems, f.build()...)
}

func remoteEntries(s *source.Sources) (all []string) {
	for _, k := range s.Kustomizations {
		all = append(all, k.Remote...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// blame adds the source files and lines of problems.
func (f *followed) blame(problems []manifest.Problem) []manifest.Problem {
	return manifest.Each(problems, f.Blame)
}

// warning returns a warning about a delivery.
func warning(o manifest.Object, message string) []manifest.Problem {
	p := manifest.NewProblem(o.Committed(), "", manifest.Value{}, message).As(manifest.NotFollowed)
	p.Warning = true
	return []manifest.Problem{p}
}

func (f *followed) build() []manifest.Problem {
	f.paths = kustomize.FindPaths(f.sources, f.Folder)
	objects, problems := f.buildObjects(f.paths)
	problems = slices.DeleteFunc(problems, func(p manifest.Problem) bool { return p.Code == manifest.NoObjects })
	f.built = slices.Clone(objects)
	if !manifest.HasErrors(problems) && !f.isSilent {
		f.ineffective = kustomize.Ineffective(f.paths, "", objects, nil)
	}
	for i := range f.built {
		f.built[i].Delivery, f.built[i].File = f, f.built[i].Origin
		if f.hasMetadata() {
			o := f.built[i].Copy()
			f.CommonMetadata.SetIn(o)
			o.Unstructured = memo.Same(f.memo, o.Unstructured)
			o.Written = o.Unstructured
			f.built[i] = o
		}
	}
	f.committed = slices.Clone(f.built)
	return f.blame(problems)
}

// hasMetadata reports whether Flux sets metadata in the built objects.
func (f *followed) hasMetadata() bool {
	return len(f.CommonMetadata.Labels)+len(f.CommonMetadata.Annotations) > 0
}

// Object implements manifest.Delivery.
func (f *followed) Object() manifest.Object { return f.Of }

// Blame implements manifest.Delivery. It adds the source file and line, or those of the Kustomization if its own
// fields are to blame.
func (f *followed) Blame(p manifest.Problem) manifest.Problem {
	if f.isSet() {
		return f.blameSet(p)
	}
	p.Subject = p.Subject.Committed()
	if keys := f.CommonMetadata.Setter(p); keys != nil {
		return f.blameObject(p, manifest.JoinField(keys), p.Value, p.Object+": "+p.Message)
	}
	located := locate(f.input, f.paths, p)
	set := f.overlay.Setter(f.sources, located.File, located.Line)
	if located.Line = set.Line; set.Field == "" {
		return located
	}
	message := strings.TrimPrefix(located.Object+": "+located.Message, ": ")
	field := manifest.JoinField(append(manifest.SplitField(set.Field), set.Below...))
	if rest, ok := strings.CutPrefix(p.Field, set.Entry); ok {
		field = set.Field + rest
		message = field + strings.TrimPrefix(p.Message, p.Field)
	}
	return f.blameObject(p, field, set.Value, message)
}

// blameObject turns a problem into one of the field of the object that causes it.
func (f *followed) blameObject(p manifest.Problem, field string, value manifest.Value,
	message string) manifest.Problem {
	of := manifest.NewProblem(f.Of, field, value, message).As(p.Code)
	of.Warning = p.Warning
	if set, isMade := f.Of.Delivery.(*followed); isMade && set.isSet() {
		return set.Blame(of)
	}
	return of
}

// locateEntry returns an entry of a kustomization with its file and line or, if the object sets it, with the object and
// its field.
func (f *followed) locateEntry(at manifest.Problem) manifest.Problem {
	if f.isSet() {
		return at
	}
	set := f.overlay.EntrySetter(f.sources, at.File, at.Line)
	if at.Line = set.Line; set.Field == "" {
		return at
	}
	return manifest.NewProblem(f.Of, set.Field, manifest.Value{}, "")
}

// setNamespace gives objects without a namespace that of an Application.
func (f *followed) setNamespace(checker *verdict.Checker) {
	if f.DefaultNamespace == "" {
		return
	}
	for _, objects := range [][]manifest.Object{f.built, f.committed} {
		for i, o := range objects {
			objects[i] = checker.WithNamespace(o, f.DefaultNamespace)
		}
	}
	f.applied = f.built // Argo CD substitutes nothing
}

func (f *followed) checker(of *verdict.Checker) *verdict.Checker {
	checker := *of
	checker.PostBuild = f.postBuild
	return &checker
}

// folders are the followed folders of an environment.
type folders []*followed

func (fs folders) applied() (all []manifest.Object) {
	for _, f := range fs {
		all = append(all, f.applied...)
	}
	return all
}

func (b *built) judgeFollowed() (problems []manifest.Problem) {
	for _, f := range b.followed {
		_, found := f.checker(b.checker).Objects(f.built)
		if f.isSet() { // the API server warns its controller alone
			found = slices.DeleteFunc(found, func(p manifest.Problem) bool { return p.Code == manifest.APIWarning })
		}
		problems = append(problems, f.blame(found)...)
		for _, p := range f.blame(f.ineffective) {
			if p.Subject.Unstructured == nil || b.isWritten(f.Of, p.Field) {
				problems = append(problems, p)
			}
		}
	}
	return problems
}

// isWritten reports whether a source file of a delivery has a field. One that a patch adds to many deliveries may be
// for others.
func (b *built) isWritten(o manifest.Object, field string) bool {
	paths := b.paths
	if by, ok := o.Delivery.(*followed); ok {
		paths = by.paths
	}
	if paths == nil || paths.Find(o) == nil {
		return false
	}
	entry := field[:strings.LastIndex(field, "]")+1]
	_, value := node.Walk(paths.Find(o).Document.Node(), manifest.SplitField(entry), nil)
	return value != nil
}

// blameDeliveries turns problems of delivered objects into ones of their deliveries, or locates them in their files.
func blameDeliveries(problems []manifest.Problem) []manifest.Problem {
	return manifest.Each(problems, func(p manifest.Problem) manifest.Problem {
		for p.Subject.Delivery != nil && p.File == "" {
			p = p.Subject.Delivery.Blame(p)
		}
		return p
	})
}

// installed returns the objects as of releases.
func (fs folders) installed() (all []*release.Installed) {
	for _, f := range fs {
		all = append(all, &release.Installed{Release: release.Release{Source: f.Of}, Objects: f.applied})
	}
	return all
}

// filesRead returns the source files of the environment and of followed folders, relative to the root.
func (p *pipeline) filesRead() []string {
	files := p.sources.FS.FilesRead()
	if len(p.followed) > 0 {
		files = append(files, p.files.FilesRead()...)
	}
	slices.Sort(files)
	return slices.Compact(files)
}
