package source

import (
	"path"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"
)

// ConfigurationFile is the path, in the folder of a kustomization, of the configuration of the
// Kinds. It is never read from disk.
const ConfigurationFile = ".gatehouse-kustomizeconfig.yaml"

// Configuration is a file of `configurations:`, which tells kustomize about fields of kinds that it
// does not know: TransformerConfig of its api/internal/plugins/builtinconfig.
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

	// NameReference lists the fields that hold the name of an object of a kind.
	NameReference []struct {
		resid.Gvk  `json:",inline"`
		FieldSpecs types.FsSlice `json:"fieldSpecs"`
	} `json:"nameReference,omitempty"`
}

// ReadConfiguration reads a file of `configurations:`.
func (s *Sources) ReadConfiguration(file string) (c Configuration, err error) {
	content, err := s.FS.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(content, &c)
	}
	return c, err
}

// ImageFields returns the fields of the Kinds that `images:` of a kustomization changes.
func (s *Sources) ImageFields() types.FsSlice { return s.fields.Images }

// scaleFields returns the fields that `replicas:` of a kustomization may set, like spec.size.
func (c Configuration) scaleFields() []string {
	fields := make([]string, len(c.Replicas))
	for i, spec := range c.Replicas {
		fields[i] = strings.ReplaceAll(spec.Path, "/", ".")
	}
	return fields
}

// configure adds the configuration to a kustomization for which it matters: one with `images:`
// or `replicas:`, and the outermost one, which completes the names in references.
func (s *Sources) configure(k *Kustomization) {
	for _, entry := range k.Configurations {
		s.yieldTo(k.Paths[entry])
	}
	if k.IsEmpty() || k.Folder != s.root && len(k.Images)+len(k.ImageTags)+len(k.Replicas) == 0 {
		return
	}
	k.Configurations = append(k.Configurations, ConfigurationFile)
	k.Paths[ConfigurationFile] = path.Join(k.Folder, ConfigurationFile)
	s.standIns[k.File] = encode(k.Kustomization)
}

// yieldTo drops what a configuration of the repository says about the same fields.
func (s *Sources) yieldTo(file string) {
	theirs, err := s.ReadConfiguration(file)
	if err != nil {
		return // kustomize reports it
	}
	ours := &s.configuration
	ours.Images = yield(ours.Images, theirs.Images)
	ours.Replicas = yield(ours.Replicas, theirs.Replicas)
	for i, our := range ours.NameReference {
		for _, their := range theirs.NameReference {
			if our.Kind == their.Kind {
				ours.NameReference[i].FieldSpecs = yield(our.FieldSpecs, their.FieldSpecs)
			}
		}
	}
}

// yield returns our fields that theirs leave: kustomize refuses two answers to whether a field
// is created, and drops a field of more kinds beside one of a single kind.
func yield(ours, theirs types.FsSlice) (left types.FsSlice) {
	for _, our := range ours {
		covered := false
		for _, their := range theirs {
			switch {
			case our.Path != their.Path || !our.IsSelected(&their.Gvk):
			case our.Gvk == their.Gvk:
				our.CreateIfNotPresent = their.CreateIfNotPresent
			default:
				covered = true
			}
		}
		if !covered {
			left = append(left, our)
		}
	}
	return left
}

// writeConfiguration gives the configuration to the kustomizations that were configured.
func (s *Sources) writeConfiguration() {
	content := encode(s.configuration)
	for _, k := range s.Kustomizations {
		if file := k.Paths[ConfigurationFile]; file != "" {
			s.standIns[file] = content
		}
	}
}

// encode returns the YAML of a value that was read from YAML.
func encode(value any) []byte {
	content, err := yaml.Marshal(value)
	if err != nil {
		panic(err)
	}
	return content
}
