package setup

import (
	"cmp"
	"maps"
	"path"
	"path/filepath"
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
	k.Patches = append(k.Patches, d.Patches...)
	for _, component := range d.Components {
		if !d.IgnoreMissingComponents || files.Exists(path.Join(folder, component)) {
			k.Components = append(k.Components, component)
		}
	}
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
		k.Replicas = slices.DeleteFunc(k.Replicas, func(other types.Replica) bool { return other.Name == r.Name })
		k.Replicas = append(k.Replicas, types.Replica{Name: r.Name, Count: int64(r.Count.IntValue())})
	}
	if len(d.CommonMetadata.Labels) > 0 { // Flux sets it in built objects
		k.Labels = append(k.Labels, types.Label{Pairs: d.CommonMetadata.Labels})
	}
	if len(d.CommonMetadata.Annotations) > 0 {
		k.Transformers = append(k.Transformers,
			"apiVersion: builtin\nkind: AnnotationsTransformer\nmetadata: {name: common}\n"+
				"fieldSpecs: [{path: metadata/annotations, create: true}]\n"+
				string(asYAML(map[string]any{"annotations": d.CommonMetadata.Annotations})))
	}
	return k
}

// compose returns a kustomization of the environment. up is the path to the overlay.
func compose(header string, k types.Kustomization, up string) []byte {
	var content map[string]any
	_ = yaml.Unmarshal(asYAML(k), &content) // it is a mapping
	maps.DeleteFunc(content, func(name string, _ any) bool {
		return slices.Contains([]string{"apiVersion", "kind", "metadata"}, name)
	})
	return append([]byte(header), asYAML(relocate(content, kustomizationPaths, filepath.ToSlash(up)))...)
}

func asYAML(content any) []byte {
	encoded, err := yaml.Marshal(content)
	if err != nil {
		panic(err) // it is plain data
	}
	return encoded
}

// kustomizationPaths are the fields of a kustomization with paths, and entryPaths the fields of their entries.
var (
	kustomizationPaths = strings.Fields("bases components configMapGenerator configurations crds generators openapi " +
		"patches patchesJson6902 patchesStrategicMerge replacements resources secretGenerator transformers validators")
	entryPaths = strings.Fields("env envs files path")
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
