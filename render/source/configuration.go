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

// configuration tells kustomize about fields of kinds that it does not know.
type configuration struct {
	Images        []types.FieldSpec `json:"images"`
	Replicas      []types.FieldSpec `json:"replicas"`
	NameReference []nameReference   `json:"nameReference"`
}

// anyConfiguration is a file of `configurations:`, with all that kustomize reads in one.
type anyConfiguration struct {
	configuration `json:",inline"`

	NamePrefix                []types.FieldSpec `json:"namePrefix"`
	NameSuffix                []types.FieldSpec `json:"nameSuffix"`
	Namespace                 []types.FieldSpec `json:"namespace"`
	CommonLabels              []types.FieldSpec `json:"commonLabels"`
	Labels                    []types.FieldSpec `json:"labels"`
	TemplateLabels            []types.FieldSpec `json:"templateLabels"`
	VolumeClaimTemplateLabels []types.FieldSpec `json:"volumeClaimTemplateLabels"`
	CommonAnnotations         []types.FieldSpec `json:"commonAnnotations"`
	VarReference              []types.FieldSpec `json:"varReference"`
}

// nameReference lists the fields that hold the name of an object of a kind.
type nameReference struct {
	resid.Gvk  `json:",inline"`
	FieldSpecs []types.FieldSpec `json:"fieldSpecs"`
}

// ImageFields returns the fields of the Kinds that `images:` of a kustomization changes.
func (s *Sources) ImageFields() []types.FieldSpec { return s.fields.Images }

// scaleFields returns the fields that `replicas:` of a kustomization may set, like spec.size.
func (c configuration) scaleFields() []string {
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
	var theirs configuration
	if content, err := s.FS.ReadFile(file); err != nil || yaml.Unmarshal(content, &theirs) != nil {
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
func yield(ours, theirs []types.FieldSpec) (left []types.FieldSpec) {
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
