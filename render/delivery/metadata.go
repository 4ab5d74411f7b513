package delivery

import (
	"maps"
	"slices"

	"example.com/gatehouse/render/manifest"
)

// Metadata has the labels and annotations that a controller of Flux sets in each object that it applies.
type Metadata struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// SetIn sets the metadata of an object.
func (m Metadata) SetIn(o manifest.Object) {
	AddEntries(o.GetLabels, o.SetLabels, m.Labels)
	AddEntries(o.GetAnnotations, o.SetAnnotations, m.Annotations)
}

// Setter returns the path of the entry that causes a problem of an object; nil if none does.
func (m Metadata) Setter(p manifest.Problem) []string {
	wrong, isText := p.Value.Is.(string)
	fields := manifest.SplitField(p.Field)
	if !isText || len(fields) < 2 || fields[0] != "metadata" {
		return nil
	}
	entries := map[string]map[string]string{"labels": m.Labels, "annotations": m.Annotations}[fields[1]]
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if key == wrong || entries[key] == wrong {
			return []string{"spec", "commonMetadata", fields[1], key}
		}
	}
	return nil
}

// AddEntries adds entries to a map of metadata.
func AddEntries(get func() map[string]string, set func(map[string]string), added map[string]string) {
	if len(added) > 0 {
		set(merged(get(), added))
	}
}
