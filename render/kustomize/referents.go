package kustomize

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/source"
)

// referents has the objects that specs may refer to by name: ConfigMaps, Secrets and others that
// the configurations of kustomize list. kustomize updates the references when it changes the
// names.
type referents struct {
	kinds  []string
	byName map[inNamespace][]*referent
	// referrers select the objects that may refer to specs.
	referrers types.FsSlice
	// given has the values that kustomizations give specs.
	given []string
}

// referent is an object that specs may refer to.
type referent struct {
	names      []string // that it has while it is built
	namespaces []string // that it may end in
	passed     []string // namespaces that it may be in before
	isClosed   bool     // see division.isClosed

	// It is written in a text of a file, or generated in a folder.
	file   string
	text   *source.Text
	folder string
}

// inNamespace is a name in a namespace, in anyNamespace for that in all of them.
type inNamespace struct{ namespace, name string }

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

// findReferents finds what specs may refer to, and reports whether that can be told.
func (d *division) findReferents() bool {
	if len(d.referents.kinds) == 0 {
		return true
	}
	if !d.findGenerated() || !d.findWritten() {
		return false
	}
	d.findGiven()
	return true
}

// readConfigurations reads what kinds specs refer to, and reports whether kustomize is
// told nothing else of the names of specs.
func (d *division) readConfigurations() bool {
	d.referents = &referents{byName: map[inNamespace][]*referent{}}
	files := []string{d.reached[d.folder].Paths[source.ConfigurationFile]}
	for folder, k := range d.reached {
		entries := filter(k.Configurations, func(entry string) bool { return entry != source.ConfigurationFile })
		if len(entries) > 0 {
			d.configured = append(d.configured, folder)
		}
		for _, entry := range entries {
			files = append(files, k.Paths[entry])
		}
	}
	return !slices.ContainsFunc(files, func(file string) bool {
		content, err := d.sources.FS.ReadFile(file)
		var specs fieldSpecs
		return err != nil || yaml.Unmarshal(content, &specs) != nil || !d.referents.addKinds(d.sources.Kinds, specs)
	})
}

// findGenerated finds the referents that kustomizations generate.
func (d *division) findGenerated() bool {
	for folder, k := range d.reached {
		if len(k.Transformers)+len(k.Generators)+len(k.Validators) > 0 || slices.ContainsFunc(k.Replacements, mayRename) {
			return false // they may make referents, or rename them
		}
		for _, g := range generators(k) {
			r := &referent{names: d.namesIn(folder, g.Name), isClosed: d.isClosed(folder), folder: folder}
			d.setNamespacesOf(r, []string{folder}, g.Namespace)
			if g.Behavior != "" && g.Behavior != types.BehaviorCreate.String() {
				r.namespaces = []string{anyNamespace} // it stays in that of what it changes
			}
			d.referents.add(r)
		}
	}
	return true
}

// mayRename reports whether a replacement may change the name of an object.
func mayRename(r types.ReplacementField) bool {
	return r.Path != "" || slices.ContainsFunc(r.Targets, func(target *types.TargetSelector) bool {
		return target == nil || len(target.FieldPaths) == 0 || slices.ContainsFunc(target.FieldPaths, func(path string) bool {
			return isForKustomize(path) || isOfIdentity(strings.Split(path, "."))
		})
	})
}

func generators(k *source.Kustomization) (all []types.GeneratorArgs) {
	for _, g := range k.ConfigMapGenerator {
		all = append(all, g.GeneratorArgs)
	}
	for _, g := range k.SecretGenerator {
		all = append(all, g.GeneratorArgs)
	}
	return all
}

// findWritten finds the referents among the documents, and reports whether kustomize is
// told nothing else of their names.
func (d *division) findWritten() bool {
	for _, m := range d.manifests {
		isClosed := slices.ContainsFunc(d.loaders[m.File], d.isClosed)
		for _, text := range m.Texts {
			for _, o := range text.Objects {
				if !slices.Contains(d.referents.kinds, o.Kind) {
					continue
				}
				for key := range o.Annotations() {
					if strings.HasPrefix(key, "internal.config.kubernetes.io/") {
						return false
					}
				}
				// What is in one text with a spec cannot be built without it.
				withSpec := slices.ContainsFunc(text.Objects, func(o source.Document) bool { return slices.Contains(d.specKinds, o.Kind) })
				r := &referent{names: d.namesOf(m.File, o.Name), isClosed: isClosed || withSpec, file: m.File, text: text}
				d.setNamespacesOf(r, d.loaders[m.File], o.Namespace)
				if resid.NewGvk(o.Group, path.Base(o.APIVersion), o.Kind).IsClusterScoped() {
					r.namespaces, r.passed = []string{anyNamespace}, nil
				}
				d.referents.add(r)
			}
		}
	}
	return true
}

