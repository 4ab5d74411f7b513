package render

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/fetched"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verdict"
)

// A cluster is rendered with all that its deliveries bring: each has a folder in the folder of the environment, and its
// object points to that folder, without the fields that the rendered objects show. The other fields stay, as does all
// that the tool knows its objects by. So the cluster moves in, or out, by the path of its own sync.

// setRendered sets the folder that a delivery is rendered to, within rendered/NAME of a cluster, or the reason to leave
// the delivery as it is in git. It is set for a parent first.
func (d *Delivery) setRendered(checker *verdict.Checker) {
	if !d.IsFolder() {
		return
	}
	o := checker.WithNamespace(d.InCluster, d.Parent.DefaultNamespace)
	switch {
	case d.Parent.isSet() && d.Parent.IsFlux:
		d.stays = "a ResourceSet makes it"
	case d.Parent.isSet():
		d.stays = "an ApplicationSet makes it"
	case d.Parent.stays != "":
		d.stays = "it is in the folder of " + d.Parent.Of.GetName()
	}
	d.stays = cmp.Or(d.stays, d.staysFor())
	if d.stays != "" || d.entry == "" {
		return
	}
	d.rendered = tree.DeliveryFolder(o, checker.IsNamespaced)
	if d.Nth >= 0 {
		d.rendered = path.Join(d.rendered, strconv.Itoa(d.Nth))
	}
}

// staysFor returns the reason of the delivery itself to stay as it is in git, or nothing.
func (d *Delivery) staysFor() string {
	generates := func(k *source.Kustomization) bool { return len(k.SecretGenerator) > 0 }
	isFetched := func(file string) bool { return strings.HasPrefix(file, fetched.Folder+"/") }
	switch {
	case d.Revision != "":
		return "its source is another revision"
	case slices.ContainsFunc(d.Looks.Consumed(), isFetched):
		return "it has files that were fetched"
	case d.IsPart:
		return "its source has a part of the repository"
	case d.IsOverridden:
		return "a file .argocd-source in its folder changes its source"
	case d.Application.IsHydrated():
		return "a hydrator writes its objects to a branch"
	case d.overlay.HasBuildMetadata():
		return "its objects have annotations of their build"
	case d.IsDecrypted && slices.ContainsFunc(slices.Collect(maps.Values(d.sources.Kustomizations)), generates):
		return "the hash in the name of a Secret is that of its decrypted files"
	}
	outer := d.outer()
	return d.Unsure(outer != nil && outer.Values == nil)
}

// asWritten returns an object as it is in rendered/: a delivery points to its folders there.
func (e *Environment) asWritten(o manifest.Object) manifest.Object {
	if e.entry == "" || !folder.Delivers(o) {
		return o
	}
	written := o.Copy()
	for _, f := range e.root.followed() {
		if f.rendered != "" && f.isOf(o) {
			f.PointTo(written, path.Join(tree.Folder, e.name, f.rendered))
		}
	}
	return written
}

// isOf reports whether an object is the delivery, with its variables or without, perhaps in a second folder.
func (d *Delivery) isOf(o manifest.Object) bool {
	is := d.Of.ID()
	of := o.Committed().ID()
	if is.Namespace == "" { // Argo CD applies it to a namespace
		of.Namespace = ""
	}
	return d.InCluster.IDInNamespace() == o.IDInNamespace() || is == of && d.Of.Delivery == o.Delivery
}

// Delivers reports whether objects in a folder deliver other folders of the repository.
func (r *Repository) Delivers(folder string) bool {
	root, problems := readEntry(r, folder, LoadOptions{})
	if manifest.HasErrors(problems) {
		return false
	}
	_, _ = root.buildAll(r) // rendering reports the problems
	return slices.ContainsFunc(root.followed(), func(f *Delivery) bool { return !f.isSet() && f.stays == "" })
}

// PlainCluster is PlainBuild for the entry of a cluster and its deliveries, which point to rendered/.
func (r *Repository) PlainCluster(environment string) (objects []manifest.Object, err error) {
	root, _ := readEntry(r, environment, LoadOptions{}) // rendering reports the problems
	b, _ := root.buildAll(r)
	e := &Environment{Name: environment, common: root.common, built: b}
	for _, d := range e.written() {
		all, err := plainObjects(d.sources, d.folder)
		switch {
		case err != nil && d.isEntry():
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("%s: %w", d.Of, err)
		}
		for _, o := range all {
			d.CommonMetadata.SetIn(o)
			if !d.isEntry() {
				o.Delivery = d
			}
			objects = append(objects, e.asWritten(e.checker.WithNamespace(o, d.DefaultNamespace)))
		}
	}
	return objects, nil
}

// staying warns of the deliveries of a cluster that stay out of rendered/.
func (e *Environment) staying() (warnings []manifest.Problem) {
	var stay []string
	for _, d := range e.root.followed() {
		if e.entry == "" || d.stays == "" {
			continue
		}
		stay = append(stay, fmt.Sprintf("%s (%s)", d.Of.GetName(), d.stays))
		if len(stay) == 1 {
			warnings = warning(d.Of, "")
		}
	}
	if len(stay) > 0 {
		warnings[0].Message = "stays out of rendered/, and syncs its folder as before: " + manifest.FirstOf(5, stay)
	}
	return warnings
}

// setWritten sets the objects that a tool applies as they are in rendered/, with the files of the objects laid out.
func (e *Environment) setWritten(d *Delivery, laidOut []manifest.Object) {
	files := map[manifest.ID]string{}
	for _, o := range laidOut {
		files[o.ID()] = o.File
	}
	for i, o := range d.objects {
		d.objects[i].applied = e.asWritten(o.applied)
		d.objects[i].applied.File = files[o.applied.Committed().ID()]
	}
}
