package render

import (
	"fmt"
	"path"
	"strings"

	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// openSource builds the folder of a source of an Application, unless a plugin or a chart makes its objects: package
// release has the charts.
func (f *following) openSource(d *Delivery, files *source.FileSystem) []manifest.Problem {
	s := d.Application
	why := f.world.origin.Elsewhere(s)
	if why != "" {
		d.Revision = f.world.origin.OtherRevision(s)
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
		if parameter.MatchString(d.Folder) || hint == "" && !f.world.origin.IsThis(s.RepoURL) {
			return nil // of another repository, perhaps
		}
		problems := d.refuse(d.Field, fmt.Errorf("no folder %s in this repository%s", s.Path, hint))
		problems[0].Warning = true
		return problems
	}
	return d.buildSource(files, f.world.origin)
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

// buildSource builds the folder of a source of an Application.
func (d *Delivery) buildSource(files *source.FileSystem, origin application.Origin) (problems []manifest.Problem) {
	s := d.Application
	if written, taken := s.Doubled(files); written != "" {
		problems = warning(d.Of, fmt.Sprintf("argocd.argoproj.io/manifest-generate-paths: Argo CD takes %s for %s, "+
			"which is not here, and misses changes: write /%s, or a path relative to %s", written, taken, written,
			s.Path))
	}
	place, built, err := d.Merge(files, origin)
	d.Place = place
	switch {
	case err != nil:
		return append(problems, d.refuse(s.Field, err)...)
	case built == application.OfPlugin:
		for _, name := range files.Files(d.Folder) { // it may read any
			_, _ = files.ReadAny("/" + name)
		}
		return append(problems, d.notJudged(place.Application.Maker)...)
	case built == application.OfHelm:
		return problems
	}
	if unknown := place.Application.Unknown; len(unknown) > 0 {
		d.unknown("the tag of an image is the commit: " + strings.Join(unknown, ", "))
	}
	if built != application.OfDirectory { // what a kustomization does not list counts as unread
		problems = append(problems, d.build(files)...)
		if d.paths != nil && !origin.Argo().LoadsAnywhere {
			problems = append(problems, d.restricted()...)
		}
		return problems
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

// restricted returns the warnings of files that Argo CD does not load by default.
func (d *Delivery) restricted() []manifest.Problem {
	return manifest.Each(d.sources.CheckRestricted(), func(p manifest.Problem) manifest.Problem {
		p.Warning = true
		p.Message += ", which Argo CD has by kustomize.buildOptions of the ConfigMap argocd-cm alone: copy the file " +
			"to the folder, or list the folder of the file"
		return p
	})
}

// sourceOrigin returns the facts that tell whether a source is the tree: the source of Flux that has the folder of the
// environment, and git or, without it, an Application that syncs the folder.
func (c *common) sourceOrigin(repository *Repository, objects []manifest.Object) (origin application.Origin) {
	if repository.options.Origin != nil {
		origin = repository.options.Origin()
	}
	origin.Argo = repository.argo
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
