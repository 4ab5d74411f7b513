package render

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/tree"
)

// A cluster is rendered with all that its deliveries bring: each has a folder in the folder of the environment, and its
// object points to that folder, without the fields that the rendered objects show. The other fields stay, as does all
// that the tool knows its objects by. So the cluster moves in, or out, by the path of its own sync.

// The fields of a Kustomization of Flux, and of kustomize in a source of an Application, that rendered objects show.
var (
	shownByFlux = strings.Fields("buildMetadata commonMetadata components ignoreMissingComponents images namePrefix " +
		"nameSuffix patches targetNamespace")
	shownByArgo = strings.Fields("components ignoreMissingComponents images namePrefix nameSuffix namespace patches " +
		"replicas")
)

// shown returns the mapping of a delivery with the path, and the mapping with the fields that rendered objects show.
func (p place) shown(o manifest.Object) (at, fields map[string]any) {
	spec, _ := o.Object["spec"].(map[string]any)
	if p.isFlux {
		return spec, spec
	}
	if at, _ = spec["source"].(map[string]any); p.nth >= 0 {
		sources, _ := spec["sources"].([]any)
		at, _ = sources[p.nth].(map[string]any)
	}
	fields, _ = at["kustomize"].(map[string]any)
	return at, fields
}

// pointTo makes a delivery point to a folder with its rendered objects.
func (p place) pointTo(o manifest.Object, folder string) {
	at, fields := p.shown(o)
	names := shownByArgo
	if p.isFlux {
		folder, names = "./"+folder, shownByFlux
	}
	at["path"] = folder
	for _, name := range names {
		delete(fields, name)
	}
	if p.isFlux {
		return
	}
	delete(at, "directory") // Argo CD would not read the index
	if len(fields) == 0 {
		delete(at, "kustomize")
	}
}

// staysFor returns the reason that a delivery stays as it is in git, or nothing.
func (f *followed) staysFor() string {
	parent, isDelivered := f.object.Delivery.(*followed)
	switch {
	case isDelivered && parent.isSet():
		return "an ApplicationSet makes it"
	case isDelivered && parent.staysFor() != "":
		return "it is in the folder of " + parent.object.GetName()
	case f.isPart:
		return "its source has a part of the repository"
	case f.merged["buildMetadata"] != nil:
		return "its objects have annotations of their build"
	case f.isDecrypted && f.generatesSecrets():
		return "the hash in the name of a Secret is that of its decrypted files"
	}
	return f.unsureField()
}

// unsureField returns the reason why the value of a field that rendered files would show is unknown, or nothing.
func (f *followed) unsureField() string {
	hasUnknown := f.outer != nil && f.outer.Values == nil
	_, fields := f.shown(f.inCluster)
	for _, name := range slices.Concat(shownByFlux, shownByArgo) {
		switch value := fields[name]; {
		case value == nil:
		case hasUnknown && flux.HasVariables(value):
			return name + " has variables of unknown values"
		case name == "commonMetadata" && (flux.HasVariables(value) || strings.Contains(fmt.Sprint(value), flux.Switch)):
			return "commonMetadata has a variable or " + flux.Switch
		case !f.isFlux && strings.ContainsAny(fmt.Sprint(value), "$*"):
			return name + " has variables of Argo CD"
		}
	}
	return ""
}

// generatesSecrets reports whether kustomize generates a Secret from files.
func (f *followed) generatesSecrets() bool {
	for _, k := range f.sources.Kustomizations {
		if len(k.SecretGenerator) > 0 {
			return true
		}
	}
	return false
}

// isSet reports whether the object is an ApplicationSet, which has no folder.
func (f *followed) isSet() bool { return f.place.folder == "" }

// writtenTo returns the folder of the rendered objects of a delivery, in the folder of the environment. It is empty for
// one that stays as it is.
func (p *pipeline) writtenTo(f *followed) string {
	if p.entry == "" || f.isSet() || f.staysFor() != "" {
		return ""
	}
	o := f.inCluster
	if parent, isDelivered := f.object.Delivery.(*followed); isDelivered && parent.namespace != "" {
		o = p.checker.WithNamespace(o, parent.namespace)
	}
	folder := tree.DeliveryFolder(o, p.checker.IsNamespaced)
	if f.nth >= 0 {
		folder = path.Join(folder, strconv.Itoa(f.nth))
	}
	return folder
}

// followedFolders returns the followed folders, without ApplicationSets.
func (p *pipeline) followedFolders() (all []Followed) {
	for _, f := range p.followed {
		if f.isSet() {
			continue
		}
		of := Followed{Delivery: f.inCluster, Folders: []string{f.place.folder}, Objects: f.applied,
			PostBuild: f.postBuild}
		if folder := p.writtenTo(f); folder != "" {
			of.Folders = append(of.Folders, path.Join(p.renderedFolder(), folder))
		}
		all = append(all, of)
	}
	return all
}

