package kustomize

import (
	"path"
	"slices"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/source"
)

// findReferrers finds the names of specs that other objects may hold, as an Ingress
// holds that of the Service of a Memcached, and reports whether that can be told.
func (d *division) findReferrers() bool {
	d.referred = map[string]bool{}
	var kinds []string
	refer := func(value string) { d.referred[value] = true }
	for _, m := range d.manifests {
		for _, text := range m.Texts {
			for _, o := range text.Objects {
				if d.referents.isReferrer(o) {
					kinds = append(kinds, o.Kind)
					o.Values(refer)
				}
			}
		}
	}
	if len(kinds) == 0 {
		return true
	}
	kinds = unique(kinds)
	for folder, k := range d.reached {
		if len(k.Replacements) > 0 {
			return false // which may put any text into them
		}
		d.addedValues(folder, kinds, refer)
	}
	return true
}

// isReferrer reports whether a document is of an object that may refer to specs.
func (r *referents) isReferrer(o source.Document) bool {
	gvk := resid.NewGvk(o.Group, path.Base(o.APIVersion), o.Kind)
	return slices.ContainsFunc(r.referrers, func(referrer types.FieldSpec) bool { return gvk.IsSelected(&referrer.Gvk) })
}
