// Package folder knows the folders in git that Flux and Argo CD build for an object: where they are, the kustomization
// that the tool builds there, with the setter of each line, and how the object points to rendered manifests instead.
package folder

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/delivery/applicationset"
	"example.com/gatehouse/render/delivery/resourceset"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// Place is a folder that a tool builds for an object, with the fields that change what it builds.
type Place struct {
	delivery.Overlay
	// Of is the object as it is in git or as a set makes it, and InCluster the same object as it is applied.
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
	// IsElsewhere reports whether another cluster or none gets the objects, and IsSuspended the latter.
	IsElsewhere, IsSuspended bool
	// DefaultNamespace is the namespace of objects without one, as Argo CD applies them.
	DefaultNamespace string

	// Application is the source of Argo CD. IsOverridden reports whether a file in the folder changes it, and
	// IsDirectory whether no kustomization counts.
	Application  application.Source
	IsOverridden bool
	IsDirectory  bool
	keeps        bool // Flux keeps objects that leave git
	deletion     string
	// Revision is the revision of the source if it is this repository, but not the tree.
	Revision string
}

// Prunes reports whether the tool deletes objects that leave git, or asks to.
func (p Place) Prunes() bool { return !p.keeps }

// Deletes reports whether Flux deletes the objects with their Kustomization: see GetDeletionPolicy in
// kustomize-controller.
func (p Place) Deletes() bool {
	return p.deletion != "Orphan" && (!p.keeps || p.deletion != "" && p.deletion != "MirrorPrune")
}

// Elsewhere returns the reason why this cluster does not get the objects, or nothing.
func (p Place) Elsewhere() string {
	switch {
	case p.Revision != "":
		return "its source is revision " + p.Revision + " of this repository: this change has no effect on it"
	case !p.IsElsewhere:
		return ""
	case p.IsSuspended:
		return "it is suspended: the cluster gets a change when somebody resumes it"
	}
	return "another cluster gets it"
}

// IsKustomization reports whether an object is a Kustomization of Flux.
func IsKustomization(o manifest.Object) bool {
	return o.GetKind() == "Kustomization" && manifest.Group(o.GetAPIVersion()) == "kustomize.toolkit.fluxcd.io"
}

// IsSet reports whether a controller makes objects of a template in an object: an ApplicationSet or a ResourceSet.
func IsSet(o manifest.Object) bool { return applicationset.Is(o) || resourceset.Is(o) }

// Delivers reports whether an object may deliver a folder, by itself or by an object that it makes.
func Delivers(o manifest.Object) bool {
	return IsKustomization(o) || delivery.IsApplication(o) || IsSet(o)
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

		DeletionPolicy string
	}
	if err := manifest.Decode(o.Object["spec"], &spec); err != nil {
		return nil
	}
	ref := spec.SourceRef
	return []Place{{
		Overlay: spec.Overlay, Of: o.Own(), InCluster: o, Field: "spec.path", Nth: -1,
		Folder: path.Join("/", spec.Path), IsFlux: true,
		Source: manifest.ID{Group: "source.toolkit.fluxcd.io", Kind: ref.Kind,
			Namespace: cmp.Or(ref.Namespace, o.GetNamespace()), Name: ref.Name},
		IsElsewhere: spec.Suspend || spec.KubeConfig != nil, IsSuspended: spec.Suspend && spec.KubeConfig == nil,
		keeps:       !spec.Prune,
		deletion:    spec.DeletionPolicy,
		IsDecrypted: spec.Decryption != nil,
	}}
}

// placesOfApplication returns the folders of an Application, also of charts and plugins: files decide.
func placesOfApplication(o manifest.Object) (all []Place) {
	a := application.Read(o)
	for _, s := range a.Sources {
		if s.Path == "" || s.Chart != "" {
			continue
		}
		p := Place{
			Of: a.Of, InCluster: o, Field: s.Field + ".path", Nth: s.Nth, Folder: s.Folder(),
			IsElsewhere: !delivery.IsInCluster(a.Name, a.Server), DefaultNamespace: a.Namespace, Application: s,
		}
		all = append(all, p.with(s))
	}
	return all
}

// From names the source of the place.
func (p Place) From() string {
	if p.IsFlux {
		return p.Source.String()
	}
	return p.Application.String()
}

// with returns the place with the fields of a source.
func (p Place) with(s application.Source) Place {
	p.Application = s
	if s.Kustomize != nil {
		p.Overlay = *s.Kustomize
	}
	return p
}

// Merge returns a place of Argo CD with the files in its folder that change it, and the tool that builds it.
func (p Place) Merge(files *source.FileSystem, origin application.Origin) (Place, application.Type, error) {
	s, built, err := p.Application.Merge(files, origin)
	p.IsOverridden = s.IsOverridden(files)
	p.IsDirectory = built == application.OfDirectory
	return p.with(s), built, err
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

// In returns a place of Flux in an artifact, whose files are below a folder.
func (p Place) In(root string) Place {
	p.Folder = path.Join(root, p.Folder)
	p.IsPart = true
	return p
}

// Included returns a place of Flux in the source that has its files: a GitRepository may include others in folders of
// its own (spec.include, and GetToPath in api/v1 of source-controller).
func (p Place) Included(source manifest.Object) Place {
	var spec struct {
		Include []struct {
			Repository       struct{ Name string }
			FromPath, ToPath string
		}
	}
	if source.Unstructured == nil || manifest.Decode(source.Object["spec"], &spec) != nil {
		return p
	}
	for _, included := range slices.Backward(spec.Include) {
		to := path.Join("/", cmp.Or(included.ToPath, included.Repository.Name))
		if within, isBelow := strings.CutPrefix(p.Folder+"/", strings.TrimSuffix(to, "/")+"/"); isBelow {
			p.Source.Name = included.Repository.Name
			p.Folder = path.Join("/", included.FromPath, within)
			p.IsPart = true
			return p
		}
	}
	return p
}

// TopOf returns the folder of the repository that a source has, by some folders of the source that an object in a file
// names: empty for all of the repository, see Resolve.
func TopOf(files *source.FileSystem, sourceKind, file string, named []string) string {
	for _, name := range named {
		resolved := Resolve(files, sourceKind, path.Dir(file), name)
		if top, isPart := strings.CutSuffix(resolved, "/"+name); isPart {
			return top
		}
	}
	return ""
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