// asWritten returns an object as it is in rendered/: a delivery points to its folders there.
func (p *pipeline) asWritten(o manifest.Object) manifest.Object {
	if p.entry == "" || !isFollowed(o) {
		return o
	}
	written := o.Copy()
	for _, f := range p.followed {
		if f.isSet() || !f.isOf(o) {
			continue
		}
		if folder := p.writtenTo(f); folder != "" {
			f.pointTo(written, path.Join(tree.Folder, p.name, folder))
		}
	}
	return written
}

// isOf reports whether an object is the delivery, with its variables or without, perhaps in a second folder.
func (f *followed) isOf(o manifest.Object) bool {
	is, of := f.object.ID(), o.Committed().ID()
	if is.Namespace == "" { // Argo CD applies it to a namespace
		of.Namespace = ""
	}
	return f.inCluster.IDInNamespace() == o.IDInNamespace() || is == of && f.object.Delivery == o.Delivery
}

// Delivers reports whether objects in a folder deliver other folders of the repository.
func (r *Repository) Delivers(folder string) bool {
	in, problems := readInput(r, folder, nil)
	if manifest.HasErrors(problems) {
		return false
	}
	b, _ := in.build(r) // rendering reports the problems
	return slices.ContainsFunc(b.followed, func(f *followed) bool { return !f.isSet() && f.staysFor() == "" })
}

// PlainCluster is PlainBuild for the entry of a cluster and its deliveries, which point to rendered/.
func (r *Repository) PlainCluster(environment string) (objects []manifest.Object, err error) {
	in, _ := readInput(r, environment, nil) // rendering reports the problems
	p := &pipeline{input: in}
	p.built, _ = p.build(r)
	if objects, err = plainObjects(in.sources, in.folder); err != nil {
		return nil, err
	}
	for _, f := range p.followed {
		if p.writtenTo(f) == "" {
			continue
		}
		all, err := plainObjects(f.sources, f.place.folder)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.object, err)
		}
		for _, o := range all {
			if o.Delivery = f; f.namespace != "" {
				o = p.checker.WithNamespace(o, f.namespace)
			}
			objects = append(objects, o)
		}
	}
	for i := range objects {
		objects[i] = p.asWritten(objects[i])
	}
	return objects, nil
}

// layOutDelivered returns the files of the deliveries of a cluster, with an index for each.
func (p *pipeline) layOutDelivered() (files []tree.File, problems []manifest.Problem) {
	if p.entry == "" {
		return nil, nil
	}
	found, wrong := make([][]tree.File, len(p.followed)), make([][]manifest.Problem, len(p.followed))
	parallel.For(len(p.followed), func(i int) {
		if folder := p.writtenTo(p.followed[i]); folder != "" {
			found[i], wrong[i] = p.layOutFolder(p.followed[i], folder)
		}
	})
	var stay []string
	for _, f := range p.followed {
		if f.isSet() || f.staysFor() == "" {
			continue
		}
		stay = append(stay, fmt.Sprintf("%s (%s)", f.object.GetName(), f.staysFor()))
		if len(stay) == 1 {
			problems = warning(f.object, "")
		}
	}
	if len(stay) > 0 {
		problems[0].Message = "stays out of rendered/, and syncs its folder as before: " + manifest.FirstOf(5, stay)
	}
	return slices.Concat(found...), append(problems, slices.Concat(wrong...)...)
}

// layOutFolder returns the files of a delivery, in a folder in the folder of the environment.
func (p *pipeline) layOutFolder(f *followed, folder string) (files []tree.File, problems []manifest.Problem) {
	placed := tree.Layout(f.committed, p.checker.IsNamespaced)
	problems = p.duplicates(placed)
	names, paths := make([]string, len(placed)), map[manifest.ID]string{}
	for i, o := range placed {
		content, err := p.asWritten(o.Object).YAML()
		if p.isSource(o.Object) {
			err = fmt.Errorf("nothing is rendered from it in the folder of %s: list it in environments/%s", f.object,
				p.name)
		}
		problems = append(problems, problemsOfErrors([]manifest.Object{o.Object}, []error{err})...)
		names[i], paths[o.ID()] = o.Path, path.Join(tree.Folder, p.name, folder, o.Path)
		files = append(files, tree.File{Path: path.Join(folder, o.Path), Content: content})
	}
	for i, o := range f.applied {
		f.applied[i] = p.asWritten(o)
		f.applied[i].File = paths[o.Committed().ID()]
	}
	return append(files, tree.File{Path: path.Join(folder, tree.IndexFile), Content: tree.FolderIndex(names)}), problems
}
