package render

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/entry"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/fetched"
	"example.com/gatehouse/render/tree"
)

// open builds the folder of a delivery, unless it is of another repository, or another cluster or another environment
// gets its objects.
func (f *following) open(d *Delivery, files *source.FileSystem) []manifest.Problem {
	// its folders may have the names of folders here
	isOther := !d.IsFlux && f.world.origin.IsOtherRepository(d.Application)
	isThere := files.IsDir(d.Folder)
	switch {
	case !d.IsFlux && d.Application.CheckPath() != nil:
		return d.refuse(d.Field, d.Application.CheckPath())
	case !isOther && f.isOnceMore(d):
		d.unknown("it delivers the folder of its cluster once more")
	case !isOther && f.isJudgedApart(d):
	case d.IsElsewhere:
		d.unknown(d.Elsewhere())
		lookAt(d, files)
	case !d.IsFlux:
		return f.openSource(d, files)
	case !isThere && d.artifact != nil:
		within := source.Relative(strings.TrimPrefix(d.Folder, strings.TrimSuffix(d.artifact.root, "/")))
		d.unknown("no such folder: " + within)
		return warning(d.Of, fmt.Sprintf("spec.path: no folder %s in %s", within, d.Source))
	case !isThere && (f.own != (manifest.ID{}) || IsFolder(f.name)):
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

// hasEntry reports whether a folder has the entry of the environment, or is it.
func (f *following) hasEntry(folder string) bool {
	above := strings.TrimSuffix(folder, "/")
	return !f.from.IsByHand() && (f.isOwn(folder) || isBelow(f.folder, above)) || isBelow(f.entry, above)
}

// isOnceMore reports whether a delivery of the folder of the environment, or of one above it, is another than its sync.
func (f *following) isOnceMore(d *Delivery) bool {
	isSync := !d.IsFlux || f.world.sync == nil || f.world.sync.Of.ID() == d.Of.ID()
	return f.hasEntry(d.Folder) && (!f.isOwn(d.Folder) || !isSync)
}

// isJudgedApart reports whether an environment judges the folder of a delivery: this one, or another.
func (f *following) isJudgedApart(d *Delivery) bool {
	top, _, _ := strings.Cut(source.Relative(d.Folder), "/")
	isRendered := top == tree.Folder && !isBelow(d.Folder, f.renderedFolder()) // below, it is a delivery
	return isRendered || entry.EnvironmentOf(f.sources.files, d.Folder) != "" || f.hasEntry(d.Folder)
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
	ignore, _, _ := unstructured.NestedString(f.world.objects[d.Source].Object, "spec", "ignore")
	return d.build(files.InFetched(d.Folder, ignore))
}

// isForeign reports whether another source than the environment's has the folder of a place. An external
// artifact has parts of other sources, perhaps of this repository, and a source in the world may be this repository.
func (f *following) isForeign(p folder.Place) bool {
	isArtifact := p.Source.Kind == "ExternalArtifact"
	of, isThere := f.world.objects[p.Source]
	isWholeImage := p.Source.Kind == "OCIRepository" && p.Folder == "/" // it mostly has a part of a repository
	switch {
	case !p.IsFlux || p.IsElsewhere:
		return false
	case f.own != (manifest.ID{}) && !isArtifact:
		return p.Source != f.own && !f.world.isSame(p.Source, f.own)
	case f.sources.files.IsDir(p.Folder) && !isThere:
		return false
	case f.sources.files.IsDir(p.Folder) && !isWholeImage:
		from, _ := folder.SourceOf(of)
		elsewhere := f.world.origin.Elsewhere(application.Source{RepoURL: from.Repository})
		return of.GetKind() == "GitRepository" && elsewhere != ""
	}
	return isArtifact || isThere
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

// lookAt looks at the files that a delivery would be built of: a change of these has no effect by it.
func lookAt(d *Delivery, files *source.FileSystem) {
	looking := *d
	_ = looking.build(files)
}

// build builds the folder of a delivery, with the fields of its object as a kustomization.
func (d *Delivery) build(files *source.FileSystem) []manifest.Problem {
	overlay, err := d.Kustomization(files)
	if refused := new(delivery.RefusedError); errors.As(err, &refused) {
		return d.refuse(d.Application.Field+".kustomize."+refused.Field, err)
	}
	if err != nil {
		problems := d.refuse(d.Field, err)
		isEmpty := !d.IsFlux && errors.Is(err, folder.ErrEmpty) // Argo CD syncs nothing, and is content
		problems[0].Warning = isEmpty
		if isEmpty && d.Parent.isSet() && d.HasPatterns() {
			return nil // the template of the set is for folders with manifests, and without
		}
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
	if d.IsDirectory { // of one object in two files Argo CD takes the last
		problems = slices.DeleteFunc(problems, func(p manifest.Problem) bool {
			return p.Code == manifest.DuplicateObject
		})
	}
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

func (d *Delivery) buildFolder() []manifest.Problem {
	d.paths = kustomize.FindPaths(d.sources, d.Folder)
	d.paths.IsDirectory = d.IsDirectory
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

// notJudged adds the reasons for unknown objects of the delivery.
func (d *Delivery) notJudged(why ...string) []manifest.Problem {
	d.unknown(why...)
	message := "is not judged: " + manifest.FirstOf(3, why)
	return []manifest.Problem{warning(d.Of, message)[0].Because(message)}
}

// refuse returns a problem of a field that keeps the tool from building the folder.
func (d *Delivery) refuse(field string, err error) []manifest.Problem {
	return []manifest.Problem{d.locate(manifest.NewProblem(d.Of, field, manifest.Value{},
		fmt.Sprintf("%s: %v", field, err)).As(manifest.NotFollowed))}
}

// warning returns a warning about a delivery.
func warning(o manifest.Object, message string) []manifest.Problem {
	p := manifest.NewProblem(o.Committed(), "", manifest.Value{}, message).As(manifest.NotFollowed)
	p.Warning = true
	return []manifest.Problem{p}
}