// setNamespacesOf sets the namespaces of a referent that folders load.
func (d *division) setNamespacesOf(r *referent, folders []string, own string) {
	for _, folder := range folders {
		r.namespaces = append(r.namespaces, d.namespacesIn(folder, own)...)
		r.passed = append(r.passed, d.namespacesPassed(folder)...)
	}
	r.namespaces, r.passed = unique(r.namespaces), unique(append(r.passed, cmp.Or(own, defaultNamespace)))
}

// addKinds adds the kinds whose names a configuration says specs hold, and what it says
// holds the names of specs. It reports whether it leaves the names of specs alone.
func (r *referents) addKinds(written source.Kinds, specs fieldSpecs) bool {
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
func selectsBuiltApart(written source.Kinds, referrer types.FieldSpec) bool {
	return selectsSpecs(written, referrer.Gvk) || slices.ContainsFunc([]string{"ConfigMap", "Secret"}, func(kind string) bool {
		return resid.NewGvk("", "v1", kind).IsSelected(&referrer.Gvk)
	})
}

// selectsSpecs reports whether kustomize takes a kind that users write for one of a
// configuration.
func selectsSpecs(written source.Kinds, selector resid.Gvk) bool {
	return slices.ContainsFunc(written.GVKs, func(gvk schema.GroupVersionKind) bool { return gvkOf(gvk).IsSelected(&selector) })
}

func gvkOf(gvk schema.GroupVersionKind) resid.Gvk {
	return resid.Gvk{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind}
}

func (r *referents) add(one *referent) {
	for _, name := range one.names {
		for _, namespace := range one.namespaces {
			key := inNamespace{namespace, name}
			r.byName[key] = append(r.byName[key], one)
		}
		all := inNamespace{everyNamespace, name}
		r.byName[all] = append(r.byName[all], one)
	}
}

// named returns the referents that may have a name in one of some namespaces.
func (r *referents) named(name string, namespaces []string) (found []*referent) {
	for _, namespace := range namespaces {
		if namespace == anyNamespace {
			return r.byName[inNamespace{everyNamespace, name}]
		}
		found = append(found, r.byName[inNamespace{namespace, name}]...)
	}
	return append(found, r.byName[inNamespace{anyNamespace, name}]...)
}

// findGiven finds the values that kustomizations give specs, by patches or otherwise.
func (d *division) findGiven() {
	give := func(value string) {
		if len(d.referents.byName[inNamespace{everyNamespace, value}]) > 0 {
			d.referents.given = append(d.referents.given, value)
		}
	}
	for folder, k := range d.reached {
		give(k.Namespace)
		for _, image := range k.Images {
			give(image.NewName)
		}
		d.addedValues(folder, d.specKinds, give)
	}
	slices.Sort(d.referents.given)
	d.referents.given = slices.Compact(d.referents.given)
}

// addedValues calls use with the values that the metadata and the patches of a
// kustomization may give objects of some kinds.
func (d *division) addedValues(folder string, kinds []string, use func(value string)) {
	for _, values := range addedMetadata(d.reached[folder]) {
		for _, value := range values {
			use(value)
		}
	}
	for _, p := range d.patches[folder].all() {
		if !p.maySelect(kinds) {
			continue
		}
		for _, document := range p.documents {
			document.Values(use)
		}
	}
}

// referentsOf returns what a spec of a file may refer to, and all that may have a name in
// common with that while it is built.
func (d *division) referentsOf(file string, spec source.Document) map[*referent]bool {
	found := map[*referent]bool{}
	if len(d.referents.byName) == 0 {
		return found
	}
	var add func(name string, namespaces []string)
	add = func(name string, namespaces []string) {
		for _, one := range d.referents.named(name, namespaces) {
			if found[one] {
				continue
			}
			found[one] = true
			for _, other := range one.names {
				add(other, one.namespaces)
			}
		}
	}
	namespaces := d.namespacesOf(file, spec)
	for _, value := range d.referents.given {
		add(value, namespaces)
	}
	spec.Values(func(value string) { add(value, namespaces) })
	return found
}
