package compare

import (
	"slices"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/manifest"
)

// installed returns the objects that controllers installed by the previous objects, as they were applied. A
// problem is a warning: these objects are not compared.
func (b *previousRendering) installed(examined *render.Examination,
	before []manifest.Object) ([]*release.Installed, []manifest.Problem) {
	if examined == nil || !slices.ContainsFunc(before, render.Delivers) {
		return nil, nil
	}
	installed, problems := examined.Install(before, b.base)
	var warnings []manifest.Problem
	for _, p := range problems {
		if p.IsError() {
			p.Warning, p.Message = true, "the previous objects of a delivery are not compared: "+p.Message
			p.File, p.Line = p.Subject.File, 0
			warnings = append(warnings, p)
		}
	}
	return installed, warnings
}

// withInstalled is Objects with the objects that controllers install. A release that is there before and after
// is compared if both of its charts are.
func withInstalled(kinds *registry.Kinds, name string, before, after []manifest.Object,
	wasInstalled, isInstalled []*release.Installed) EnvironmentDiff {
	type key struct {
		manifest.ID
		nth int // of the Application
	}
	keys := func(all []*release.Installed) []key {
		count, keys := map[manifest.ID]int{}, make([]key, len(all))
		for i, r := range all {
			id := r.Source.IDInNamespace()
			keys[i] = key{id, count[id]}
			count[id]++
		}
		return keys
	}
	old := map[key]*release.Installed{}
	for i, k := range keys(wasInstalled) {
		old[k] = wasInstalled[i]
	}
	by := map[manifest.ID]manifest.ID{}
	var unread []Unread
	add := func(to *[]manifest.Object, r *release.Installed, objects []manifest.Object) {
		for _, o := range objects {
			by[o.IDInNamespace()] = r.Source.ID()
			*to = append(*to, o)
		}
	}
	for i, k := range keys(isInstalled) {
		is := isInstalled[i]
		was, isOld := old[k]
		delete(old, k)
		switch {
		case is.Objects == nil:
		case !isOld:
			add(&after, is, is.Objects)
			unread = append(unread, unreadOf(is.Source.ID(), is.String(), is.Settings)...)
		case was.Objects == nil:
			add(&before, is, is.Objects) // unchanged, as far as anybody knows
			add(&after, is, is.Objects)
		default:
			add(&before, was, was.Objects)
			add(&after, is, upgraded(was, is))
			unread = append(unread, unreadOfRelease(was, is)...)
		}
	}
	for _, was := range old {
		add(&before, was, was.Objects)
		gone := *was
		gone.Objects = nil
		add(&after, was, upgraded(was, &gone))
	}
	e := Objects(kinds, name, before, after)
	e.Unread = unread
	for i, c := range e.Changes {
		e.Changes[i].InstalledBy = by[c.Object().IDInNamespace()]
	}
	return e
}

// upgraded returns the objects of a release after an upgrade. Flux treats files of CustomResourceDefinitions by
// a policy, and deletes none of these objects.
func upgraded(was, is *release.Installed) []manifest.Object {
	if is.UpgradeCRDs == "" {
		return is.Objects
	}
	kept := slices.DeleteFunc(slices.Clone(was.Objects), func(o manifest.Object) bool {
		return !release.IsCRDFile(o) || is.UpgradeCRDs == "CreateReplace" && hasObject(is.Objects, o.ID())
	})
	return append(kept, slices.DeleteFunc(slices.Clone(is.Objects), func(o manifest.Object) bool {
		return release.IsCRDFile(o) && (is.UpgradeCRDs == "Skip" || hasObject(kept, o.ID()))
	})...)
}

func hasObject(objects []manifest.Object, id manifest.ID) bool {
	return slices.ContainsFunc(objects, func(o manifest.Object) bool { return o.ID() == id })
}
