package setup

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/source"
)

// mergeInto adds the fields of a delivery object to a kustomization, as its tool does: Flux when it builds the
// overlay, and Argo CD by `kustomize edit`.
func (d *delivery) mergeInto(k types.Kustomization, files *source.FileSystem, folder string) types.Kustomization {
	k.Namespace = cmp.Or(d.TargetNamespace, d.Namespace, k.Namespace)
	k.NamePrefix, k.NameSuffix = cmp.Or(d.NamePrefix, k.NamePrefix), cmp.Or(d.NameSuffix, k.NameSuffix)
	k.Patches = slices.Concat(k.Patches, d.Patches)
	k.Components = slices.Clone(k.Components)
	for _, component := range d.Components {
		if !d.IgnoreMissingComponents || files.Exists(path.Join(folder, component)) {
			k.Components = append(k.Components, component)
		}
	}
	k.Images = slices.Clone(k.Images)
	for _, i := range d.Images {
		at := slices.IndexFunc(k.Images, func(other types.Image) bool { return other.Name == i.Name })
		switch {
		case at < 0:
			k.Images = append(k.Images, types.Image(i))
		case !d.isFlux:
			k.Images[at] = types.Image(i)
		default: // Flux changes the entry
			old := &k.Images[at]
			if old.NewName = cmp.Or(i.NewName, old.NewName); i.NewTag != "" || i.Digest != "" {
				old.NewTag, old.Digest = i.NewTag, i.Digest
			}
		}
	}
	for _, r := range d.Replicas {
		k.Replicas = slices.DeleteFunc(slices.Clone(k.Replicas), func(other types.Replica) bool { return other.Name == r.Name })
		k.Replicas = append(k.Replicas, types.Replica{Name: r.Name, Count: int64(r.Count.IntValue())})
	}
	if len(d.CommonLabels) > 0 {
		k.Labels = append(slices.Clone(k.Labels), types.Label{Pairs: d.CommonLabels, IncludeSelectors: !d.LabelWithoutSelector, IncludeTemplates: d.LabelWithoutSelector && d.LabelIncludeTemplates})
	}
	if len(d.CommonAnnotations) > 0 {
		k.CommonAnnotations = maps.Clone(k.CommonAnnotations)
		if k.CommonAnnotations == nil {
			k.CommonAnnotations = map[string]string{}
		}
		maps.Copy(k.CommonAnnotations, d.CommonAnnotations)
	}
	return k
}

// addMetadata adds the labels and annotations that Flux gives to built objects.
func (d *delivery) addMetadata(k *types.Kustomization) {
	if len(d.CommonMetadata.Labels) > 0 {
		k.Labels = append(slices.Clone(k.Labels), types.Label{Pairs: d.CommonMetadata.Labels})
	}
	if len(d.CommonMetadata.Annotations) > 0 {
		transformer, err := yaml.Marshal(map[string]any{
			"apiVersion": "builtin", "kind": "AnnotationsTransformer", "metadata": map[string]any{"name": "common"},
			"annotations": d.CommonMetadata.Annotations, "fieldSpecs": []any{map[string]any{"path": "metadata/annotations", "create": true}},
		})
		if err != nil {
			panic(err) // it is plain data
		}
		k.Transformers = append(slices.Clone(k.Transformers), string(transformer))
	}
}

// kustomizationPaths are the fields of a kustomization with paths, and entryPaths the fields of their entries.
var (
	kustomizationPaths = strings.Fields("bases components configMapGenerator configurations crds generators openapi patches patchesJson6902 patchesStrategicMerge replacements resources secretGenerator transformers validators")
	entryPaths         = strings.Fields("env envs files path")
)

// relocate puts up before the paths in these fields, which is the way from their new folder to the old one.
func relocate(content any, fields []string, up string) any {
	switch c := content.(type) {
	case string:
		key, name, isKeyed := strings.Cut(c, "=") // KEY=FILE
		if !isKeyed {
			key, name = "", c
		}
		if path.IsAbs(name) || strings.Contains(c, "\n") || strings.Contains(c, "://") {
			return c
		}
		return strings.TrimPrefix(key+"="+path.Join(up, name), "=")
	case []any:
		for i := range c {
			c[i] = relocate(c[i], fields, up)
		}
	case map[string]any:
		for name := range c {
			if slices.Contains(fields, name) {
				c[name] = relocate(c[name], entryPaths, up)
			}
		}
	}
	return content
}
