package source

import (
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"
)

// ConfigurationFile is the path of the configuration of the kinds, in the folder of a kustomization.
// It is never on disk.
const ConfigurationFile = ".gatehouse-kustomizeconfig.yaml"

// Configuration is a file of `configurations:`, about fields of kinds that kustomize does not know:
// TransformerConfig of its api/internal/plugins/builtinconfig.
type Configuration struct {
	NamePrefix                types.FsSlice `json:"namePrefix,omitempty"`
	NameSuffix                types.FsSlice `json:"nameSuffix,omitempty"`
	Namespace                 types.FsSlice `json:"namespace,omitempty"`
	CommonLabels              types.FsSlice `json:"commonLabels,omitempty"`
	Labels                    types.FsSlice `json:"labels,omitempty"`
	TemplateLabels            types.FsSlice `json:"templateLabels,omitempty"`
	VolumeClaimTemplateLabels types.FsSlice `json:"volumeClaimTemplateLabels,omitempty"`
	CommonAnnotations         types.FsSlice `json:"commonAnnotations,omitempty"`
	VarReference              types.FsSlice `json:"varReference,omitempty"`
	Images                    types.FsSlice `json:"images,omitempty"`
	Replicas                  types.FsSlice `json:"replicas,omitempty"`

	// NameReference lists the fields with the name of an object of a kind.
	NameReference []struct {
		resid.Gvk  `json:",inline"`
		FieldSpecs types.FsSlice `json:"fieldSpecs"`
	} `json:"nameReference,omitempty"`
}

// ReadConfiguration reads a file of `configurations:`.
func (s *Sources) ReadConfiguration(file string) (c Configuration, err error) {
	return readConfiguration(s.FS, file)
}

func readConfiguration(files *FileSystem, file string) (c Configuration, err error) {
	content, err := files.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(content, &c)
	}
	return c, err
}

// ImageFields returns the fields of the kinds that `images:` of a kustomization changes.
func (s *Sources) ImageFields() types.FsSlice { return s.kindFields.Images }

// scaleFields returns the fields that `replicas:` of a kustomization sets, like spec.size.
func (c Configuration) scaleFields() []string {
	fields := make([]string, len(c.Replicas))
	for i, spec := range c.Replicas {
		fields[i] = strings.ReplaceAll(spec.Path, "/", ".")
	}
	return fields
}

// configure adds the configuration of the kinds to a kustomization that needs it: with `images:` or
// `replicas:`, or to the kustomization of the environment, which completes the names in references.
func (k *Kustomization) configure(isRoot bool) {
	if k.IsEmpty() || !isRoot && len(k.Images)+len(k.ImageTags)+len(k.Replicas) == 0 {
		return
	}
	k.Configurations = append(k.Configurations, ConfigurationFile)
	k.Paths[ConfigurationFile] = path.Join(k.Folder, ConfigurationFile)
	k.standIn = encode(k.Kustomization)
}

// configurationFiles returns the configuration of the kinds and the kustomizations that load it, by
// path. The configurations of the repository come before the configuration of the kinds.
func configurationFiles(disk *FileSystem, kustomizations []*Kustomization, kindFields Configuration) map[string][]byte {
	for _, k := range kustomizations {
		for _, entry := range k.Configurations {
			if own, err := readConfiguration(disk, k.Paths[entry]); err == nil && entry != ConfigurationFile {
				// kustomize reports the error
				kindFields = kindFields.without(own)
			}
		}
	}
	content := encode(kindFields)
	files := map[string][]byte{}
	for _, k := range kustomizations {
		if k.standIn != nil {
			files[k.File] = k.standIn
			if file := k.Paths[ConfigurationFile]; file != "" {
				files[file] = content
			}
		}
	}
	return files
}

func (c Configuration) without(other Configuration) Configuration {
	c.Images = remaining(c.Images, other.Images)
	c.Replicas = remaining(c.Replicas, other.Replicas)
	c.NameReference = slices.Clone(c.NameReference)
	for i := range c.NameReference {
		for _, reference := range other.NameReference {
			if reference.Kind == c.NameReference[i].Kind {
				c.NameReference[i].FieldSpecs = remaining(c.NameReference[i].FieldSpecs, reference.FieldSpecs)
			}
		}
	}
	return c
}

// remaining returns the fields that others do not cover. kustomize refuses contradictions about
// whether to create a field, and drops a field of several kinds beside one of a single kind.
func remaining(fields, others types.FsSlice) (left types.FsSlice) {
	for _, field := range fields {
		covered := false
		for _, other := range others {
			switch {
			case field.Path != other.Path || !field.IsSelected(&other.Gvk):
			case field.Gvk == other.Gvk:
				field.CreateIfNotPresent = other.CreateIfNotPresent
			default:
				covered = true
			}
		}
		if !covered {
			left = append(left, field)
		}
	}
	return left
}

// encode returns the YAML of a value that was read from YAML.
func encode(value any) []byte {
	content, err := yaml.Marshal(value)
	if err != nil {
		panic(err)
	}
	return content
}
