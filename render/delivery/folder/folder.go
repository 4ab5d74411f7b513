// Package folder knows the folders in git that Flux and Argo CD build for an object: where they are, the kustomization
// that the tool builds there, with the setter of each line, and how the object points to rendered manifests instead.
package folder

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// Place is a folder that a tool builds for an object, with the fields that change what it builds.
type Place struct {
	delivery.Overlay
	// Of is the object as it is in git, and InCluster the same object as it is applied.
	Of, InCluster manifest.Object
	// Field is the field of the path.
	Field string
	// Nth counts the sources of an Application from 0. It is negative if there is one.
	Nth int
	// Folder is from the root, with a leading slash.
	Folder string
	// Source is the source of Flux.
	Source manifest.ID
	IsFlux bool
	// IsPart reports whether the source has a part of the repository, see Resolve.
	IsPart bool
	// IsDecrypted reports whether Flux decrypts files and objects.
	IsDecrypted bool
	// IsElsewhere reports whether another cluster or nobody gets the objects, and IsSuspended the latter.
	IsElsewhere, IsSuspended bool
	// DefaultNamespace is the namespace of objects without one, as Argo CD applies them.
	DefaultNamespace string

	directory *directory // of Argo CD
	keeps     bool       // Flux keeps objects that leave git
}

// Prunes reports whether the tool deletes objects that leave git, or asks to.
func (p Place) Prunes() bool { return !p.keeps }

// Elsewhere returns the reason why this cluster does not get the objects, or nothing.
func (p Place) Elsewhere() string {
	switch {
	case !p.IsElsewhere:
		return ""
	case p.IsSuspended:
		return "suspended: the cluster gets a change when somebody resumes it"
	}
	return "other cluster"
}

// directory has the fields of an Application for a folder without a kustomization.
type directory struct {
	Recurse          bool
	Include, Exclude string
}

// IsKustomization reports whether an object is a Kustomization of Flux.
func IsKustomization(o manifest.Object) bool {
	return o.GetKind() == "Kustomization" && manifest.Group(o.GetAPIVersion()) == "kustomize.toolkit.fluxcd.io"
}

// IsApplicationSet reports whether an object makes Applications of Argo CD.
func IsApplicationSet(o manifest.Object) bool {
	return o.GetKind() == "ApplicationSet" && manifest.Group(o.GetAPIVersion()) == "argoproj.io"
}

// Delivers reports whether an object may deliver a folder, by itself or by an Application that it makes.
func Delivers(o manifest.Object) bool {
	return IsKustomization(o) || delivery.IsApplication(o) || IsApplicationSet(o)
}

// Places returns the folders that a tool builds for an object. A field of a wrong type is an error of the definition.
func Places(o manifest.Object) []Place {
	switch {
	case IsKustomization(o):
		return placeOfKustomization(o)
	case delivery.IsApplication(o):
		return placesOfApplication(o)
	}
	return nil
}

func placeOfKustomization(o manifest.Object) []Place {
	var spec struct {
		delivery.Overlay
		SourceRef  struct{ Kind, Name, Namespace string }
		KubeConfig *struct{}
		Suspend    bool
		Prune      bool
		Decryption *struct{}
	}
	if err := manifest.Decode(o.Object["spec"], &spec); err != nil {
		return nil
	}
	ref := spec.SourceRef
	return []Place{{
		Overlay: spec.Overlay, Of: o.Committed(), InCluster: o, Field: "spec.path", Nth: -1,
		Folder: path.Join("/", spec.Path), IsFlux: true,
		Source: manifest.ID{Group: "source.toolkit.fluxcd.io", Kind: ref.Kind,
			Namespace: cmp.Or(ref.Namespace, o.GetNamespace()), Name: ref.Name},
		IsElsewhere: spec.Suspend || spec.KubeConfig != nil, IsSuspended: spec.Suspend && spec.KubeConfig == nil,
		keeps:       !spec.Prune,
		IsDecrypted: spec.Decryption != nil,
	}}
}

func placesOfApplication(o manifest.Object) (all []Place) {
	type applicationSource struct {
		Path, Chart  string
		Helm, Plugin *struct{}
		Kustomize    delivery.Overlay
		Directory    *directory
	}
	var spec struct {
		Source      *applicationSource
		Sources     []applicationSource
		Destination struct{ Name, Server, Namespace string }
	}
	if err := manifest.Decode(o.Object["spec"], &spec); err != nil {
		return nil
	}
	isAlone := len(spec.Sources) == 0 && spec.Source != nil
	if isAlone {
		spec.Sources = append(spec.Sources, *spec.Source)
	}
	to := spec.Destination
	of := o.Committed()
	if IsApplicationSet(of) { // it made the Application
		of = o
	}
	for i, s := range spec.Sources {
		if s.Path == "" || s.Chart != "" || s.Helm != nil || s.Plugin != nil {
			continue
		}
		field := fmt.Sprintf("spec.sources[%d].path", i)
		nth := i
		if isAlone {
			field = "spec.source.path"
			nth = -1
		}
		all = append(all, Place{
			Overlay: s.Kustomize, Of: of, InCluster: o, Field: field, Nth: nth, Folder: path.Join("/", s.Path),
			IsElsewhere: !delivery.IsInCluster(to.Name, to.Server), DefaultNamespace: to.Namespace,
			directory: cmp.Or(s.Directory, &directory{}),
		})
	}
	return all
}

// Resolve returns a place of Flux with its folder from the root of the repository. File has the object, relative to the
// root.
func (p Place) Resolve(files *source.FileSystem, file string) Place {
	within := source.Relative(p.Folder)
	resolved := Resolve(files, p.Source.Kind, path.Dir(file), within)
	p.Folder = path.Join("/", resolved)
	p.IsPart = resolved != within
	return p
}

// Resolve returns the path of a folder of a source from the root. An artifact often has a part of the repository: then
// it is in the first folder above its object that has the path.
func Resolve(files *source.FileSystem, sourceKind, above, name string) string {
	if sourceKind != "OCIRepository" && sourceKind != "ExternalArtifact" || files.IsDir(path.Join("/", name)) {
		return name
	}
	at := ""
	for part := range strings.SplitSeq(above, "/") {
		if at = path.Join(at, part); files.IsDir(path.Join("/", at, name)) {
			return path.Join(at, name)
		}
	}
	return name
}

// manifests returns the resources of the folder, which has no kustomization, as the tool lists them.
func (p Place) manifests(files *source.FileSystem) (resources []string) {
	if p.IsFlux {
		return files.Manifests(p.Folder)
	}
	var visit func(within string)
	visit = func(within string) {
		names, _ := files.List(path.Join(p.Folder, within)) // an unreadable folder has no files to build
		for _, name := range names {
			name = path.Join(within, name)
			switch isDir := files.IsDir(path.Join(p.Folder, name)); {
			case isDir && p.directory.Recurse && path.Base(name)[0] != '.':
				visit(name)
			case !isDir && (source.IsYAML(name) || path.Ext(name) == ".json") && p.directory.takes(name):
				resources = append(resources, "./"+name)
			}
		}
	}
	visit("")
	return resources
}

// takes reports whether Argo CD takes a file. It takes none whose patterns are not only of package path.
func (d directory) takes(name string) bool {
	matches := func(patterns string) bool {
		return slices.ContainsFunc(strings.Split(strings.Trim(patterns, "{}"), ","), func(pattern string) bool {
			ok, err := path.Match(pattern, name)
			return ok && err == nil
		})
	}
	return (d.Include == "" || matches(d.Include)) && (d.Exclude == "" || !matches(d.Exclude))
}
