package kustomize

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/utils"

	"example.com/gatehouse/render/source"
)

// isDivisible reports whether each kustomization changes each object by itself, apart from what its
// entries say of others, and whether it is known which objects have which names while they are
// built. The order in which all are built is known only where they are built together.
func (w *Ways) isDivisible() bool {
	if isFIFO(w.loaded[w.folder]) || !w.areConfigurationsPlain() {
		return false
	}
	isShared := map[string]bool{} // a part has less of these files
	for _, m := range w.sources.Manifests {
		isShared[m.File] = true
		if slices.ContainsFunc(m.Texts, func(text *source.Text) bool { return slices.ContainsFunc(text.Objects, isUnclear) }) {
			return false
		}
	}
	for _, k := range w.loaded {
		if isShared[k.File] {
			return false
		}
		isShared[k.File] = true
	}
	for _, k := range w.loaded {
		if !w.isDivisibleKustomization(k) || slices.ContainsFunc(w.otherFiles(k), func(file string) bool { return file == "" || isShared[file] }) {
			return false
		}
	}
	return true
}

// isDivisibleKustomization reports whether a kustomization has only fields that change each object by
// itself, or that tell which objects they are about, and leaves alone what tells one from others.
func (w *Ways) isDivisibleKustomization(k *source.Kustomization) bool {
	return len(k.Vars)+len(k.Crds)+len(k.OpenAPI)+len(k.Generators)+len(k.Transformers)+len(k.Validators) == 0 &&
		!slices.Contains(k.BuildMetadata, types.TransformerAnnotations) &&
		!slices.ContainsFunc(w.addedMetadata(k), mentionsKustomize) &&
		!slices.ContainsFunc(k.Replacements, mayRename) &&
		len(w.generators[k.Folder]) == len(k.ConfigMapGenerator)+len(k.SecretGenerator) &&
		!slices.ContainsFunc(w.patches[k.Folder], func(p patch) bool { return p.err != nil || len(p.documents) == 0 || p.renames() })
}

// mayRename reports whether a replacement may change the name of an object, or be malformed.
func mayRename(r types.ReplacementField) bool {
	return r.Path != "" || slices.ContainsFunc(r.Targets, func(target *types.TargetSelector) bool {
		return target == nil || len(target.FieldPaths) == 0 || slices.ContainsFunc(target.FieldPaths, func(path string) bool {
			keys := utils.SmarterPathSplitter(path, ".")
			return isForKustomize(path) || isOfIdentity(keys) || slices.Contains(keys[:min(len(keys), 2)], "*")
		}) || slices.ContainsFunc(slices.Concat(target.Reject, []*types.Selector{target.Select}), func(s *types.Selector) bool {
			if s == nil {
				return true
			}
			_, err := newSelector(s)
			return err != nil
		})
	})
}

// isUnclear reports whether an object asks something of kustomize, or has a name that is not known:
// a merge key may hold it.
func isUnclear(o source.Document) bool {
	isMerged := func(node *yaml.Node) bool { return source.Field(node, "<<") != nil }
	return o.Name == "" || isMerged(o.Node) || isMerged(source.Field(o.Node, "metadata")) || mentionsKustomize(o.Annotations())
}

// mentionsKustomize reports whether an annotation is one that kustomize acts on.
func mentionsKustomize(annotations map[string]string) bool {
	for key := range annotations {
		if isForKustomize(key) {
			return true
		}
	}
	return false
}

// isForKustomize reports whether an annotation with a key may have kustomize change a name. It only
// leaves out local configuration, in the end.
func isForKustomize(key string) bool {
	return key != source.LocalConfig && (strings.Contains(key, "config.kubernetes.io/") || strings.Contains(key, "kustomize.config.k8s.io/"))
}

// addedMetadata returns the labels and annotations that a kustomization gives objects. Its
// configurations may turn one into the other.
func (w *Ways) addedMetadata(k *source.Kustomization) []map[string]string {
	added := []map[string]string{k.CommonLabels, k.CommonAnnotations}
	for _, label := range k.Labels {
		added = append(added, label.Pairs)
	}
	add := func(options *types.GeneratorOptions) {
		if options != nil {
			added = append(added, options.Labels, options.Annotations)
		}
	}
	add(k.GeneratorOptions)
	for _, g := range w.generators[k.Folder] {
		add(g.Options)
	}
	return added
}

// otherFiles returns the files that a kustomization loads, but not as resources. It has an empty
// name for a file that was not found, as where its field is not spelled as it should be.
func (w *Ways) otherFiles(k *source.Kustomization) (files []string) {
	add := func(entries ...string) {
		for _, entry := range entries {
			if entry != "" && !strings.Contains(entry, "\n") {
				files = append(files, k.Paths[entry])
			}
		}
	}
	for _, g := range w.generators[k.Folder] {
		add(g.files()...)
	}
	for _, p := range w.patches[k.Folder] {
		add(p.Path)
	}
	for _, r := range k.Replacements {
		add(r.Path)
	}
	add(k.Configurations...)
	return files
}

// ownConfigurations returns the configurations that people wrote.
func ownConfigurations(k *source.Kustomization) []string {
	return filter(k.Configurations, func(entry string) bool { return entry != source.ConfigurationFile })
}

// areConfigurationsPlain reports whether the configurations of a build can be read and are plain.
func (w *Ways) areConfigurationsPlain() bool {
	for _, k := range w.loaded {
		for _, entry := range ownConfigurations(k) {
			if c, err := w.sources.ReadConfiguration(k.Paths[entry]); err != nil || !isPlainConfiguration(c) {
				return false
			}
		}
	}
	return true
}

// isPlainConfiguration reports whether a configuration leaves alone what tells an object from others,
// and what is generated.
func isPlainConfiguration(c source.Configuration) bool {
	fields := slices.Concat(c.Namespace, c.Labels, c.CommonLabels, c.TemplateLabels, c.CommonAnnotations, c.Images, c.Replicas)
	for _, reference := range c.NameReference {
		if slices.ContainsFunc(reference.FieldSpecs, func(referrer types.FieldSpec) bool {
			return referrer.Path == types.MetadataNamespacePath || selectsData(referrer.Gvk)
		}) {
			return false
		}
		fields = append(fields, reference.FieldSpecs...)
	}
	return len(c.NamePrefix)+len(c.NameSuffix) == 0 && !slices.ContainsFunc(fields, func(field types.FieldSpec) bool {
		return field.Path != types.MetadataNamespacePath && isOfIdentity(strings.Split(field.Path, "/"))
	})
}

// selectsData reports whether a selector selects ConfigMaps or Secrets.
func selectsData(selector resid.Gvk) bool {
	return slices.ContainsFunc([]string{"ConfigMap", "Secret"}, func(kind string) bool { return resid.NewGvk("", "v1", kind).IsSelected(&selector) })
}
