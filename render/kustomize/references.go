package kustomize

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/source"
)

// fieldSpecs is what a configuration of kustomize says of fields.
type fieldSpecs struct {
	NamePrefix    types.FsSlice `json:"namePrefix"`
	NameSuffix    types.FsSlice `json:"nameSuffix"`
	NameReference []struct {
		resid.Gvk `json:",inline"`
		Referrers types.FsSlice `json:"fieldSpecs"`
	} `json:"nameReference"`

	Namespace         types.FsSlice `json:"namespace"`
	Labels            types.FsSlice `json:"labels"`
	CommonLabels      types.FsSlice `json:"commonLabels"`
	TemplateLabels    types.FsSlice `json:"templateLabels"`
	CommonAnnotations types.FsSlice `json:"commonAnnotations"`
	Images            types.FsSlice `json:"images"`
	Replicas          types.FsSlice `json:"replicas"`
}

// references is what the configurations of a build say of names that objects hold.
type references struct {
	// kinds are those of the objects that specs may refer to.
	kinds []string
	// referrers select the objects that may refer to specs.
	referrers types.FsSlice
}

// ownConfigurations returns the configurations that people wrote.
func ownConfigurations(k *source.Kustomization) []string {
	return filter(k.Configurations, func(entry string) bool { return entry != source.ConfigurationFile })
}

// readConfigurations reads what refers to what, and reports whether kustomize is told nothing
// else of the names of specs.
func (w *Ways) readConfigurations() (found references, ok bool) {
	files := []string{w.loaded[w.folder].Paths[source.ConfigurationFile]}
	for _, k := range w.loaded {
		for _, entry := range ownConfigurations(k) {
			files = append(files, k.Paths[entry])
		}
	}
	for _, file := range files {
		content, err := w.sources.FS.ReadFile(file)
		var specs fieldSpecs
		if err != nil || yaml.Unmarshal(content, &specs) != nil || !found.add(w.kinds, specs) {
			return found, false
		}
	}
	return found, true
}

// add adds what a configuration says. It reports whether that leaves the names of specs alone.
func (r *references) add(written *registry.Kinds, specs fieldSpecs) bool {
	if len(specs.NamePrefix)+len(specs.NameSuffix) > 0 || specs.mayRename() {
		return false
	}
	for _, reference := range specs.NameReference {
		if selectsSpecs(written, reference.Gvk) {
			if reference.Kind == "" || slices.ContainsFunc(reference.Referrers, func(f types.FieldSpec) bool { return selectsBuiltApart(written, f) }) {
				return false
			}
			r.referrers = append(r.referrers, reference.Referrers...)
			continue
		}
		if slices.ContainsFunc(reference.Referrers, func(f types.FieldSpec) bool { return selectsSpecs(written, f.Gvk) }) {
			if reference.Kind == "" || reference.Kind == "Namespace" { // whose name is what is set as namespace
				return false
			}
			r.kinds = append(r.kinds, reference.Kind)
		}
	}
	return true
}

// mayRename reports whether a field may hold what tells an object from others, or, where
// a number of replicas is set in it, the data that the name of a ConfigMap is of.
func (f fieldSpecs) mayRename() bool {
	fields := slices.Concat(f.Namespace, f.Labels, f.CommonLabels, f.TemplateLabels, f.CommonAnnotations, f.Images)
	for _, reference := range f.NameReference {
		fields = append(fields, reference.Referrers...)
	}
	return slices.ContainsFunc(fields, func(field types.FieldSpec) bool {
		return field.Path != types.MetadataNamespacePath && isOfIdentity(strings.Split(field.Path, "/"))
	}) || slices.ContainsFunc(f.Replicas, func(field types.FieldSpec) bool { return !strings.HasPrefix(field.Path, "spec/") })
}

// selectsBuiltApart reports whether a referrer may be an object that is built apart, or
// generated.
func selectsBuiltApart(written *registry.Kinds, referrer types.FieldSpec) bool {
	return selectsSpecs(written, referrer.Gvk) || slices.ContainsFunc([]string{"ConfigMap", "Secret"}, func(kind string) bool {
		return resid.NewGvk("", "v1", kind).IsSelected(&referrer.Gvk)
	})
}

// selectsSpecs reports whether kustomize takes a kind that users write for one of a
// configuration.
func selectsSpecs(written *registry.Kinds, selector resid.Gvk) bool {
	return slices.ContainsFunc(written.GVKs(), func(gvk schema.GroupVersionKind) bool { return gvkOf(gvk).IsSelected(&selector) })
}
