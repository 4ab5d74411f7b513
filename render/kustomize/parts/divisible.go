package parts

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/utils"

	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/source"
	yamlnode "example.com/gatehouse/render/source/node"
)

// isDivisible reports whether all dependencies and names of objects during the build are known. An
// environment in the order of its build is not divisible, as parts lose that order.
func isDivisible(p *buildpath.Paths) bool {
	if options := p.Loaded[p.Folder].SortOptions; options != nil && options.Order == types.FIFOSortOrder {
		return false
	}
	isPruned := map[string]bool{} // files that are shorter in a part
	for _, m := range p.Sources.Manifests {
		isPruned[m.File] = true
		if slices.ContainsFunc(m.Texts, func(text *source.Text) bool {
			return slices.ContainsFunc(text.Objects, isUnclear)
		}) {
			return false
		}
	}
	for _, k := range p.Loaded {
		if isPruned[k.File] {
			return false
		}
		isPruned[k.File] = true
	}
	for _, k := range p.Loaded {
		if !isDivisibleKustomization(p, k) || slices.ContainsFunc(otherFiles(p, k), func(file string) bool {
			return file == "" || isPruned[file]
		}) {
			return false
		}
	}
	return true
}

// isDivisibleKustomization reports whether each field of a kustomization either changes every object by
// itself or selects its targets, and none renames objects in an unknown way.
func isDivisibleKustomization(p *buildpath.Paths, k *source.Kustomization) bool {
	return len(k.Vars)+len(k.Crds)+len(k.OpenAPI)+len(k.Generators)+len(k.Transformers)+len(k.Validators) == 0 &&
		!slices.Contains(k.BuildMetadata, types.TransformerAnnotations) &&
		!slices.ContainsFunc(p.AddedMetadata(k), mayRename) &&
		!slices.ContainsFunc(k.Replacements, replacesIdentity) &&
		len(p.Generators[k.Folder]) == len(k.ConfigMapGenerator)+len(k.SecretGenerator) &&
		!slices.ContainsFunc(p.Patches[k.Folder], func(patch buildpath.Patch) bool {
			return patch.Err != nil || len(patch.Documents) == 0 || patch.Renames()
		})
}

// replacesIdentity reports whether a replacement may change the ID of an object, or is malformed.
func replacesIdentity(r types.ReplacementField) bool {
	return r.Path != "" || slices.ContainsFunc(r.Targets, func(target *types.TargetSelector) bool {
		return target == nil || len(target.FieldPaths) == 0 ||
			slices.ContainsFunc(target.FieldPaths, func(path string) bool {
				keys := utils.SmarterPathSplitter(path, ".")
				return buildpath.MayRename(path) || buildpath.IsIdentity(keys) ||
					slices.Contains(keys[:min(len(keys), 2)], "*")
			}) || slices.ContainsFunc(slices.Concat(target.Reject, []*types.Selector{target.Select}),
			func(s *types.Selector) bool {
				if s == nil {
					return true
				}
				_, err := buildpath.NewSelector(s)
				return err != nil
			})
	})
}

// isUnclear reports whether a source object has no known name, as one with merge keys, or an annotation
// that may rename it.
func isUnclear(o source.Document) bool {
	isMerged := func(n *yaml.Node) bool { return yamlnode.Field(n, "<<") != nil }
	root := o.Node()
	return o.Name == "" || isMerged(root) || isMerged(yamlnode.Field(root, "metadata")) || mayRename(o.Annotations())
}

// mayRename reports whether one of the annotations may make kustomize rename an object.
func mayRename(annotations map[string]string) bool {
	for key := range annotations {
		if buildpath.MayRename(key) {
			return true
		}
	}
	return false
}

// otherFiles returns the files that a kustomization loads, other than its resources. The name of a
// missing file is empty, as in a misspelled field.
func otherFiles(p *buildpath.Paths, k *source.Kustomization) (files []string) {
	add := func(entries ...string) {
		for _, entry := range entries {
			if entry != "" && !strings.Contains(entry, "\n") {
				files = append(files, k.Paths[entry])
			}
		}
	}
	for _, g := range p.Generators[k.Folder] {
		add(g.Files()...)
	}
	for _, patch := range p.Patches[k.Folder] {
		add(patch.Path)
	}
	for _, r := range k.Replacements {
		add(r.Path)
	}
	add(k.Configurations...)
	return files
}

func ownConfigurations(k *source.Kustomization) []string {
	return filter(k.Configurations, func(entry string) bool { return entry != source.ConfigurationFile })
}

// readConfigurations returns the configurations of the repository that a build loads, and reports whether all can be
// read.
func readConfigurations(p *buildpath.Paths) (all []source.Configuration, areRead bool) {
	for _, k := range p.Loaded {
		for _, entry := range ownConfigurations(k) {
			c, err := p.Sources.ReadConfiguration(k.Paths[entry])
			if err != nil {
				return nil, false
			}
			all = append(all, c)
		}
	}
	return all, true
}

// mayIdentify reports whether a configuration may change the IDs of objects, or generated objects.
func mayIdentify(c source.Configuration) bool {
	fields := slices.Concat(c.Namespace, c.Labels, c.CommonLabels, c.TemplateLabels, c.CommonAnnotations,
		c.Images, c.Replicas)
	for _, reference := range c.NameReference {
		if slices.ContainsFunc(reference.FieldSpecs, func(referrer types.FieldSpec) bool {
			return referrer.Path == types.MetadataNamespacePath || buildpath.SelectsGenerated(referrer.Gvk)
		}) {
			return true
		}
		fields = append(fields, reference.FieldSpecs...)
	}
	return len(c.NamePrefix)+len(c.NameSuffix) > 0 || slices.ContainsFunc(fields, func(field types.FieldSpec) bool {
		return field.Path != types.MetadataNamespacePath && buildpath.IsIdentity(strings.Split(field.Path, "/"))
	})
}
